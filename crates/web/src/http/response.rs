//! Responses, and the fields that all of them have.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// Bytes of a body from which on it is compressed.
const GZIP_MIN: usize = 700;

/// Fields of every answer: nothing is loaded from elsewhere, no frame contains the page, no other site gets its
/// address. Scripts and styles are files of this server; nothing is inline.
const COMMON_FIELDS: [(&str, &str); 7] = [
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
];

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    /// Its own fields.
    pub fields: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Does the connection become an event stream?
    pub is_stream: bool,
}

impl HttpResponse {
    /// A response with a text of this type.
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> HttpResponse {
        let fields = vec![("Content-Type", kind.to_owned())];
        HttpResponse { status, fields, body: body.into(), is_stream: false }.with("Cache-Control", "no-store")
    }

    /// A response with plain text.
    pub fn plain(status: u16, words: &str) -> HttpResponse {
        HttpResponse::new(status, "text/plain; charset=utf-8", format!("{words}\n"))
    }

    /// A redirection to another path of this server.
    pub fn redirect(path: &str) -> HttpResponse {
        HttpResponse::plain(303, "see elsewhere").with("Location", path)
    }

    /// A response that begins an event stream.
    pub fn stream() -> HttpResponse {
        HttpResponse { is_stream: true, ..HttpResponse::new(200, "text/event-stream", "") }
    }

    /// Sets a field, in place of one of the same name.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> HttpResponse {
        self.fields.retain(|(field, _)| *field != name);
        self.fields.push((name, value.into()));
        self
    }

    /// Writes the response; `accepts` is the client's list of encodings.
    ///
    /// # Errors
    /// The client does not take it.
    pub fn write(&self, accepts: &str, is_head: bool, is_kept_open: bool, out: &mut dyn Write) -> io::Result<()> {
        let compressed = self.compressed(accepts)?;
        let body = compressed.as_deref().unwrap_or(&self.body);
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let mut field = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            // Texts that others chose must not end a line.
            head.extend(value.chars().filter(|char| !char.is_control()));
            head.push_str("\r\n");
        };
        for (name, value) in &self.fields {
            field(name, value);
        }
        for (name, value) in COMMON_FIELDS {
            field(name, value);
        }
        field("Vary", "Accept-Encoding, Cookie");
        if compressed.is_some() {
            field("Content-Encoding", "gzip");
        }
        if !self.is_stream {
            field("Content-Length", &body.len().to_string());
        }
        field("Connection", if is_kept_open { "keep-alive" } else { "close" });
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(body);
        }
        out.write_all(&bytes)?;
        out.flush()
    }

    fn compressed(&self, accepts: &str) -> io::Result<Option<Vec<u8>>> {
        let accepts_gzip = accepts.split(',').any(|encoding| {
            let (name, quality) = encoding.split_once(';').unwrap_or((encoding, ""));
            name.trim().eq_ignore_ascii_case("gzip")
                && !matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
        });
        if !accepts_gzip || self.is_stream || self.body.len() < GZIP_MIN {
            return Ok(None);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.body)?;
        encoder.finish().map(Some)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn written(response: &HttpResponse, accepts: &str) -> Vec<u8> {
        let mut out = Vec::new();
        response.write(accepts, false, true, &mut out).unwrap();
        out
    }

    #[test]
    fn a_line_break_in_a_value_adds_no_field() {
        let split = HttpResponse::redirect("/d/a\r\nSet-Cookie: x=y");
        let text = String::from_utf8(written(&split, "")).unwrap();
        assert!(text.contains("Location: /d/aSet-Cookie: x=y\r\n"), "{text}");
        assert_eq!(text.matches("\r\nSet-Cookie").count(), 0);
    }

    #[test]
    fn long_bodies_are_compressed_for_clients_that_accept_gzip() {
        let long = HttpResponse::new(200, "text/html", "scrubjay ".repeat(1000));
        let bytes = written(&long, "br, gzip;q=0.8");
        let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&bytes[..at]).contains("Content-Encoding: gzip"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[at..]).read_to_string(&mut text).unwrap();
        assert_eq!(text.as_bytes(), long.body);
        for accepts in ["", "gzip;q=0", "br"] {
            assert!(written(&long, accepts).ends_with(&long.body), "{accepts}");
        }
    }
}
