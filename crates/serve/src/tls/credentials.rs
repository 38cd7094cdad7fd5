//! The TLS credentials: the server's certificate and key, and the authorities of its clients, from PEM files.

use crate::nbd::TlsMode;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{Error, RootCertStore, ServerConfig};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file, in bytes: a certificate takes some 2 KiB, all the authorities that a browser knows some 300 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Whether clients may or must use TLS, and its configuration. By default they cannot.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    mode: TlsMode,
    config: Option<Arc<ServerConfig>>,
}

/// The files, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, followed by those that lead to an authority which clients know.
    pub certificate: PathBuf,
    /// The private key of the server's certificate, not encrypted.
    pub key: PathBuf,
    /// Authorities: only clients with a certificate of one of them are admitted.
    pub client_authority: Option<PathBuf>,
}

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A file is not PEM, or far too long.
    #[error("{}: not a PEM file", .0.display())]
    NotPem(PathBuf),
    /// A file contains no certificate.
    #[error("{}: no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    /// A file contains no usable key.
    #[error("{}: no private key in it that can be used (one with a passphrase cannot)", .0.display())]
    NoKey(PathBuf),
    /// The key does not belong to the certificate.
    #[error("{}: not the key of the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// A certificate cannot be used.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A client authority is given, but clients need no TLS, and so no certificate.
    #[error("certificates of clients are only asked for when TLS is required: others would get in without TLS")]
    AuthorityWithoutTls,
}

impl Tls {
    /// Reads the files. Clients may use TLS, or must if `is_required`.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn open(is_required: bool, files: &TlsFiles) -> Result<Tls, TlsError> {
        if files.client_authority.is_some() && !is_required {
            return Err(TlsError::AuthorityWithoutTls);
        }
        let provider = Arc::new(ring::default_provider());
        let clients = match &files.client_authority {
            Some(path) => client_verifier(path, &provider)?,
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows TLS 1.2 and 1.3")
            .with_client_cert_verifier(clients)
            .with_single_cert(certificates(&files.certificate)?, key(&files.key)?)
            .map_err(|error| refused(error, files))?;
        // Clients of block devices stay connected; no sessions are kept for resumption.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let mode = if is_required { TlsMode::Require } else { TlsMode::Allow };
        Ok(Tls { mode, config: Some(Arc::new(config)) })
    }

    /// Whether clients may or must use TLS.
    pub fn mode(&self) -> TlsMode {
        self.mode
    }

    /// The configuration of connections; `None`: there is no TLS.
    pub(super) fn config(&self) -> Option<&Arc<ServerConfig>> {
        self.config.as_ref()
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes(path)?).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(TlsError::NoCertificate(path.to_owned())),
        Ok(chain) => Ok(chain),
        Err(_) => Err(TlsError::NotPem(path.to_owned())),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&bytes(path)?).map_err(|_| TlsError::NoKey(path.to_owned()))
}

fn client_verifier(path: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable = |why: String| TlsError::Unusable { path: path.to_owned(), why };
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(path)? {
        authorities.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider));
    builder.build().map_err(|error| unusable(error.to_string()))
}

/// Why certificate and key are refused.
fn refused(error: Error, files: &TlsFiles) -> TlsError {
    match error {
        Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: files.certificate.clone(), key: files.key.clone() }
        }
        Error::InvalidCertificate(_) => TlsError::Unusable { path: files.certificate.clone(), why: error.to_string() },
        _ => TlsError::NoKey(files.key.clone()), // of a kind that ring does not know
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(TlsError::NotPem(path.to_owned())),
        false => Ok(bytes),
    }
}
