//! Certificates for one test: an authority, the server, and clients, in the files where third-party clients expect them.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use scrubjay_serve::tls::{Tls, TlsFiles};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folders `client` and `stranger` have `ca-cert.pem`, `client-cert.pem`, `client-key.pem`; `nobody` has only the
/// first. All trust the authority of the server; the stranger's certificate is from another one.
pub struct TestCertificates {
    folder: TempDir,
}

impl TestCertificates {
    pub fn new() -> TestCertificates {
        let certs = TestCertificates { folder: tempfile::tempdir().unwrap() };
        let (server_authority, other_authority) = (authority("our authority"), authority("their authority"));
        certs.issue("server", &server_authority, "server", ExtendedKeyUsagePurpose::ServerAuth);
        certs.issue("client", &server_authority, "client", ExtendedKeyUsagePurpose::ClientAuth);
        certs.issue("stranger", &other_authority, "client", ExtendedKeyUsagePurpose::ClientAuth);
        for holder in ["server", "client", "stranger", "nobody"] {
            fs::create_dir_all(certs.folder(holder)).unwrap();
            fs::write(certs.folder(holder).join("ca-cert.pem"), server_authority.pem()).unwrap();
        }
        certs
    }

    /// The folder of a holder of certificates.
    pub fn folder(&self, holder: &str) -> PathBuf {
        self.folder.path().join(holder)
    }

    /// The server's credentials; `needs_certificate`: clients must have a certificate.
    pub fn tls(&self, is_required: bool, needs_certificate: bool) -> Tls {
        let path = |name: &str| self.folder("server").join(name);
        let client_authority = needs_certificate.then(|| path("ca-cert.pem"));
        let files = TlsFiles { certificate: path("server-cert.pem"), key: path("server-key.pem"), client_authority };
        Tls::open(is_required, &files).unwrap()
    }

    fn issue(&self, holder: &str, issuer: &CertifiedIssuer<'_, KeyPair>, role: &str, usage: ExtendedKeyUsagePurpose) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, holder);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![usage];
        let write = |name: &str, text: &str| write(&self.folder(holder), &format!("{role}-{name}.pem"), text);
        write("cert", &params.signed_by(&key, issuer).unwrap().pem());
        write("key", &key.serialize_pem());
    }
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}
