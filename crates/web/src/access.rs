//! Access rights: on this machine everyone may read; acting, and reading from elsewhere, needs the key.
//!
//! The server remembers only the key, and for some minutes which links were used: links, sessions and forms carry
//! marks (HMAC-SHA-256) that only the key can make.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Seconds for which a printed link is valid.
pub const LINK_TIME: u64 = 600;
/// Seconds for which a session is valid.
pub const SESSION_TIME: u64 = 12 * 3600;
/// The name of the session's cookie.
const COOKIE: &str = "scrubjay";
/// Characters of a key: 32 bytes in hexadecimal.
const KEY_LENGTH: usize = 64;
/// Used links that are remembered while they would be valid; beyond that no link is accepted until some expire.
const USED_MAX: usize = 1024;

/// A valid session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSession {
    /// The mark that its forms carry.
    pub form_mark: String,
}

/// The access rights of the page.
#[derive(Debug)]
pub struct PageAccess {
    key: Option<hmac::Key>,
    /// Names of this page, in lower case, without a port.
    names: Vec<String>,
    /// Links from before this time are refused, because it is not known which of them were used. In seconds since 1970.
    links_since: u64,
    /// Used links: when each expires, and its mark.
    used: Mutex<Vec<(u64, String)>>,
}

/// Makes a new key.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn new_key() -> io::Result<String> {
    let mut bytes = [0; KEY_LENGTH / 2];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the kernel gave no random bytes"))?;
    Ok(hex(&bytes))
}

/// Is this text a key?
pub fn is_key(text: &str) -> bool {
    text.len() == KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl PageAccess {
    /// Access with this key, or without one: then no client may act. `names`: names of the page besides `localhost` and
    /// addresses.
    pub fn new(key: Option<&str>, names: &[String]) -> PageAccess {
        let key = key.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()));
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        PageAccess { key, names, links_since: 0, used: Mutex::default() }
    }

    /// Refuses links from before this time, the start of the process.
    pub fn since(self, now: u64) -> PageAccess {
        PageAccess { links_since: now, ..self }
    }

    /// Is there a key, so that a client may act?
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Is this a name of the page? A name that a foreign name server directs here (DNS rebinding) is not. An address
    /// is, because no name server is involved.
    pub fn is_own_name(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if let Some((inside, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return inside.parse::<std::net::Ipv6Addr>().is_ok();
        }
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        name == "localhost" || name.parse::<IpAddr>().is_ok() || self.names.iter().any(|own| own == name)
    }

    /// The path of a link that opens a session, once, within [`LINK_TIME`] from `now` on.
    pub fn link(&self, now: u64) -> Option<String> {
        let until = now + LINK_TIME;
        // Two links of the same second must differ.
        let once = &new_key().ok()?[..16];
        let mark = self.mark("link", &format!("{until}.{once}"))?;
        Some(format!("/login?until={until}&once={once}&mark={mark}"))
    }

    /// The token for reading `/metrics` and `/api` from elsewhere: `Authorization: Bearer ...`. It permits no actions.
    pub fn read_key(&self) -> Option<String> {
        self.mark("read", "")
    }

    /// Does this header carry the token?
    pub fn may_read(&self, authorization: Option<&str>) -> bool {
        authorization.and_then(|text| text.strip_prefix("Bearer ")).is_some_and(|mark| self.is_mark("read", "", mark))
    }

    /// The cookie of a new session, if the link is valid; `link` returns its values by name. The link is used up.
    pub fn log_in<'l>(&self, link: impl Fn(&str) -> Option<&'l str>, now: u64, is_encrypted: bool) -> Option<String> {
        let (until, once, mark) = (link("until")?, link("once")?, link("mark")?);
        if !self.is_mark("link", &format!("{until}.{once}"), mark) {
            return None;
        }
        let until = until.parse::<u64>().ok()?;
        let is_in_time = (now..=now + LINK_TIME).contains(&until) && until >= self.links_since + LINK_TIME;
        if !is_in_time || !self.use_up(until, mark, now) {
            return None;
        }
        let ends = now + SESSION_TIME;
        let mark = self.mark("session", &ends.to_string())?;
        let secure = if is_encrypted { "; Secure" } else { "" };
        Some(format!("{COOKIE}={ends}.{mark}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_TIME}{secure}"))
    }

    /// Marks a link as used; false: it was used before, or too many are remembered.
    fn use_up(&self, until: u64, mark: &str, now: u64) -> bool {
        let mark = mark.to_ascii_lowercase();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|(until, _)| *until >= now);
        let is_new = used.len() < USED_MAX && used.iter().all(|(_, known)| *known != mark);
        if is_new {
            used.push((until, mark));
        }
        is_new
    }

    /// The cookie that ends a session.
    pub fn log_out() -> String {
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The session of these cookies, if it is valid.
    pub fn session(&self, cookies: Option<&str>, now: u64) -> Option<PageSession> {
        let value = |cookie: &str| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('=').map(str::to_owned);
        let cookie = cookies?.split(';').find_map(value)?;
        let (ends, mark) = cookie.split_once('.')?;
        let is_in_time = ends.parse::<u64>().is_ok_and(|ends| (now..=now + SESSION_TIME).contains(&ends));
        if !is_in_time || !self.is_mark("session", ends, mark) {
            return None;
        }
        Some(PageSession { form_mark: self.mark("form", mark)? })
    }

    fn mark(&self, purpose: &str, content: &str) -> Option<String> {
        Some(hex(hmac::sign(self.key.as_ref()?, format!("{purpose}:{content}").as_bytes()).as_ref()))
    }

    /// Compares a mark in constant time.
    fn is_mark(&self, purpose: &str, content: &str, mark: &str) -> bool {
        let Some((key, bytes)) = self.key.as_ref().zip(unhex(mark)) else { return false };
        hmac::verify(key, format!("{purpose}:{content}").as_bytes(), &bytes).is_ok()
    }
}

