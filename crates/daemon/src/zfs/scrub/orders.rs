//! What a pool's scrub is told, and what ZFS says of it: by `zpool scrub` and `zpool status`.

use crate::zfs::ask;
use crate::zfs::pool::Zpool;
use scrubjay_device::tool::{self, ToolError};
use std::time::Duration;

/// How long `zpool` may take: where it is suspended it never ends.
const TIME_OUT: Duration = Duration::from_secs(30);

/// A way to run `zpool` with arguments.
type RunZpool = Box<dyn Fn(&[&str]) -> Result<Vec<u8>, ToolError>>;

/// One pool, and the way to run `zpool`.
pub struct PoolOrders {
    pool: String,
    /// Only blocks that are known to be wrong.
    only_errors: bool,
    zpool: RunZpool,
}

impl PoolOrders {
    /// The pool of this name on this machine.
    pub fn new(pool: &str, only_errors: bool) -> PoolOrders {
        PoolOrders::by(pool, only_errors, Box::new(|arguments| tool::run_apart("zpool", arguments, TIME_OUT)))
    }

    /// The same, by this way to run `zpool`.
    pub fn by(pool: &str, only_errors: bool, zpool: RunZpool) -> PoolOrders {
        PoolOrders { pool: pool.to_owned(), only_errors, zpool }
    }

    /// Begins the scrub, or lets it go on.
    ///
    /// # Errors
    /// In ZFS's words.
    pub fn go_on(&self) -> Result<(), String> {
        let option = self.only_errors.then_some("-e");
        let arguments: Vec<&str> = ["scrub"].into_iter().chain(option).chain([self.pool.as_str()]).collect();
        self.tell(&arguments)
    }

    /// Holds it.
    ///
    /// # Errors
    /// In ZFS's words.
    pub fn hold(&self) -> Result<(), String> {
        self.tell(&["scrub", "-p", &self.pool])
    }

    fn tell(&self, arguments: &[&str]) -> Result<(), String> {
        (self.zpool)(arguments).map(drop).map_err(|error| error.to_string())
    }

    /// The pool as ZFS describes it; `None`: it is not listed.
    ///
    /// # Errors
    /// In words: ZFS does not answer.
    pub fn look(&self) -> Result<Option<Zpool>, String> {
        Ok(ask::pools_by(&self.zpool)?.into_iter().find(|pool| pool.name == self.pool))
    }

    /// Is it imported for reading only? There `zpool scrub` never ends (OpenZFS 2.3.2).
    pub fn is_read_only(&self) -> bool {
        let value = (self.zpool)(&["get", "-H", "-o", "value", "readonly", &self.pool]);
        value.is_ok_and(|output| output.trim_ascii() == b"on")
    }

    /// What ZFS says of its scan, in one line.
    pub fn said(&self) -> Option<String> {
        let output = (self.zpool)(&["status", &self.pool]).ok()?;
        scan_line(&String::from_utf8_lossy(&output), self.only_errors)
    }
}

/// The text behind `scan:` or, of a scrub of known errors, `scrub:`; the first line.
fn scan_line(text: &str, only_errors: bool) -> Option<String> {
    let of = |key: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(key));
    let [first, then] = if only_errors { ["scrub:", "scan:"] } else { ["scan:", "scrub:"] };
    Some(of(first).or_else(|| of(then))?.trim().to_owned())
}
