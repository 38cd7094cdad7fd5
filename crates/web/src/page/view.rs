//! The data of a page.

use crate::access::PageSession;
use crate::feed::{PictureTime, SeenPicture};
use scrubjay_control::WatchDocument;
use scrubjay_control::past::{DiskPast, PastDocument};
use scrubjay_control::wording::date;

/// The data of a page.
pub struct PageView<'v> {
    /// The status.
    pub status: &'v WatchDocument,
    /// The past; `None`: the history could not be read.
    pub past: Option<&'v PastDocument>,
    /// The source of both, with their age.
    pub picture: &'v SeenPicture,
    /// The visitor's session; `None`: the visitor may not act.
    pub session: Option<&'v PageSession>,
    /// Is there a key, so that visitors can get a session?
    pub has_key: bool,
    /// The result of the last action.
    pub action_result: Option<&'v str>,
}

impl PageView<'_> {
    /// The time to which the data apply. Only the present is green.
    pub fn time(&self) -> PictureTime {
        self.picture.time()
    }

    /// The status's sentence, marked if it is old or recorded.
    pub fn sentence(&self) -> String {
        let sentence = &self.status.sentence;
        match self.time() {
            PictureTime::Recorded => format!("Recorded {}: {sentence}", date(self.status.time)),
            PictureTime::Old if !self.status.is_blind => format!("Not known now; was: {sentence}"),
            PictureTime::Now | PictureTime::Old => sentence.clone().into(),
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
    pub fn past_from(&self, key: &str) -> Option<&DiskPast> {
        self.past?.disks.iter().find(|disk| disk.key == key)
    }
}
