//! Certificates for a test.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with authorities and what they have signed: `NAME.pem`, `NAME.key`.
pub struct TestCertificates(TempDir);

impl TestCertificates {
    /// `ours` has signed `server` (for localhost) and `other` (for another name); `theirs` is somebody else.
    pub fn new() -> TestCertificates {
        let certificates = TestCertificates(tempfile::tempdir().unwrap());
        for (authority, holders) in
            [("ours", &[("server", "localhost"), ("other", "mail.example.org")][..]), ("theirs", &[])]
        {
            let mut params = CertificateParams::new([]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
            fs::write(certificates.path(&format!("{authority}.pem")), issuer.pem()).unwrap();
            for (holder, name) in holders {
                let key = KeyPair::generate().unwrap();
                let params = CertificateParams::new([(*name).to_owned()]).unwrap();
                fs::write(certificates.path(&format!("{holder}.pem")), params.signed_by(&key, &issuer).unwrap().pem())
                    .unwrap();
                fs::write(certificates.path(&format!("{holder}.key")), key.serialize_pem()).unwrap();
            }
        }
        certificates
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
