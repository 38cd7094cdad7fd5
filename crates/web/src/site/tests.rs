//! Who may use the site, and that texts of others are shown safely.

use super::*;
use crate::feed::AskWatch;
use scrubjay_control::{DoNowEntry, IncidentEntry, LightEntry, ReadingActivity, ReadingEntry, ToDoEntry};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, Urgency};
use scrubjay_watch::status::{LightColour, LightName};

const KEY: &str = "abababababababababababababababababababababababababababababababab";
const EVIL: &str = "<script>alert(1)</script>\u{1b}[31m\"'&";

/// A machine with one disk whose maker chose hostile names.
fn status() -> WatchDocument {
    let disk = DiskEntry {
        key: "ZL2ABCDE".into(),
        serial: Some(EVIL.into()),
        model: EVIL.into(),
        name: Some("sda".into()),
        bay: Some(EVIL.into()),
        health: HealthState::Replace,
        reasons: vec![EVIL.into()],
        reading: ReadingEntry { activity: ReadingActivity::Held, ..ReadingEntry::default() },
        ..DiskEntry::default()
    };
    let notes = vec![EVIL.into()];
    let read = DiskEntry {
        key: "ZL2ABCDF".into(),
        name: Some("sdb".into()),
        health: HealthState::Ok,
        reading: ReadingEntry { activity: ReadingActivity::Reading, is_blind: true, notes, ..ReadingEntry::default() },
        ..DiskEntry::default()
    };
    let incident = |kind, urgency: Urgency| IncidentEntry {
        subject: "ZL2ABCDE".into(),
        kind,
        urgency,
        headline: (&*format!("{} {EVIL}", urgency.word())).into(),
        since: 5,
        is_accepted: false,
    };
    let to_do = |incident, word: &str| ToDoEntry {
        incident: Some(incident),
        words: (&*format!("{word} {EVIL}")).into(),
        command: Some(EVIL.into()),
    };
    WatchDocument {
        host: "nas1".into(),
        time: 1_773_320_400,
        verdict: Some(HealthState::Replace),
        sentence: (&*format!("1 problem: {EVIL}")).into(),
        lights: vec![LightEntry { name: LightName::Disks, colour: LightColour::Green, words: EVIL.into() }],
        do_now: DoNowEntry { first: vec![to_do(0, "replace"), to_do(1, "notice")], more: 0 },
        disks: vec![disk, read],
        incidents: vec![
            incident(IncidentKind::Health, Urgency::Replace),
            incident(IncidentKind::Unread, Urgency::Notice),
        ],
        ..WatchDocument::default()
    }
}

/// A site with such a daemon, which records the actions that it was asked for.
fn site(is_running: bool) -> (WatchSite, Arc<Mutex<Vec<WatchRequest>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&requests);
    let ask: AskWatch = Box::new(move |request| match request {
        _ if !is_running => Err("it is not running".into()),
        WatchRequest::Status => Ok(WatchAnswer::Status(Box::new(status()))),
        WatchRequest::Past { .. } | WatchRequest::PastOfDisk { .. } => Ok(WatchAnswer::Past(Box::default())),
        request => {
            recorded.lock().unwrap().push(request.clone());
            Ok(WatchAnswer::Done { said: EVIL.into() })
        }
    });
    let feed = PictureFeed::new(ask);
    feed.look();
    (WatchSite::new(feed, PageAccess::new(Some(KEY), &["nas1".into()])), requests)
}

