//! Who may do what: reading is for whoever can reach the page on this machine; acting, and reading from elsewhere, is for who has the
//! key. Nothing is remembered but the key: links, sessions and forms carry marks (HMAC-SHA-256) that only it can make.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;

/// A link that was printed is good for so long, in seconds.
pub const LINK_TIME: u64 = 600;
/// A session is good for so long.
pub const SESSION_TIME: u64 = 12 * 3600;
/// The name of its cookie.
const COOKIE: &str = "scrubjay";
/// Characters of a key: 32 bytes in hexadecimal.
const KEY_LENGTH: usize = 64;

/// A session that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSession {
    /// Forms of it carry this.
    pub form_mark: String,
}

/// Who may do what.
#[derive(Debug)]
pub struct PageAccess {
    key: Option<hmac::Key>,
    /// Names that this page has, in lower case, without a port.
    names: Vec<String>,
}

/// A new key.
///
/// # Errors
/// The kernel gives no chance.
pub fn new_key() -> io::Result<String> {
    let mut bytes = [0; KEY_LENGTH / 2];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the kernel gives no chance"))?;
    Ok(hex(&bytes))
}

/// Is this text a key?
pub fn is_key(text: &str) -> bool {
    text.len() == KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl PageAccess {
    /// With this key, or without: then nobody may act. `names` are what the page may be called besides `localhost` and addresses.
    pub fn new(key: Option<&str>, names: &[String]) -> PageAccess {
        let key = key.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()));
        PageAccess { key, names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Can anybody act at all?
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Is this page called so? A name that somebody else's name server turned to us (DNS rebinding) is not ours. An address is: it
    /// takes no name server to reach it.
    pub fn is_ours(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if let Some((inside, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return inside.parse::<std::net::Ipv6Addr>().is_ok();
        }
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        name == "localhost" || name.parse::<IpAddr>().is_ok() || self.names.iter().any(|ours| ours == name)
    }

    /// The path of a link that opens a session, for some minutes from `now` on.
    pub fn link(&self, now: u64) -> Option<String> {
        let until = now + LINK_TIME;
        Some(format!("/login?until={until}&mark={}", self.mark("link", &until.to_string())?))
    }

    /// What `/metrics` and `/api` are read with from elsewhere: `Authorization: Bearer ...`. Nobody can act with it.
    pub fn read_key(&self) -> Option<String> {
        self.mark("read", "")
    }

    /// Is it that?
    pub fn may_read(&self, authorization: Option<&str>) -> bool {
        authorization.and_then(|text| text.strip_prefix("Bearer ")).is_some_and(|mark| self.is_mark("read", "", mark))
    }

    /// The cookie of a new session, if the link is good.
    pub fn log_in(&self, until: Option<&str>, mark: Option<&str>, now: u64, is_encrypted: bool) -> Option<String> {
        let (until, mark) = (until?, mark?);
        let is_in_time = until.parse::<u64>().is_ok_and(|until| (now..=now + LINK_TIME).contains(&until));
        if !is_in_time || !self.is_mark("link", until, mark) {
            return None;
        }
        let ends = now + SESSION_TIME;
        let mark = self.mark("session", &ends.to_string())?;
        let secure = if is_encrypted { "; Secure" } else { "" };
        Some(format!("{COOKIE}={ends}.{mark}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_TIME}{secure}"))
    }

    /// The cookie that ends a session.
    pub fn log_out() -> String {
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The session that these cookies are of, if it is good.
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

    fn mark(&self, purpose: &str, of: &str) -> Option<String> {
        Some(hex(hmac::sign(self.key.as_ref()?, format!("{purpose}:{of}").as_bytes()).as_ref()))
    }

    /// Compares in a time that tells nothing.
    fn is_mark(&self, purpose: &str, of: &str, mark: &str) -> bool {
        let Some((key, bytes)) = self.key.as_ref().zip(unhex(mark)) else { return false };
        hmac::verify(key, format!("{purpose}:{of}").as_bytes(), &bytes).is_ok()
    }
}

impl PageSession {
    /// Was this form made for this session?
    pub fn is_form(&self, mark: Option<&str>) -> bool {
        mark.is_some_and(|mark| {
            let (one, other) = (mark.as_bytes(), self.form_mark.as_bytes());
            one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
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

    /// The value of the cookie that a link gives.
    fn cookie(access: &PageAccess, at: u64) -> Option<String> {
        let link = access.link(NOW)?;
        let (until, mark) = link.strip_prefix("/login?until=")?.split_once("&mark=")?;
        let cookie = access.log_in(Some(until), Some(mark), at, false)?;
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
    fn what_was_changed_is_no_mark() {
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
    fn only_our_names_are_ours() {
        let access = access();
        for host in ["localhost", "LOCALHOST:8600", "127.0.0.1:8600", "[::1]:8600", "192.168.1.2", "nas1:8600", "Nas1"]
        {
            assert!(access.is_ours(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "nas1.evil.example:8600", "", "[evil]", "127.0.0.1.evil"]
        {
            assert!(!access.is_ours(host), "{host}");
        }
    }

    #[test]
    fn no_key_is_made_twice() {
        let (one, other) = (new_key().unwrap(), new_key().unwrap());
        assert!(
            is_key(&one) && one != other && !is_key(&one[1..]) && !is_key(&one.replace(char::is_alphanumeric, "x"))
        );
    }
}
