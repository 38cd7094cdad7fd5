//! The paths of the site, and who may use them.

use crate::access::{PageAccess, PageSession};
use crate::assets;
use crate::feed::{PAST_SPAN, PictureFeed, SeenPicture};
use crate::http::rate::{HttpCaller, RateLimit};
use crate::http::request::{HttpMethod, HttpRequest, encoded};
use crate::http::response::HttpResponse;
use crate::http::server::{HttpPeer, HttpSite};
use crate::page::{self, PageView};
use crate::{metrics, summary};
use maud::Markup;
use scrubjay_control::{DiskEntry, WatchAnswer, WatchDocument, WatchRequest};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest silence on an event stream.
const PULSE: Duration = Duration::from_secs(10);
/// Sessions whose result of an action is kept until they load a page, at most.
const RESULTS_MAX: usize = 16;
/// Actions and links of one client at once, and a second.
const ACTION_RATE: (f64, f64) = (12.0, 0.2);
/// The longest pause in seconds: the same as on the command line.
const PAUSE_MAX: u64 = 90 * 86_400;

/// The site of a machine.
pub struct WatchSite {
    feed: Arc<PictureFeed>,
    access: PageAccess,
    action_rate: Mutex<RateLimit<HttpCaller>>,
    action_results: Mutex<VecDeque<(String, String)>>,
}

impl WatchSite {
    /// Shows the feed's data to those whom `access` permits.
    pub fn new(feed: Arc<PictureFeed>, access: PageAccess) -> WatchSite {
        WatchSite {
            feed,
            access,
            action_rate: Mutex::new(RateLimit::new(ACTION_RATE.0, ACTION_RATE.1)),
            action_results: Mutex::default(),
        }
    }

    fn show_page(&self, request: &HttpRequest, session: Option<&PageSession>) -> HttpResponse {
        let path = request.path.as_str();
        // The result of an action is shown to the person, not to a page that refreshes itself.
        let shown_to = session.filter(|_| request.field("x-renew").is_none());
        if let Some(asset) = assets::find(path) {
            return asset.response();
        }
        match path {
            "/" => self.front(session, shown_to),
            "/events" => HttpResponse::stream(),
            "/api/v1/summary" => self.summary(),
            "/metrics" => self.metrics(),
            _ => match path.strip_prefix("/d/") {
                Some(name) => self.disk(name, session, shown_to),
                None => missing("There is no such page."),
            },
        }
    }

    fn front(&self, session: Option<&PageSession>, shown_to: Option<&PageSession>) -> HttpResponse {
        let picture = self.feed.latest();
        let Some(status) = &picture.status else { return unknown(&picture) };
        let result = shown_to.and_then(|session| self.take_result(session));
        html(200, page::front::page(&self.view(status, &picture, session, result.as_deref())))
    }

    fn disk(&self, name: &str, session: Option<&PageSession>, shown_to: Option<&PageSession>) -> HttpResponse {
        let picture = self.feed.latest();
        let Some(status) = &picture.status else { return unknown(&picture) };
        let Some(disk) = find_disk(status, name) else { return missing("No disk here is called so.") };
        let request = WatchRequest::PastOfDisk { disk: disk.key.clone(), since: status.time.saturating_sub(PAST_SPAN) };
        let past = self.feed.ask_past(&request);
        // If the daemon does not answer, its short history is as old as all other data here. If it refuses to read
        // the history, the short history is dropped.
        let picture = match &past {
            Err(why) if picture.trouble.is_none() => {
                SeenPicture { past: None, past_trouble: Some(why.clone()), ..picture.clone() }
            }
            _ => picture.clone(),
        };
        let result = shown_to.and_then(|session| self.take_result(session));
        let view = self.view(status, &picture, session, result.as_deref());
        let past = past.as_ref().ok().and_then(|past| past.disks.first()).or_else(|| view.past_from(&disk.key));
        html(200, page::disk::page(&view, disk, past))
    }

