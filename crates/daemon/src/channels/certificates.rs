//! Errors of rustls about certificates and encryption, in words.

use super::error::DeliveryError;
use rustls::{CertificateError, Error};
use std::error::Error as StdError;
use std::io;

/// Finds the error of rustls inside another one.
pub(crate) fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        // The source of an io::Error is that of the error it carries, not that error itself.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

/// The error in words. `issuer_advice`: advice for a certificate that is not trusted. `plain_advice`: advice if the
/// other side does not speak TLS.
pub(crate) fn explain(
    peer: &str,
    error: &Error,
    issuer_advice: &'static str,
    plain_advice: &'static str,
) -> DeliveryError {
    let untrusted = |why: String, advice| DeliveryError::Untrusted { peer: peer.to_owned(), why, advice };
    match error {
        Error::InvalidCertificate(fault) => match fault {
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::ApplicationVerificationFailure => {
                untrusted("the certificate is not one that this system trusts".to_owned(), issuer_advice)
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                untrusted("the certificate is for another name".to_owned(), "name the server as its certificate does")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                untrusted("the certificate has expired".to_owned(), "have it renewed; look at this machine's clock")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                untrusted("the certificate is not valid yet".to_owned(), "look at this machine's clock")
            }
            CertificateError::Revoked => untrusted("the certificate is revoked".to_owned(), "have it renewed"),
            other => untrusted(format!("the certificate is not accepted ({other:?})"), issuer_advice),
        },
        Error::InvalidMessage(_) => DeliveryError::Unencrypted {
            peer: peer.to_owned(),
            why: "does not speak TLS".to_owned(),
            advice: plain_advice,
        },
        other => DeliveryError::Unencrypted {
            peer: peer.to_owned(),
            why: format!("there is no encryption with it ({other})"),
            advice: "look whether it offers TLS 1.2 or later",
        },
    }
}
