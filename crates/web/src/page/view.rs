//! What a page is made of.

use crate::access::PageSession;
use crate::feed::{PictureTime, SeenPicture};
use scrubjay_jobs::control::WatchDocument;
use scrubjay_jobs::control::past::{DiskPast, PastDocument};
use scrubjay_jobs::control::told::date;

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
    pub fn time(&self) -> PictureTime {
        self.picture.time()
    }

    /// The sentence; or that it is not known any more, or was recorded.
    pub fn sentence(&self) -> String {
        let sentence = &self.seen.sentence;
        match self.time() {
            PictureTime::Recorded => format!("Recorded {}: {sentence}", date(self.seen.time)),
            PictureTime::Old if !self.seen.is_blind => format!("Not known now; was: {sentence}"),
            PictureTime::Now | PictureTime::Old => sentence.clone(),
        }
    }

    /// Why there is no past, in a sentence.
    pub fn no_history(&self) -> String {
        match &self.picture.past_trouble {
            Some(why) => format!("The history cannot be read: {why}"),
            None => "The history cannot be read now.".to_owned(),
        }
    }

    /// The past of a disk.
    pub fn past_of(&self, key: &str) -> Option<&DiskPast> {
        self.past?.disks.iter().find(|disk| disk.key == key)
    }
}
