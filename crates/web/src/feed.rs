//! The feed of the pages: one thread asks the daemon at intervals, so that a thousand visitors cost it no more than one.
//! While there are no visitors it asks rarely.

use scrubjay_control::past::PastDocument;
use scrubjay_control::{WatchAnswer, WatchClient, WatchClientError, WatchDocument, WatchRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval of requests to the daemon while the page has visitors.
const POLL_INTERVAL: Duration = Duration::from_secs(4);
/// The interval while it has none.
const POLL_INTERVAL_UNSEEN: Duration = Duration::from_secs(60);
/// How long a visitor counts after a request.
const INTEREST: Duration = Duration::from_secs(90);
/// The interval of requests for the past, which changes slowly.
const PAST_INTERVAL: Duration = Duration::from_secs(60);
/// The age of a picture from which on a new one is requested before it is shown.
const STALE: Duration = Duration::from_secs(10);
/// The age in seconds from which on a picture is not shown as the present state: the asking thread hangs.
const OLD: u64 = 150;
/// How long a request for the page waits for a newer picture.
const FRESHEN_MAX: Duration = Duration::from_millis(1500);
/// The length of the past that is shown, in seconds.
pub const PAST_SPAN: u64 = 366 * 86_400;

/// Sends a request to the daemon, or to a replacement of it.
pub type AskWatch = Box<dyn Fn(&WatchRequest) -> Result<WatchAnswer, String> + Send + Sync>;

/// Asks the daemon at this socket.
pub fn over(socket: PathBuf) -> AskWatch {
    Box::new(move |request| {
        let answer = WatchClient::connect(&socket).and_then(|mut client| client.ask(request));
        answer.map_err(|error| match error {
            WatchClientError::Permission(path) => {
                format!(
                    "{}: this process may not ask the watch: it must run as root, or in the group scrubjay-page",
                    path.display()
                )
            }
            error => error.to_string(),
        })
    })
}

/// Answers requests from a recording; actions are refused.
fn recorded(status: WatchDocument, past: PastDocument) -> AskWatch {
    Box::new(move |request| {
        let past_from = |disk: Option<&str>| {
            let mut past = past.clone();
            past.disks.retain(|entry| disk.is_none_or(|disk| entry.key == disk));
            if disk.is_none() {
                past.disks.iter_mut().for_each(|entry| entry.detail = None);
            }
            WatchAnswer::Past(Box::new(past))
        };
        Ok(match request {
            WatchRequest::Status => WatchAnswer::Status(Box::new(status.clone())),
            WatchRequest::Past { .. } => past_from(None),
            WatchRequest::PastOfDisk { disk, .. } => past_from(Some(disk)),
            _ => WatchAnswer::Refused { why: "this is a recording: nothing can be done to it".to_owned() },
        })
    })
}

/// The time to which a picture applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureTime {
    /// The present.
    Now,
    /// The past: the picture may no longer apply.
    Old,
    /// It is a recording, and applies nowhere.
    Recorded,
}

/// The data for the pages.
#[derive(Clone, Debug, Default)]
pub struct SeenPicture {
    /// The daemon's last status; `None`: it has never answered.
    pub status: Option<Arc<WatchDocument>>,
    /// The past that was last read.
    pub past: Option<Arc<PastDocument>>,
    /// When the daemon last answered.
    pub answered: Option<Instant>,
    /// Why it does not answer now.
    pub trouble: Option<String>,
    /// Why there is no past: reading the history is refused.
    pub past_trouble: Option<String>,
    /// Is it a recording, and not of a running watch?
    pub is_recording: bool,
    /// Rises when anything except the age changes.
    pub number: u64,
}

impl SeenPicture {
    /// Its age, in seconds.
    pub fn age(&self) -> u64 {
        self.answered.map_or(0, |at| at.elapsed().as_secs())
    }

    /// Does it show the present state?
    pub fn is_fresh(&self) -> bool {
        self.time() == PictureTime::Now
    }