fn request(method: HttpMethod, path: &str, fields: &[(&str, &str)], form: &[(&str, &str)]) -> HttpRequest {
    let owned = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let mut fields = owned(fields);
    if !fields.iter().any(|(name, _)| name == "host") {
        fields.push(("host".into(), "localhost:8600".into()));
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
    HttpRequest { method, path: path.into(), query, fields, form: owned(form), is_kept_open: true }
}

fn local() -> HttpPeer {
    HttpPeer { address: [127, 0, 0, 1].into(), is_encrypted: false }
}

fn remote() -> HttpPeer {
    HttpPeer { address: [192, 0, 2, 7].into(), is_encrypted: false }
}

fn get(site: &WatchSite, path: &str, fields: &[(&str, &str)], peer: HttpPeer) -> HttpResponse {
    site.answer(&request(HttpMethod::Get, path, fields, &[]), peer)
}

fn text(response: &HttpResponse) -> String {
    String::from_utf8(response.body.clone()).unwrap()
}

/// The cookie of a new session.
fn logged_in(site: &WatchSite) -> String {
    let response = get(site, &site.access.link(now()).unwrap(), &[], local());
    assert_eq!(response.status, 303);
    let cookie = response.fields.iter().find(|(name, _)| *name == "Set-Cookie").unwrap();
    cookie.1.split(';').next().unwrap().to_owned()
}

fn form_mark(page: &str) -> String {
    let start = "name=\"form\" value=\"";
    let at = page.find(start).unwrap() + start.len();
    page[at..at + 64].to_owned()
}

#[test]
fn hostile_names_of_a_disk_are_shown_as_text_everywhere() {
    let (site, _) = site(true);
    let cookie = logged_in(&site);
    for path in ["/", "/d/ZL2ABCDE", "/api/v1/summary", "/metrics"] {
        let shown = text(&get(&site, path, &[("cookie", &cookie)], local()));
        assert!(shown.contains("alert(1)"), "{path} shows it: {shown}");
        assert!(!shown.contains('\u{1b}'), "{path}");
        if path.starts_with("/d") || path == "/" {
            assert!(!shown.contains("<script>alert") && !shown.contains("style="), "{path}: {shown}");
        }
    }
}

#[test]
fn a_visitor_without_a_key_can_look_but_not_act() {
    let (site, requests) = site(true);
    for path in ["/do/pause", "/do/resume", "/do/accept", "/do/scrub-now", "/do/test", "/do/confirm"] {
        let post = request(HttpMethod::Post, path, &[], &[("seconds", "60"), ("subject", "sda"), ("code", "004711")]);
        assert_eq!(site.answer(&post, local()).status, 403, "{path}");
    }
    assert!(requests.lock().unwrap().is_empty());
    let page = get(&site, "/", &[], local());
    assert_eq!((page.status, text(&page).contains("<form")), (200, text(&page).contains("method=\"dialog\"")));
    assert!(!text(&page).contains("/do/"), "no button for whom it would not work");
    assert_eq!(get(&site, "/login?until=1&mark=00", &[], local()).status, 403);
}

#[test]
fn a_session_acts_only_by_its_own_forms() {
    let (site, requests) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], local())));
    let post = |fields: &[(&str, &str)], mark: &str| {
        let fields: Vec<(&str, &str)> =
            [("cookie", cookie.as_str())].into_iter().chain(fields.iter().copied()).collect();
        site.answer(
            &request(HttpMethod::Post, "/do/accept", &fields, &[("form", mark), ("subject", "ZL2ABCDE")]),
            local(),
        )
    };
    assert_eq!(post(&[], "00").status, 403, "another form");
    assert_eq!(post(&[("origin", "http://evil.example")], &mark).status, 403);
    assert_eq!(post(&[("origin", "null")], &mark).status, 403);
    assert_eq!(post(&[("sec-fetch-site", "cross-site")], &mark).status, 403);
    assert_eq!(
        post(&[("origin", "null"), ("sec-fetch-site", "cross-site")], &mark).status,
        403,
        "a frame in a sandbox"
    );
    assert!(requests.lock().unwrap().is_empty());
    assert_eq!(post(&[("origin", "http://localhost:8600"), ("sec-fetch-site", "same-origin")], &mark).status, 303);
    assert_eq!(*requests.lock().unwrap(), [WatchRequest::Accept { subject: "ZL2ABCDE".into() }]);
    assert_eq!(post(&[("origin", "null"), ("sec-fetch-site", "same-origin")], &mark).status, 303, "as browsers say it");
    assert!(!text(&get(&site, "/", &[("cookie", &cookie), ("x-renew", "1")], local())).contains("role=\"status\""));
    let page = text(&get(&site, "/", &[("cookie", &cookie)], local()));
    assert!(page.contains("role=\"status\"") && !page.contains("<script>alert"), "what came of it is said");
    assert!(!text(&get(&site, "/", &[("cookie", &cookie)], local())).contains("role=\"status\""), "once");
}

/// The button leads back to its page, and nowhere else.
#[test]
fn a_scrub_that_sees_no_requests_of_others_says_so() {
    let (site, _) = site(true);
    let page = text(&get(&site, "/", &[], local()));
    assert!(page.contains("others cannot be seen here, nor spared"), "{page}");
    assert!(!page.contains("no other requests were seen"), "{page}");
}

#[test]
fn scrub_now_works_from_the_disk_page_and_the_front_page() {
    let (site, requests) = site(true);
    let cookie = logged_in(&site);
    let page = |path: &str, fields: &[(&str, &str)]| text(&get(&site, path, fields, local()));
    for path in ["/", "/d/ZL2ABCDE"] {
        assert!(page(path, &[]).contains("sudo scrubjay scrub-now ZL2ABCDE"), "{path}: the command is for everybody");
        assert!(!page(path, &[]).contains("/do/scrub-now"), "{path}: the button is not");
        assert!(page(path, &[("cookie", &cookie)]).contains("action=\"/do/scrub-now\""), "{path}");
    }
    let mark = form_mark(&page("/", &[("cookie", &cookie)]));
    let post = |subject: &str, back: &str| {
        let form = [("form", mark.as_str()), ("subject", subject), ("back", back)];
        let answer = site.answer(&request(HttpMethod::Post, "/do/scrub-now", &[("cookie", &cookie)], &form), local());
        let to = answer.fields.iter().find(|(name, _)| *name == "Location").map(|(_, to)| to.clone());
        (answer.status, to.unwrap_or_default())
    };
    assert_eq!(post("ZL2ABCDE", "disk"), (303, "/d/ZL2ABCDE".into()));
    assert_eq!(post("ZL2ABCDE", "front"), (303, "/".into()));
    assert_eq!(post("//evil.example", "disk"), (303, "/".into()));
    assert_eq!(post("", "disk").0, 400);
    let wanted = |subject: &str| WatchRequest::ScrubNow { subject: subject.into() };
    assert_eq!(*requests.lock().unwrap(), [wanted("ZL2ABCDE"), wanted("ZL2ABCDE"), wanted("//evil.example")]);
}

