//! Who may use the site, and that texts of others are shown safely.

use super::*;
use crate::feed::AskWatch;
use scrubjay_jobs::control::{IncidentEntry, LightEntry, ReadingEntry};

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
        health: "replace".into(),
        reasons: vec![EVIL.into()],
        reading: ReadingEntry { activity: "held".into(), ..ReadingEntry::default() },
        ..DiskEntry::default()
    };
    let incident = |kind: &str, urgency: &str| IncidentEntry {
        subject: "ZL2ABCDE".into(),
        kind: kind.into(),
        urgency: urgency.into(),
        headline: format!("{urgency} {EVIL}"),
        since: 5,
        is_accepted: false,
    };
    WatchDocument {
        host: "nas1".into(),
        time: 1_773_320_400,
        verdict: "replace".into(),
        sentence: format!("1 problem: {EVIL}"),
        lights: vec![LightEntry { name: "Disks".into(), colour: "green".into(), words: EVIL.into() }],
        to_do: vec![format!("replace {EVIL}"), format!("notice {EVIL}")],
        disks: vec![disk],
        incidents: vec![incident("health", "replace"), incident("unread", "notice")],
        ..WatchDocument::default()
    }
}

/// A site with such a daemon, which records the actions that it was asked for.
fn site(is_running: bool) -> (WatchSite, Arc<Mutex<Vec<WatchRequest>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&asked);
    let ask: AskWatch = Box::new(move |request| match request {
        _ if !is_running => Err("it is not running".into()),
        WatchRequest::Status => Ok(WatchAnswer::Status(Box::new(status()))),
        WatchRequest::Past { .. } | WatchRequest::PastOfDisk { .. } => Ok(WatchAnswer::Past(Box::default())),
        request => {
            note.lock().unwrap().push(request.clone());
            Ok(WatchAnswer::Done { said: EVIL.into() })
        }
    });
    let feed = PictureFeed::new(ask);
    feed.look();
    (WatchSite::new(feed, PageAccess::new(Some(KEY), &["nas1".into()])), asked)
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
    HttpRequest { method, path: path.into(), query, fields, form: owned(form), is_kept: true }
}

fn here() -> HttpPeer {
    HttpPeer { address: [127, 0, 0, 1].into(), is_encrypted: false }
}

