//! Requests: reads them from a connection, and refuses malformed ones.

use super::stream::TimedStream;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Bytes of a head, at most; it includes the cookies of other services under this host's name.
pub const HEAD_MAX: usize = 16 << 10;
/// Fields of a head, at most.
const FIELDS_MAX: usize = 64;
/// Bytes of a form, at most.
pub const BODY_MAX: usize = 4 << 10;
/// The time within which a head, or a form, must arrive completely.
pub const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Read.
    Get,
    /// Read the head only.
    Head,
    /// Act.
    Post,
}

/// A well-formed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Its method.
    pub method: HttpMethod,
    /// The path, decoded; begins with `/`.
    pub path: String,
    /// The query behind `?`, as decoded pairs.
    pub query: Vec<(String, String)>,
    /// The fields of the head, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The form, as decoded pairs.
    pub form: Vec<(String, String)>,
    /// Does the client keep the connection open for more requests?
    pub is_kept_open: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub enum RequestError {
    /// The client is gone, or silent: the connection is closed without an answer.
    Gone,
    /// The request is answered with this status and text, and the connection is closed.
    Refused(u16, &'static str),
}

impl HttpRequest {
    /// A field of the head, if it occurs once. One that occurs twice counts as absent, because proxies might use the
    /// other one.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(field, _)| field == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// A value of the query.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// A value of the form.
    pub fn form_value(&self, name: &str) -> Option<&str> {
        value(&self.form, name)
    }
}

fn value<'p>(pairs: &'p [(String, String)], name: &str) -> Option<&'p str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Reads the next request; `rest` has what was read beyond the one before. A client that sends nothing for `idle` is gone.
///
/// # Errors
/// There is no request, or it is refused.
pub fn read(stream: &mut dyn TimedStream, rest: &mut Vec<u8>, idle: Duration) -> Result<HttpRequest, RequestError> {
    let mut until = Instant::now() + idle;
    if !rest.is_empty() {
        until = Instant::now() + REQUEST_TIME;
    }
    // What was looked at is not looked at again, however few bytes come at a time.
    let mut seen = 0;
    let length = loop {
        if let Some(length) = end_of_head(rest, seen) {
            break length;
        }
        seen = rest.len();
        if rest.len() >= HEAD_MAX {
            return Err(RequestError::Refused(431, "the head of the request is too long"));
        }
        let was_empty = rest.is_empty();
        read_more(stream, rest, until)?;
        if was_empty {
            until = Instant::now() + REQUEST_TIME;
        }
    };
    let mut request = parse(&rest[..length])?;
    rest.drain(..length);
    let body = match body_length(&request)? {
        0 => Vec::new(),
        wanted => {
            let until = Instant::now() + REQUEST_TIME;
            while rest.len() < wanted {
                read_more(stream, rest, until)?;
            }
            rest.drain(..wanted).collect()
        }
    };
    if request.method == HttpMethod::Post {
        let is_form = |kind: &str| kind.split(';').next() == Some("application/x-www-form-urlencoded");
        if !request.field("content-type").is_some_and(is_form) {
            return Err(RequestError::Refused(415, "only forms are taken"));
        }
        request.form = pairs(&String::from_utf8_lossy(&body));
    }
    Ok(request)
}

/// The end of the head, the empty line included, where it does not end in the first `seen` bytes.
fn end_of_head(bytes: &[u8], seen: usize) -> Option<usize> {
    let from = seen.saturating_sub(3);
    bytes[from..].windows(4).position(|four| four == b"\r\n\r\n").map(|at| from + at + 4)
}

fn read_more(stream: &mut dyn TimedStream, into: &mut Vec<u8>, until: Instant) -> Result<(), RequestError> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(if into.is_empty() { RequestError::Gone } else { RequestError::Refused(408, "too slow") });
    }
    stream.time_reads(left).map_err(|_| RequestError::Gone)?;
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer) {
        Ok(0) => Err(RequestError::Gone),
        Ok(length) => {
            into.extend_from_slice(&buffer[..length]);
            Ok(())
        }
        Err(error) if is_slow(&error) => Ok(()), // the next check of the time ends it
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        Err(_) => Err(RequestError::Gone),
    }
}

/// Is this error a time-out?
pub fn is_slow(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn parse(head: &[u8]) -> Result<HttpRequest, RequestError> {
    let refused = |reason| Err(RequestError::Refused(400, reason));
    // A proxy in between might take other line ends for the end of a request.
    if head.iter().enumerate().any(|(at, byte)| *byte == b'\n' && (at == 0 || head[at - 1] != b'\r')) {
        return refused("a line of the head ends without CR");
    }
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(RequestError::Refused(431, "the head of the request has too many fields"));
        }
        _ => return refused("that is no request"),
    }
    let method = match parsed.method {
        Some("GET") => HttpMethod::Get,
        Some("HEAD") => HttpMethod::Head,
        Some("POST") => HttpMethod::Post,
        _ => return Err(RequestError::Refused(405, "only GET, HEAD and POST are answered")),
    };
    let target = parsed.path.unwrap_or_default();
    if !target.starts_with('/') {
        return refused("the target is no path");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Some(path) = decoded(path, false) else { return refused("the path is no text") };
    let field = |header: &httparse::Header| {
        let value = String::from_utf8_lossy(header.value).trim().to_owned();
        (header.name.to_ascii_lowercase(), value)
    };
    let fields: Vec<(String, String)> = parsed.headers.iter().map(field).collect();
    let mut request = HttpRequest { method, path, query: pairs(query), fields, form: Vec::new(), is_kept_open: true };
    let wants_close = request.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    request.is_kept_open = parsed.version == Some(1) && !wants_close;
    if request.field("host").is_none() {
        return refused("there must be one Host");
    }
    Ok(request)
}