#[test]
fn the_actions_of_a_session_are_limited() {
    let (site, requests) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], local())));
    let post = || {
        site.answer(&request(HttpMethod::Post, "/do/resume", &[("cookie", &cookie)], &[("form", &mark)]), local())
            .status
    };
    let answers: Vec<u16> = (0..20).map(|_| post()).collect();
    assert!(answers.contains(&429) && answers[0] == 303, "{answers:?}");
    assert!(requests.lock().unwrap().len() <= ACTION_RATE.0 as usize);
}

/// An attacker on the same machine, or behind the same proxy, without the key.
#[test]
fn a_visitor_without_a_key_cannot_lock_the_owner_out() {
    let (site, _) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], local())));
    let link = site.access.link(now()).unwrap();
    let guess = |path: &str| match path.starts_with("/do") {
        true => {
            site.answer(&request(HttpMethod::Post, path, &[("cookie", "scrubjay=1.00")], &[("form", "00")]), local())
        }
        false => get(&site, path, &[], local()),
    };
    for path in ["/do/resume", "/login?until=1&once=0&mark=00"] {
        let answers: Vec<u16> = (0..50).map(|_| guess(path).status).collect();
        assert!(answers.contains(&403) || path == "/login?until=1&once=0&mark=00", "{answers:?}");
        assert_eq!(answers.last(), Some(&429), "guesses are counted: {answers:?}");
    }
    let resume = request(HttpMethod::Post, "/do/resume", &[("cookie", &cookie)], &[("form", &mark)]);
    assert_eq!(site.answer(&resume, local()).status, 303, "the owner acts");
    assert_eq!(get(&site, &link, &[], local()).status, 303, "and a link that is good opens a session");
    assert_eq!(get(&site, &link, &[], local()).status, 429, "once");
    let caller = |fields: &[(&str, &str)]| site.caller(&request(HttpMethod::Get, "/", fields, &[]), local());
    let bearer = format!("Bearer {}", site.access.read_key().unwrap());
    let callers = [caller(&[("cookie", &cookie)]), caller(&[("authorization", &bearer)]), caller(&[])];
    assert!(
        matches!(&callers, [HttpCaller::Known(one), HttpCaller::Known(other), HttpCaller::From(_)] if one != other)
    );
    assert_eq!(caller(&[("cookie", "scrubjay=9.00"), ("authorization", "Bearer 00")]), callers[2]);
}

#[test]
fn a_head_request_does_not_use_up_a_link() {
    let (site, _) = site(true);
    let link = site.access.link(now()).unwrap();
    assert_eq!(site.answer(&request(HttpMethod::Head, &link, &[], &[]), local()).status, 405);
    assert_eq!(get(&site, &link, &[], local()).status, 303);
}

#[test]
fn foreign_host_names_are_refused_and_remote_visitors_need_a_key() {
    let (site, _) = site(true);
    assert_eq!(get(&site, "/", &[("host", "evil.example")], local()).status, 421);
    assert_eq!(get(&site, "/", &[("host", "nas1")], local()).status, 200);
    for path in ["/", "/metrics", "/api/v1/summary", "/d/ZL2ABCDE", "/events"] {
        assert_eq!(get(&site, path, &[], remote()).status, 401, "{path}");
        assert_eq!(get(&site, path, &[("authorization", "Bearer 00")], remote()).status, 401, "{path}");
        let bearer = format!("Bearer {}", site.access.read_key().unwrap());
        assert_eq!(get(&site, path, &[("authorization", &bearer)], remote()).status, 200, "{path}");
    }
    assert_eq!(get(&site, "/healthz", &[], remote()).status, 200);
    let bearer = format!("Bearer {}", site.access.read_key().unwrap());
    let post = request(HttpMethod::Post, "/do/resume", &[("authorization", &bearer)], &[]);
    assert_eq!(site.answer(&post, remote()).status, 403, "a key to read does nothing");
}

#[test]
fn unknown_paths_are_not_found() {
    let (site, _) = site(true);
    for path in ["/..", "/../../etc/passwd", "/d/../../etc/passwd", "/d/", "/file/../x", "/do/pause", "//etc", "/d/no"]
    {
        assert_eq!(get(&site, path, &[], local()).status, 404, "{path}");
    }
    assert_eq!(site.answer(&request(HttpMethod::Post, "/", &[], &[]), local()).status, 404);
}

#[test]
fn without_the_watch_nothing_is_shown_as_good() {
    let (site, _) = site(false);
    let page = get(&site, "/", &[], local());
    assert_eq!(page.status, 503);
    assert!(text(&page).contains("it is not running") && !text(&page).contains("class=\"dot good\""));
    assert!(text(&get(&site, "/metrics", &[], local())).contains("scrubjay_watch_up 0"));
    assert!(text(&get(&site, "/api/v1/summary", &[], local())).contains("\"verdict\":\"unknown\""));
}
