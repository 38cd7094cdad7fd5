//! The static files of the pages: they are part of the program, and named by their content.

use crate::http::response::HttpResponse;
use scrubjay_chart::FIGURE_STYLE;
use std::sync::LazyLock;

/// A static file.
pub struct PageAsset {
    /// Its path, with a hash of its content.
    pub path: String,
    kind: &'static str,
    text: String,
}

impl PageAsset {
    fn new(name: &str, kind: &'static str, text: String) -> PageAsset {
        // FNV-1a (Fowler, Noll & Vo, 1991): the hash must only change with the text.
        let mark = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let (stem, end) = name.split_once('.').unwrap_or((name, ""));
        PageAsset { path: format!("/file/{stem}.{mark:016x}.{end}"), kind, text }
    }

    /// The file as a response, which may be cached for ever, because its name changes with its content.
    pub fn response(&self) -> HttpResponse {
        HttpResponse::new(200, self.kind, self.text.clone()).with("Cache-Control", "max-age=31536000, immutable")
    }
}

/// The style sheet of all pages.
pub static STYLE: LazyLock<PageAsset> = LazyLock::new(|| {
    let text = format!("{}{FIGURE_STYLE}", include_str!("assets/page.css"));
    PageAsset::new("page.css", "text/css; charset=utf-8", text)
});

/// The script of all pages.
pub static SCRIPT: LazyLock<PageAsset> = LazyLock::new(|| {
    PageAsset::new("page.js", "text/javascript; charset=utf-8", include_str!("assets/page.js").to_owned())
});

/// The icon in the browser's tab.
pub static ICON: LazyLock<PageAsset> =
    LazyLock::new(|| PageAsset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg").to_owned()));

/// Finds a file by its path.
pub fn find(path: &str) -> Option<&'static PageAsset> {
    [&STYLE, &SCRIPT, &ICON].into_iter().map(|asset| &**asset).find(|asset| asset.path == path)
}
