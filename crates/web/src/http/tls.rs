//! TLS, by rustls.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct TlsFault {
    path: PathBuf,
    problem: String,
}

/// The configuration of a server: its certificate, with those that lead to its authority, and its key, as PEM.
///
/// # Errors
/// A file cannot be read, or holds something else; or the key belongs to another certificate.
pub fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsFault> {
    let fault = |path: &Path, problem: String| TlsFault { path: path.to_owned(), problem };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| fault(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(fault(certificate, "it holds no certificate".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| fault(key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| fault(certificate, error.to_string()))?;
    Ok(Arc::new(config))
}