/// The length of the body: that of a form as announced; other requests have none.
fn body_length(request: &HttpRequest) -> Result<usize, RequestError> {
    let count = |name: &str| request.fields.iter().filter(|(field, _)| field == name).count();
    // What is refused cannot be interpreted in two ways.
    if count("transfer-encoding") > 0 || count("expect") > 0 || count("content-length") > 1 {
        return Err(RequestError::Refused(400, "only bodies of a length that is said once are taken"));
    }
    let length = match request.field("content-length") {
        None => 0,
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().unwrap_or(usize::MAX),
        Some(_) => return Err(RequestError::Refused(400, "the length is no number")),
    };
    match request.method {
        _ if length > BODY_MAX => Err(RequestError::Refused(413, "the form is too long")),
        HttpMethod::Post => Ok(length),
        _ if length > 0 => Err(RequestError::Refused(400, "a look has no body")),
        _ => Ok(0),
    }
}

/// Decodes pairs such as `a=b&c=d`; values that are no text are left out.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(key, true)?, decoded(value, true)?))
    };
    text.split('&').filter(|pair| !pair.is_empty()).filter_map(pair).collect()
}

/// Decodes `%41` to `A`, and in forms `+` to a space. `None`: it is not UTF-8, or a `%` is followed by no number.
fn decoded(text: &str, is_form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits =
                    std::str::from_utf8(&digits).ok().filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()))?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
            b'+' if is_form => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Encodes a text as a part of a path or query.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn lines_of_a_head_end_with_cr_lf_and_a_head_ends_once() {
        for head in
            ["GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n"]
        {
            assert!(matches!(parse(head.as_bytes()), Err(RequestError::Refused(400, _))), "{head:?}");
        }
        let two = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n";
        assert!(matches!(parse(two), Err(RequestError::Refused(400, _))), "a head ends once");
        assert!(parse(&two[..27]).is_ok());
    }

    /// A client that sends these pieces, and nothing more.
    struct Sent(Vec<Vec<u8>>);

    impl Read for Sent {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(first) = self.0.first_mut() else { return Ok(0) };
            let length = first.len().min(into.len());
            into[..length].copy_from_slice(&first[..length]);
            first.drain(..length);
            if first.is_empty() {
                self.0.remove(0);
            }
            Ok(length)
        }
    }

    impl io::Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl TimedStream for Sent {
        fn time_reads(&mut self, _: Duration) -> io::Result<()> {
            Ok(())
        }

        fn time_writes(&mut self, _: Duration) {}
    }

    fn parsed_request(text: &str) -> Result<HttpRequest, RequestError> {
        read(&mut Sent(text.bytes().map(|byte| vec![byte]).collect()), &mut Vec::new(), REQUEST_TIME)
    }

    fn status(text: &str) -> u16 {
        match parsed_request(text) {
            Err(RequestError::Refused(status, _)) => status,
            Err(RequestError::Gone) => 0,
            Ok(_) => 200,
        }
    }

    #[test]
    fn a_request_is_parsed_and_the_bytes_of_the_next_one_are_kept() {
        let bytes = b"GET /d/ZL2%20x?a=1&b=%3Cx+y%3E HTTP/1.1\r\nHost: nas1\r\nCookie: a\r\n\r\nGET /next".to_vec();
        let mut rest = Vec::new();
        let request = read(&mut Sent(vec![bytes]), &mut rest, REQUEST_TIME).unwrap();
        assert_eq!((request.method, request.path.as_str()), (HttpMethod::Get, "/d/ZL2 x"));
        assert_eq!(
            (request.query_value("a"), request.query_value("b"), request.query_value("c")),
            (Some("1"), Some("<x y>"), None)
        );
        assert_eq!((request.field("host"), request.is_kept_open), (Some("nas1"), true));
        assert_eq!(rest, b"GET /next");
        let form = "POST /do/accept HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                    Content-Length: 11\r\n\r\nsubject=sda";
        assert_eq!(parsed_request(form).unwrap().form_value("subject"), Some("sda"));
    }

    #[test]
    fn malformed_and_ambiguous_requests_are_refused() {
        let get = |fields: &str| format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
        for (text, expected) in [
            (get("Host: a"), 200),
            (get("Accept: b"), 400),
            (get("Host: a\r\nHost: b"), 400),
            (get("Host: a\r\nTransfer-Encoding: chunked"), 400),
            (get("Host: a\r\nContent-Length: 1\r\nContent-Length: 1"), 400),
            (get("Host: a\r\nContent-Length: 5"), 400),
            (get(&format!("Host: a\r\nX: {}", "x".repeat(HEAD_MAX))), 431),
            (get(&format!("Host: a{}", "\r\nX: y".repeat(FIELDS_MAX))), 431),
            ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n".into(), 405),
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
            ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
            ("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n".into(), 400),
            ("\u{16}\u{3}\u{1}\r\n\r\n".into(), 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".into(), 415),
            (format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1), 413),
            ("GET / HTTP/1.1\r\nHost: a\r\n".into(), 0),
        ] {
            assert_eq!(status(&text), expected, "{text}");
        }
    }

    #[test]
    fn encoded_names_are_decoded_unchanged() {
        for name in ["at usb-1", "<script>", "../../etc/passwd", "ä/%"] {
            assert_eq!(decoded(&encoded(name), false).as_deref(), Some(name));
        }
    }
}