    fn view<'v>(
        &self,
        status: &'v WatchDocument,
        picture: &'v SeenPicture,
        session: Option<&'v PageSession>,
        action_result: Option<&'v str>,
    ) -> PageView<'v> {
        let past = picture.past.as_deref();
        PageView { status, past, picture, session, has_key: self.access.has_key(), action_result }
    }

    fn summary(&self) -> HttpResponse {
        let summary = summary::PageSummary::of(&self.feed.latest());
        match serde_json::to_string(&summary) {
            // So that JSON pasted into an HTML page contains no tag.
            Ok(body) => HttpResponse::new(200, "application/json", body.replace('<', "\\u003c")),
            Err(error) => HttpResponse::plain(500, &error.to_string()),
        }
    }

    fn metrics(&self) -> HttpResponse {
        let picture = self.feed.latest();
        HttpResponse::new(200, metrics::KIND, metrics::of(&picture))
    }

    /// Takes the result of this session's last action.
    fn take_result(&self, session: &PageSession) -> Option<String> {
        let mut results = self.action_results.lock().unwrap_or_else(PoisonError::into_inner);
        let at = results.iter().position(|(of, _)| *of == session.form_mark)?;
        results.remove(at).map(|(_, words)| words)
    }

    fn keep_result(&self, session: &PageSession, words: String) {
        let mut results = self.action_results.lock().unwrap_or_else(PoisonError::into_inner);
        results.retain(|(of, _)| *of != session.form_mark);
        if results.len() >= RESULTS_MAX {
            results.pop_front();
        }
        results.push_back((session.form_mark.clone(), words));
    }

    /// Carries out an action for a session, if its own form asks for it.
    fn act(&self, request: &HttpRequest, session: Option<&PageSession>) -> HttpResponse {
        let Some(session) = session else {
            return HttpResponse::plain(403, "to act here takes a link: sudo scrubjay web --print-link");
        };
        if !session.is_form(request.form_value("form")) {
            return HttpResponse::plain(403, "this form was not made for you: load the page once more");
        }
        if request.path == "/logout" {
            return HttpResponse::redirect("/").with("Set-Cookie", PageAccess::log_out());
        }
        let watch_request = match watch_request(request) {
            Ok(watch_request) => watch_request,
            Err(why) => return why,
        };
        let words = match self.feed.ask(&watch_request) {
            Ok(WatchAnswer::Done { said }) => said,
            Ok(_) => match watch_request {
                WatchRequest::TestAlerts => "A test goes out by every way; type the code that comes below.".to_owned(),
                _ => "It is done.".to_owned(),
            },
            Err(why) => format!("Not done: {why}"),
        };
        self.keep_result(session, words);
        HttpResponse::redirect(&self.back(request))
    }

    /// The page to which a form leads back: that of an existing disk, or the front page.
    fn back(&self, request: &HttpRequest) -> String {
        let named = request.form_value("subject").filter(|_| request.form_value("back") == Some("disk"));
        let picture = self.feed.latest();
        let disk = named.zip(picture.status.as_deref()).and_then(|(named, status)| find_disk(status, named));
        disk.map_or_else(|| "/".to_owned(), |disk| format!("/d/{}", encoded(&disk.key)))
    }

    /// Each session has its own limit, and so have clients without one: a stranger cannot use up an owner's limit.
    fn may_act_again(&self, session: Option<&PageSession>, peer: HttpPeer) -> bool {
        let caller = session.map_or_else(|| HttpCaller::from(peer.address), session_caller);
        self.action_rate.lock().unwrap_or_else(PoisonError::into_inner).take(caller, Instant::now())
    }

    fn log_in(&self, request: &HttpRequest, peer: HttpPeer, now: u64) -> HttpResponse {
        if request.method != HttpMethod::Get {
            return HttpResponse::plain(405, "a link is opened, and not looked at: it is good once");
        }
        if let Some(cookie) = self.access.log_in(|name| request.query_value(name), now, peer.is_encrypted) {
            return HttpResponse::redirect("/").with("Set-Cookie", cookie);
        }
        if !self.may_act_again(None, peer) {
            return too_often();
        }
        let words = "A link is good once, within ten minutes, and until the page is restarted. A new one:";
        let command = Some("sudo scrubjay web --print-link");
        html(403, page::message("This link is not good any more", words, command))
    }
}

impl HttpSite for WatchSite {
    fn answer(&self, request: &HttpRequest, peer: HttpPeer) -> HttpResponse {
        let host = request.field("host").unwrap_or_default();
        if !self.access.is_own_name(host) {
            return HttpResponse::plain(421, "this page has another name: scrubjay web --name NAME");
        }
        let now = now();
        // States only that the server runs.
        if request.path == "/healthz" && request.method != HttpMethod::Post {
            return HttpResponse::plain(200, "ok");
        }
        let session = self.access.session(request.field("cookie"), now);
        if request.method == HttpMethod::Post {
            let is_known = request.path == "/logout" || request.path.starts_with("/do/");
            return match () {
                () if !is_known => missing("Nothing can be done there."),
                () if is_from_elsewhere(request, peer) => HttpResponse::plain(403, "that comes from another page"),
                () if !self.may_act_again(session.as_ref(), peer) => too_often(),
                () => self.act(request, session.as_ref()),
            };
        }
        if request.path == "/login" {
            return self.log_in(request, peer, now);
        }
        let may_look = peer.address.is_loopback()
            || session.is_some()
            || self.access.may_read(request.field("authorization"))
            || assets::find(&request.path).is_some();
        if !may_look {
            let words = "To look at this page from another machine takes a link, which its owner prints:";
            return html(401, page::message("Who are you?", words, Some("sudo scrubjay web --print-link")))
                .with("WWW-Authenticate", "Bearer");
        }
        self.show_page(request, session.as_ref())
    }