fn there() -> HttpPeer {
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
    let response = get(site, &site.access.link(now()).unwrap(), &[], here());
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
fn what_a_disk_calls_itself_is_text_everywhere() {
    let (site, _) = site(true);
    let cookie = logged_in(&site);
    for path in ["/", "/d/ZL2ABCDE", "/api/v1/summary", "/metrics"] {
        let shown = text(&get(&site, path, &[("cookie", &cookie)], here()));
        assert!(shown.contains("alert(1)"), "{path} shows it: {shown}");
        assert!(!shown.contains('\u{1b}'), "{path}");
        if path.starts_with("/d") || path == "/" {
            assert!(!shown.contains("<script>alert") && !shown.contains("style="), "{path}: {shown}");
        }
    }
}

#[test]
fn who_has_no_key_looks_and_does_nothing() {
    let (site, asked) = site(true);
    for path in ["/do/pause", "/do/resume", "/do/accept", "/do/scrub-now", "/do/test", "/do/confirm"] {
        let post = request(HttpMethod::Post, path, &[], &[("seconds", "60"), ("subject", "sda"), ("code", "004711")]);
        assert_eq!(site.answer(&post, here()).status, 403, "{path}");
    }
    assert!(asked.lock().unwrap().is_empty());
    let page = get(&site, "/", &[], here());
    assert_eq!((page.status, text(&page).contains("<form")), (200, text(&page).contains("method=\"dialog\"")));
    assert!(!text(&page).contains("/do/"), "no button for whom it would not work");
    assert_eq!(get(&site, "/login?until=1&mark=00", &[], here()).status, 403);
}

#[test]
fn a_session_acts_by_its_own_forms_only() {
    let (site, asked) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], here())));
    let post = |fields: &[(&str, &str)], mark: &str| {
        let fields: Vec<(&str, &str)> =
            [("cookie", cookie.as_str())].into_iter().chain(fields.iter().copied()).collect();
        site.answer(
            &request(HttpMethod::Post, "/do/accept", &fields, &[("form", mark), ("subject", "ZL2ABCDE")]),
            here(),
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
    assert!(asked.lock().unwrap().is_empty());
    assert_eq!(post(&[("origin", "http://localhost:8600"), ("sec-fetch-site", "same-origin")], &mark).status, 303);
    assert_eq!(*asked.lock().unwrap(), [WatchRequest::Accept { subject: "ZL2ABCDE".into() }]);
    assert_eq!(post(&[("origin", "null"), ("sec-fetch-site", "same-origin")], &mark).status, 303, "as browsers say it");
    assert!(!text(&get(&site, "/", &[("cookie", &cookie), ("x-renew", "1")], here())).contains("role=\"status\""));
    let page = text(&get(&site, "/", &[("cookie", &cookie)], here()));
    assert!(page.contains("role=\"status\"") && !page.contains("<script>alert"), "what came of it is said");
    assert!(!text(&get(&site, "/", &[("cookie", &cookie)], here())).contains("role=\"status\""), "once");
}

/// The button leads back to its page, and nowhere else.
#[test]
fn scrub_now_is_asked_for_from_the_disk_page_and_from_what_to_do() {
    let (site, asked) = site(true);
    let cookie = logged_in(&site);
    let page = |path: &str, fields: &[(&str, &str)]| text(&get(&site, path, fields, here()));
    for path in ["/", "/d/ZL2ABCDE"] {
        assert!(page(path, &[]).contains("sudo scrubjay scrub-now ZL2ABCDE"), "{path}: the command is for everybody");
        assert!(!page(path, &[]).contains("/do/scrub-now"), "{path}: the button is not");
        assert!(page(path, &[("cookie", &cookie)]).contains("action=\"/do/scrub-now\""), "{path}");
    }
    let mark = form_mark(&page("/", &[("cookie", &cookie)]));
    let post = |subject: &str, back: &str| {
        let form = [("form", mark.as_str()), ("subject", subject), ("back", back)];
        let answer = site.answer(&request(HttpMethod::Post, "/do/scrub-now", &[("cookie", &cookie)], &form), here());
        let to = answer.fields.iter().find(|(name, _)| *name == "Location").map(|(_, to)| to.clone());
        (answer.status, to.unwrap_or_default())
    };
    assert_eq!(post("ZL2ABCDE", "disk"), (303, "/d/ZL2ABCDE".into()));
    assert_eq!(post("ZL2ABCDE", "front"), (303, "/".into()));
    assert_eq!(post("//evil.example", "disk"), (303, "/".into()));
    assert_eq!(post("", "disk").0, 400);
    let wanted = |subject: &str| WatchRequest::ScrubNow { subject: subject.into() };
    assert_eq!(*asked.lock().unwrap(), [wanted("ZL2ABCDE"), wanted("ZL2ABCDE"), wanted("//evil.example")]);
}

#[test]
fn nobody_acts_all_the_time() {
    let (site, asked) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], here())));
    let post = || {
        site.answer(&request(HttpMethod::Post, "/do/resume", &[("cookie", &cookie)], &[("form", &mark)]), here()).status
    };
    let answers: Vec<u16> = (0..20).map(|_| post()).collect();
    assert!(answers.contains(&429) && answers[0] == 303, "{answers:?}");
    assert!(asked.lock().unwrap().len() <= ACTS.0 as usize);
}