    /// The time to which it applies.
    pub fn time(&self) -> PictureTime {
        let is_seeing = self.status.as_ref().is_some_and(|status| !status.is_blind);
        match self.trouble.is_none() && is_seeing && self.age() < OLD {
            _ if self.is_recording => PictureTime::Recorded,
            true => PictureTime::Now,
            false => PictureTime::Old,
        }
    }
}

#[derive(Debug, Default)]
struct FeedState {
    picture: SeenPicture,
    past_read_at: Option<Instant>,
    requested_at: Option<Instant>,
    is_requested: bool,
}

/// The picture for the pages, and the function that asks for it.
pub struct PictureFeed {
    ask: AskWatch,
    state: Mutex<FeedState>,
    changed: Condvar,
    requested: Condvar,
}

impl PictureFeed {
    /// A feed of the answers of `ask`. It asks when a picture is requested, or from [`PictureFeed::start_polling`] on.
    pub fn new(ask: AskWatch) -> Arc<PictureFeed> {
        Arc::new(PictureFeed { ask, state: Mutex::default(), changed: Condvar::new(), requested: Condvar::new() })
    }

    /// A feed of a recording, which is marked as such everywhere.
    pub fn of_recording(status: WatchDocument, past: PastDocument) -> Arc<PictureFeed> {
        let state =
            FeedState { picture: SeenPicture { is_recording: true, ..SeenPicture::default() }, ..FeedState::default() };
        let ask = recorded(status, past);
        Arc::new(PictureFeed { ask, state: Mutex::new(state), changed: Condvar::new(), requested: Condvar::new() })
    }