    fn caller(&self, request: &HttpRequest, peer: HttpPeer) -> HttpCaller {
        match self.access.session(request.field("cookie"), now()) {
            Some(session) => session_caller(&session),
            None if self.access.may_read(request.field("authorization")) => HttpCaller::Known("reader".to_owned()),
            None => HttpCaller::from(peer.address),
        }
    }

    fn events(&self, seen: &mut u64) -> String {
        if *seen == 0 {
            *seen = self.feed.latest().number;
            return format!("retry: 5000\nevent: picture\ndata: {}\n\n", *seen);
        }
        let number = self.feed.newer(*seen, PULSE);
        if number <= *seen {
            return String::new();
        }
        *seen = number;
        format!("event: picture\ndata: {number}\n\n")
    }
}

/// The present time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn session_caller(session: &PageSession) -> HttpCaller {
    HttpCaller::Known(session.form_mark.clone())
}

/// Did another site send this form? Browsers state the origin; one that does not still has its cookie and its mark.
fn is_from_elsewhere(request: &HttpRequest, peer: HttpPeer) -> bool {
    let host = request.field("host").unwrap_or_default();
    let scheme = if peer.is_encrypted { "https" } else { "http" };
    let has = |name: &str| request.fields.iter().any(|(field, _)| field == name);
    // A proxy in front of this server may add encryption.
    let is_own_origin = |origin: &str| origin == format!("{scheme}://{host}") || origin == format!("https://{host}");
    let site = request.field("sec-fetch-site");
    // A browser that may not state the origin sends `null` for its own page's, and still states that it is the same origin.
    let is_same = |origin: &str| is_own_origin(origin) || origin == "null" && site == Some("same-origin");
    let is_other_origin = has("origin") && !request.field("origin").is_some_and(is_same);
    let is_other_site = has("sec-fetch-site") && !matches!(site, Some("same-origin" | "none"));
    is_other_origin || is_other_site
}

/// The request of a form.
fn watch_request(request: &HttpRequest) -> Result<WatchRequest, HttpResponse> {
    let lacks = |field: &str| HttpResponse::plain(400, &format!("the form lacks {field}"));
    let subject = || {
        let subject = request.form_value("subject").filter(|subject| !subject.is_empty());
        subject.map(str::to_owned).ok_or_else(|| lacks("a subject"))
    };
    Ok(match request.path.as_str() {
        "/do/pause" => {
            let seconds = request.form_value("seconds").and_then(|text| text.parse().ok());
            let seconds = seconds.filter(|seconds| (1..=PAUSE_MAX).contains(seconds)).ok_or_else(|| lacks("a time"))?;
            WatchRequest::Pause { seconds }
        }
        "/do/resume" => WatchRequest::Resume,
        "/do/test" => WatchRequest::TestAlerts,
        "/do/accept" => WatchRequest::Accept { subject: subject()? },
        "/do/scrub-now" => WatchRequest::ScrubNow { subject: subject()? },
        "/do/confirm" => {
            let code = request.form_value("code").map(str::trim).filter(|code| code.len() == 6);
            WatchRequest::Confirm { code: code.ok_or_else(|| lacks("a code of six digits"))?.to_owned() }
        }
        _ => return Err(missing("Nothing can be done there.")),
    })
}

/// Finds a disk by identity, serial number, or the kernel's name.
fn find_disk<'s>(status: &'s WatchDocument, name: &str) -> Option<&'s DiskEntry> {
    let by = |is: &dyn Fn(&DiskEntry) -> bool| status.disks.iter().find(|disk| is(disk));
    by(&|disk| disk.key == name)
        .or_else(|| by(&|disk| disk.serial.as_deref() == Some(name)))
        .or_else(|| by(&|disk| disk.name.as_deref() == Some(name)))
}

fn html(status: u16, markup: Markup) -> HttpResponse {
    HttpResponse::new(status, "text/html; charset=utf-8", markup.into_string())
}

fn missing(words: &str) -> HttpResponse {
    html(404, page::message("Not found", words, None))
}

fn too_often() -> HttpResponse {
    HttpResponse::plain(429, "too often: wait a minute").with("Retry-After", "60")
}

/// The answer if nothing is known, with the reason.
fn unknown(picture: &SeenPicture) -> HttpResponse {
    let why =
        picture.trouble.clone().unwrap_or_else(|| "the watch has not answered yet: load the page once more".to_owned());
    html(503, page::message("Nothing is known of the disks here", &why, Some("sudo scrubjay doctor")))
        .with("Retry-After", "5")
}

#[cfg(test)]
mod tests;
