//! A disk that is only observed: its foreground is real, its scrub requests are imagined. It is neither read nor claimed.

use crate::detector;
use crate::subject::Subject;
use crate::target::TargetIdentity;
use crate::verify::{self, VerifierError};
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::{Bytes, Nanos};
use std::path::Path;

/// What is observed.
pub struct ObservedSubject {
    subject: Box<dyn Subject>,
    is_rotational: bool,
}

impl ObservedSubject {
    /// Observes this disk.
    pub fn new(subject: Box<dyn Subject>, is_rotational: bool) -> ObservedSubject {
        ObservedSubject { subject, is_rotational }
    }
}

impl Subject for ObservedSubject {
    fn path(&self) -> &Path {
        self.subject.path()
    }

    fn id(&self) -> &TargetIdentity {
        self.subject.id()
    }

    fn sectors(&self) -> u64 {
        self.subject.sectors()
    }

    fn block(&self) -> Bytes {
        self.subject.block()
    }

    fn block_name(&self) -> &'static str {
        self.subject.block_name()
    }

    fn ways(&self) -> Vec<String> {
        self.subject.ways()
    }

    fn is_claimed(&self) -> bool {
        false
    }

    fn order(&self) -> OrderKind {
        self.subject.order()
    }

    fn held_max(&self) -> Option<Nanos> {
        self.subject.held_max()
    }

    fn open_verifier(
        &self,
        _: verify::VerifierKind,
        _: &PolicyConfig,
    ) -> Result<verify::OpenedVerifier, VerifierError> {
        Ok(verify::imagined(self.is_rotational))
    }

    fn open_detector(&self, wish: Option<detector::DetectorKind>) -> detector::OpenedDetector {
        self.subject.open_detector(wish)
    }

    fn is_present(&self) -> bool {
        self.subject.is_present()
    }

    fn notes(&self) -> Vec<String> {
        vec!["only observed: nothing of it is read".to_owned()]
    }
}