/// An attacker on the same machine, or behind the same proxy, without the key.
#[test]
fn who_has_no_key_locks_no_owner_out() {
    let (site, _) = site(true);
    let cookie = logged_in(&site);
    let mark = form_mark(&text(&get(&site, "/", &[("cookie", &cookie)], here())));
    let link = site.access.link(now()).unwrap();
    let guess = |path: &str| match path.starts_with("/do") {
        true => {
            site.answer(&request(HttpMethod::Post, path, &[("cookie", "scrubjay=1.00")], &[("form", "00")]), here())
        }
        false => get(&site, path, &[], here()),
    };
    for path in ["/do/resume", "/login?until=1&once=0&mark=00"] {
        let answers: Vec<u16> = (0..50).map(|_| guess(path).status).collect();
        assert!(answers.contains(&403) || path == "/login?until=1&once=0&mark=00", "{answers:?}");
        assert_eq!(answers.last(), Some(&429), "guesses are counted: {answers:?}");
    }
    let resume = request(HttpMethod::Post, "/do/resume", &[("cookie", &cookie)], &[("form", &mark)]);
    assert_eq!(site.answer(&resume, here()).status, 303, "the owner acts");
    assert_eq!(get(&site, &link, &[], here()).status, 303, "and a link that is good opens a session");
    assert_eq!(get(&site, &link, &[], here()).status, 429, "once");
    let caller = |fields: &[(&str, &str)]| site.caller(&request(HttpMethod::Get, "/", fields, &[]), here());
    let bearer = format!("Bearer {}", site.access.read_key().unwrap());
    let callers = [caller(&[("cookie", &cookie)]), caller(&[("authorization", &bearer)]), caller(&[])];
    assert!(
        matches!(&callers, [HttpCaller::Known(one), HttpCaller::Known(other), HttpCaller::From(_)] if one != other)
    );
    assert_eq!(caller(&[("cookie", "scrubjay=9.00"), ("authorization", "Bearer 00")]), callers[2]);
}

#[test]
fn whoever_only_looks_at_a_link_does_not_use_it_up() {
    let (site, _) = site(true);
    let link = site.access.link(now()).unwrap();
    assert_eq!(site.answer(&request(HttpMethod::Head, &link, &[], &[]), here()).status, 405);
    assert_eq!(get(&site, &link, &[], here()).status, 303);
}

#[test]
fn another_name_is_not_ours_and_from_elsewhere_it_takes_a_key() {
    let (site, _) = site(true);
    assert_eq!(get(&site, "/", &[("host", "evil.example")], here()).status, 421);
    assert_eq!(get(&site, "/", &[("host", "nas1")], here()).status, 200);
    for path in ["/", "/metrics", "/api/v1/summary", "/d/ZL2ABCDE", "/events"] {
        assert_eq!(get(&site, path, &[], there()).status, 401, "{path}");
        assert_eq!(get(&site, path, &[("authorization", "Bearer 00")], there()).status, 401, "{path}");
        let bearer = format!("Bearer {}", site.access.read_key().unwrap());
        assert_eq!(get(&site, path, &[("authorization", &bearer)], there()).status, 200, "{path}");
    }
    assert_eq!(get(&site, "/healthz", &[], there()).status, 200);
    let bearer = format!("Bearer {}", site.access.read_key().unwrap());
    let post = request(HttpMethod::Post, "/do/resume", &[("authorization", &bearer)], &[]);
    assert_eq!(site.answer(&post, there()).status, 403, "a key to read does nothing");
}

#[test]
fn there_is_nothing_but_what_there_is() {
    let (site, _) = site(true);
    for path in ["/..", "/../../etc/passwd", "/d/../../etc/passwd", "/d/", "/file/../x", "/do/pause", "//etc", "/d/no"]
    {
        assert_eq!(get(&site, path, &[], here()).status, 404, "{path}");
    }
    assert_eq!(site.answer(&request(HttpMethod::Post, "/", &[], &[]), here()).status, 404);
}

#[test]
fn without_the_watch_nothing_is_well() {
    let (site, _) = site(false);
    let page = get(&site, "/", &[], here());
    assert_eq!(page.status, 503);
    assert!(text(&page).contains("it is not running") && !text(&page).contains("class=\"dot good\""));
    assert!(text(&get(&site, "/metrics", &[], here())).contains("scrubjay_watch_up 0"));
    assert!(text(&get(&site, "/api/v1/summary", &[], here())).contains("\"verdict\":\"unknown\""));
}