    /// Starts a thread that asks from now on.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start_polling(self: &Arc<PictureFeed>) -> std::io::Result<()> {
        let feed = Arc::clone(self);
        thread::Builder::new().name("feed".into()).spawn(move || {
            loop {
                feed.look();
                let state = feed.state.lock().unwrap_or_else(PoisonError::into_inner);
                let has_visitors = state.requested_at.is_some_and(|at| at.elapsed() < INTEREST);
                let wait = if has_visitors { POLL_INTERVAL } else { POLL_INTERVAL_UNSEEN };
                let waited = feed.requested.wait_timeout_while(state, wait, |state| !state.is_requested);
                waited.unwrap_or_else(PoisonError::into_inner).0.is_requested = false;
            }
        })?;
        Ok(())
    }

    /// The present picture; if it is old, a newer one is requested first.
    pub fn latest(&self) -> SeenPicture {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.requested_at.replace(Instant::now());
        let is_old = state.picture.answered.is_none_or(|at| at.elapsed() > STALE);
        // If the daemon does not answer, requests do not wait again and again.
        let has_tried = state.picture.trouble.is_some() && before.is_some_and(|at| at.elapsed() < STALE);
        if is_old && !has_tried {
            state.is_requested = true;
            self.requested.notify_one();
            let answered = state.picture.answered;
            let is_same = |state: &mut FeedState| state.picture.answered == answered && state.is_requested;
            let waited = self.changed.wait_timeout_while(state, FRESHEN_MAX, is_same);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.picture.clone()
    }

    /// Waits until there is a picture newer than this number, for `wait` at most. Returns its number.
    pub fn newer(&self, number: u64, wait: Duration) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requested_at = Some(Instant::now());
        let waited = self.changed.wait_timeout_while(state, wait, |state| state.picture.number <= number);
        waited.unwrap_or_else(PoisonError::into_inner).0.picture.number
    }

    /// Sends a request of one visitor; after an action a new picture is needed.
    ///
    /// # Errors
    /// The daemon does not answer, or refuses; the text says why.
    pub fn ask(&self, request: &WatchRequest) -> Result<WatchAnswer, String> {
        let answer = match (self.ask)(request)? {
            WatchAnswer::Refused { why } => return Err(printable(&why)),
            WatchAnswer::Done { said } => WatchAnswer::Done { said: printable(&said) },
            answer => answer,
        };
        if !matches!(request, WatchRequest::PastOfDisk { .. } | WatchRequest::Past { .. } | WatchRequest::Status) {
            self.look();
        }
        Ok(answer)
    }

    /// The past of all disks, or in full of one disk.
    ///
    /// # Errors
    /// Reading the history is refused, or there is no answer; the text says why.
    pub fn ask_past(&self, request: &WatchRequest) -> Result<PastDocument, String> {
        match self.ask(request)? {
            WatchAnswer::Past(past) => Ok(cleaned(&*past)),
            _ => Err("the watch answered something else: is it another version?".to_owned()),
        }
    }

    /// Requests the status, and at longer intervals the past.
    pub fn look(&self) {
        let status = match self.ask(&WatchRequest::Status) {
            Ok(WatchAnswer::Status(status)) => Ok(cleaned(&*status)),
            Ok(_) => Err("the watch answered something else: is it another version?".to_owned()),
            Err(why) => Err(printable(&why)),
        };
        let (is_past_old, since) = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (
                state.past_read_at.is_none_or(|at| at.elapsed() > PAST_INTERVAL),
                status.as_ref().map(|status| status.time),
            )
        };
        let past = match since {
            Ok(now) if is_past_old => {
                let since = now.saturating_sub(PAST_SPAN);
                Some(self.ask_past(&WatchRequest::Past { since }).map(|mut past| {
                    // The front page of a machine with one disk shows it in full.
                    if let [disk] = &past.disks[..] {
                        let of_disk = self.ask_past(&WatchRequest::PastOfDisk { disk: disk.key.clone(), since });
                        past.disks = of_disk.map_or(past.disks, |past| past.disks);
                    }
                    past
                }))
            }
            _ => None,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_changed = false;
        match status {
            Ok(status) => {
                // The time alone is no change.
                let mut before = state.picture.status.as_deref().cloned().unwrap_or_default();
                before.time = status.time;
                is_changed |= before != status || state.picture.trouble.is_some();
                state.picture.status = Some(Arc::new(status));
                state.picture.trouble = None;
                state.picture.answered = Some(Instant::now());
            }
            Err(why) => {
                is_changed |= state.picture.trouble.as_ref() != Some(&why);
                state.picture.trouble = Some(why);
            }
        }
        match past {
            Some(Ok(past)) => {
                is_changed |= state.picture.past.as_deref() != Some(&past) || state.picture.past_trouble.is_some();
                (state.picture.past, state.picture.past_trouble) = (Some(Arc::new(past)), None);
                state.past_read_at = Some(Instant::now());
            }
            // A past that cannot be read now is dropped: beside a new status it would be taken for new. The next look
            // asks again.
            Some(Err(why)) => {
                is_changed |= state.picture.past_trouble.as_ref() != Some(&why);
                (state.picture.past, state.picture.past_trouble, state.past_read_at) = (None, Some(why), None);
            }
            None => {}
        }
        state.picture.number += u64::from(is_changed);
        state.is_requested = false;
        drop(state);
        self.changed.notify_all();
    }
}

/// Removes control characters from texts that disks or others chose: they must not control a terminal or reverse a line
/// anywhere.
fn printable(text: &str) -> String {
    scrubjay_control::wording::shown(text).into_owned()
}

