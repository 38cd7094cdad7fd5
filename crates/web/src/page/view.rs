//! What a page is made of.

use crate::access::PageSession;
use crate::feed::SeenPicture;
use scrubjay_jobs::control::WatchDocument;
use scrubjay_jobs::control::past::{DiskPast, PastDocument};

/// What a page is made of.
pub struct PageView<'v> {
    /// How things stand.
    pub seen: &'v WatchDocument,
    /// What happened; none: the history could not be read.
    pub past: Option<&'v PastDocument>,
    /// Where both come from, and how old they are.
    pub picture: &'v SeenPicture,
    /// Who looks may act.
    pub session: Option<&'v PageSession>,
    /// Somebody could.
    pub has_key: bool,
    /// What came of what was just done.
    pub said: Option<&'v str>,
}

impl PageView<'_> {
    /// Is it as things are now? What is not is not green.
    pub fn is_fresh(&self) -> bool {
        self.picture.is_fresh()
    }

    /// The sentence, or that it is not known any more.
    pub fn sentence(&self) -> String {
        match self.is_fresh() || self.seen.is_blind {
            true => self.seen.sentence.clone(),
            false => format!("Not known now; was: {}", self.seen.sentence),
        }
    }

    /// The past of a disk.
    pub fn past_of(&self, key: &str) -> Option<&DiskPast> {
        self.past?.disks.iter().find(|disk| disk.key == key)
    }
}