impl PageSession {
    /// Was the form with this mark made for this session?
    pub fn is_form(&self, mark: Option<&str>) -> bool {
        mark.is_some_and(|mark| {
            let (given, expected) = (mark.as_bytes(), self.form_mark.as_bytes());
            given.len() == expected.len()
                && given.iter().zip(expected).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() != KEY_LENGTH || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_773_320_400;

    fn access() -> PageAccess {
        PageAccess::new(Some(&"ab".repeat(32)), &["NAS1".to_owned()])
    }

    /// The value of the cookie that a new link gives.
    fn cookie(access: &PageAccess, at: u64) -> Option<String> {
        follow(access, &access.link(NOW)?, at)
    }

    fn follow(access: &PageAccess, link: &str, at: u64) -> Option<String> {
        let pairs: Vec<(&str, &str)> =
            link.strip_prefix("/login?")?.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let value = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let cookie = access.log_in(value, at, false)?;
        assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Secure"));
        Some(cookie.split(';').next()?.to_owned())
    }

    #[test]
    fn a_link_opens_a_session_for_a_while() {
        let access = access();
        let cookie = cookie(&access, NOW + 5).unwrap();
        assert!(super::tests::cookie(&access, NOW + LINK_TIME + 1).is_none(), "a link ends");
        let session = access.session(Some(&format!("other=1; {cookie}")), NOW + 60).unwrap();
        assert!(session.is_form(Some(&session.form_mark)) && !session.is_form(Some("")) && !session.is_form(None));
        assert!(access.session(Some(&cookie), NOW + SESSION_TIME + 6).is_none(), "a session ends");
        let other = PageAccess::new(Some(&"cd".repeat(32)), &[]);
        assert!(other.session(Some(&cookie), NOW + 60).is_none(), "with another key it is none");
        assert!(PageAccess::new(None, &[]).session(Some(&cookie), NOW + 60).is_none());
    }

    #[test]
    fn a_link_is_good_once_and_those_from_before_a_restart_are_not() {
        let access = access();
        let (link, other) = (access.link(NOW).unwrap(), access.link(NOW).unwrap());
        assert!(follow(&access, &link, NOW + 1).is_some() && follow(&access, &link, NOW + 2).is_none());
        assert!(
            follow(
                &access,
                &link
                    .to_uppercase()
                    .replace("/LOGIN?UNTIL", "/login?until")
                    .replace("ONCE", "once")
                    .replace("MARK", "mark"),
                NOW + 2
            )
            .is_none()
        );
        assert!(follow(&access, &other, NOW + 2).is_some(), "another one of the same second is another one");
        let changed = other.replacen("once=", "once=0", 1);
        assert!(follow(&access, &changed, NOW + 2).is_none());
        let restarted = self::access().since(NOW + 3);
        assert!(follow(&restarted, &link, NOW + 4).is_none(), "nobody knows there that it was used");
        assert!(follow(&restarted, &restarted.link(NOW + 3).unwrap(), NOW + 4).is_some());
        for _ in 0..USED_MAX + 5 {
            let _ = cookie(&access, NOW + 5);
        }
        assert!(access.used.lock().unwrap().len() <= USED_MAX && cookie(&access, NOW + 6).is_none());
        assert!(follow(&access, &access.link(NOW + 700).unwrap(), NOW + 700).is_some(), "later there is room again");
    }

    #[test]
    fn changed_cookies_and_foreign_marks_open_no_session() {
        let access = access();
        let cookie = cookie(&access, NOW).unwrap();
        for (from, to) in [("=1", "=2"), (".", ".0"), (".", ""), (".", ".é")] {
            assert!(access.session(Some(&cookie.replacen(from, to, 1)), NOW).is_none(), "{from} {to}");
        }
        let read = access.read_key().unwrap();
        assert!(access.may_read(Some(&format!("Bearer {read}"))) && !access.may_read(Some(&read)));
        assert!(
            access.session(Some(&format!("scrubjay={}.{read}", NOW + 5)), NOW).is_none(),
            "a key to read is no session"
        );
    }

    #[test]
    fn only_names_of_the_page_and_addresses_are_accepted() {
        let access = access();
        for host in ["localhost", "LOCALHOST:8600", "127.0.0.1:8600", "[::1]:8600", "192.168.1.2", "nas1:8600", "Nas1"]
        {
            assert!(access.is_own_name(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "nas1.evil.example:8600", "", "[evil]", "127.0.0.1.evil"]
        {
            assert!(!access.is_own_name(host), "{host}");
        }
    }

    #[test]
    fn no_key_is_made_twice() {
        let (first, second) = (new_key().unwrap(), new_key().unwrap());
        assert!(
            is_key(&first)
                && first != second
                && !is_key(&first[1..])
                && !is_key(&first.replace(char::is_alphanumeric, "x"))
        );
    }
}