/// Does the same to every text of a document.
pub fn cleaned<T: Serialize + DeserializeOwned + Default>(document: &T) -> T {
    fn clean(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => *text = printable(text),
            serde_json::Value::Array(values) => values.iter_mut().for_each(clean),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(clean),
            _ => {}
        }
    }
    let cleaned = serde_json::to_value(document).and_then(|mut value| {
        clean(&mut value);
        serde_json::from_value(value)
    });
    // The cleaned JSON still is such a document; if it were not, an empty one is better than an unclean one.
    cleaned.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_control::LightEntry;
    use scrubjay_control::past::{DiskPast, DriveReported};
    use scrubjay_watch::status::{LightColour, LightName};

    #[test]
    fn control_characters_in_the_status_are_escaped_before_it_is_shown() {
        let status = WatchDocument { host: "a\u{1b}[31m\u{202e}b".into(), ..WatchDocument::default() };
        let feed = PictureFeed::of_recording(status, PastDocument::default());
        feed.look();
        assert_eq!(feed.latest().status.unwrap().host, "a\\e[31m\\u{202e}b");
    }

    #[test]
    fn the_answer_of_a_blind_watch_is_not_fresh() {
        let status = |is_blind| WatchDocument { is_blind, ..WatchDocument::default() };
        for is_blind in [false, true] {
            let answers = recorded(status(is_blind), PastDocument::default());
            let feed = PictureFeed::new(answers); // as if a watch had answered
            feed.look();
            let picture = feed.latest();
            assert_eq!(picture.is_fresh(), !is_blind);
            assert!(crate::metrics::of(&picture).contains(&format!("scrubjay_watch_up {}\n", u8::from(!is_blind))));
        }
    }

    #[test]
    fn a_recording_is_never_fresh() {
        let green = LightEntry { name: LightName::Disks, colour: LightColour::Green, words: "all".into() };
        let status = WatchDocument { lights: vec![green], ..WatchDocument::default() };
        let feed = PictureFeed::of_recording(status, PastDocument::default());
        feed.look();
        let picture = feed.latest();
        assert_eq!((picture.is_fresh(), picture.time()), (false, PictureTime::Recorded));
        let metrics = crate::metrics::of(&picture);
        assert!(metrics.contains("scrubjay_watch_up 0\n") && metrics.contains("scrubjay_recording 1\n"), "{metrics}");
    }

    /// A history that is newer, or damaged: the daemon runs, but refuses to read it.
    #[test]
    fn a_refused_history_removes_the_metrics_that_came_from_it() {
        let is_refused = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let refuses = Arc::clone(&is_refused);
        let drive = DriveReported { read: 7, passed: Some(true), celsius: Some(40), ..DriveReported::default() };
        let past = PastDocument {
            disks: vec![DiskPast { key: "a".into(), drive, ..DiskPast::default() }],
            ..Default::default()
        };
        let ask: AskWatch = Box::new(move |request| match request {
            WatchRequest::Status => Ok(WatchAnswer::Status(Box::default())),
            _ if refuses.load(std::sync::atomic::Ordering::SeqCst) => {
                Ok(WatchAnswer::Refused { why: "history.db: it is of a newer Scrubjay".into() })
            }
            _ => Ok(WatchAnswer::Past(Box::new(past.clone()))),
        });
        let feed = PictureFeed::new(ask);
        let metrics = || {
            feed.state.lock().unwrap().past_read_at = None; // a minute has passed
            feed.look();
            crate::metrics::of(&feed.latest())
        };
        let known = metrics();
        assert!(known.contains("smart_passed{disk=\"a\"} 1\n") && known.contains("scrubjay_history_up 1\n"), "{known}");
        is_refused.store(true, std::sync::atomic::Ordering::SeqCst);
        let refused = metrics();
        for gone in ["scrubjay_smart_", "scrubjay_disk_temperature", "scrubjay_scrub_passes"] {
            assert!(!refused.contains(gone), "{gone}: {refused}");
        }
        assert!(refused.contains("scrubjay_history_up 0\n") && refused.contains("newer Scrubjay"), "{refused}");
        assert!(feed.latest().is_fresh(), "what the watch says of now is so");
        is_refused.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(metrics(), known);
    }

    #[test]
    fn a_picture_is_old_after_an_error_and_only_changes_get_a_new_number() {
        let answers = std::sync::atomic::AtomicU64::new(0);
        let ask: AskWatch = Box::new(move |request| match request {
            WatchRequest::Status => match answers.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 | 1 => Ok(WatchAnswer::Status(Box::new(WatchDocument { host: "nas1".into(), ..Default::default() }))),
                _ => Err("it is not running".into()),
            },
            _ => Ok(WatchAnswer::Past(Box::default())),
        });
        let feed = PictureFeed::new(ask);
        feed.look();
        let first = feed.latest();
        assert!(first.is_fresh());
        feed.look();
        assert_eq!(feed.latest().number, first.number, "the same is no news");
        feed.look();
        let last = feed.latest();
        assert_eq!((last.number, last.is_fresh()), (first.number + 1, false));
        assert_eq!(last.status.unwrap().host, "nas1", "what was known stays");
    }
}
