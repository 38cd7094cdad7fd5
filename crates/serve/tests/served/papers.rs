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
pub struct Papers {
    folder: TempDir,
}

impl Papers {
    pub fn new() -> Papers {
        let papers = Papers { folder: tempfile::tempdir().unwrap() };
        let (ours, theirs) = (authority("our authority"), authority("their authority"));
        papers.keep("server", &ours, "server", ExtendedKeyUsagePurpose::ServerAuth);
        papers.keep("client", &ours, "client", ExtendedKeyUsagePurpose::ClientAuth);
        papers.keep("stranger", &theirs, "client", ExtendedKeyUsagePurpose::ClientAuth);
        for holder in ["server", "client", "stranger", "nobody"] {
            fs::create_dir_all(papers.of(holder)).unwrap();
            fs::write(papers.of(holder).join("ca-cert.pem"), ours.pem()).unwrap();
        }
        papers
    }

    /// The folder of a holder of certificates.
    pub fn of(&self, holder: &str) -> PathBuf {
        self.folder.path().join(holder)
    }

    /// The server's credentials; `asks`: clients must have a certificate.
    pub fn tls(&self, is_required: bool, asks: bool) -> Tls {
        let path = |name: &str| self.of("server").join(name);
        let client_authority = asks.then(|| path("ca-cert.pem"));
        let files = TlsFiles { certificate: path("server-cert.pem"), key: path("server-key.pem"), client_authority };
        Tls::open(is_required, &files).unwrap()
    }

    fn keep(&self, holder: &str, by: &CertifiedIssuer<'_, KeyPair>, role: &str, use_of_it: ExtendedKeyUsagePurpose) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, holder);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![use_of_it];
        let write = |name: &str, text: &str| write(&self.of(holder), &format!("{role}-{name}.pem"), text);
        write("cert", &params.signed_by(&key, by).unwrap().pem());
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
