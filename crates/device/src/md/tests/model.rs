//! A model of md's knobs, after drivers/md/md.c: a check advances whenever `sync_completed` is read.

use super::super::knobs::MdKnobs;
use scrubjay_core::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};

/// An array. A clone is a handle on the same array.
#[derive(Clone, Default)]
pub struct ModelArray(pub Arc<Mutex<ModelState>>);

/// The state of an array.
#[derive(Default)]
pub struct ModelState {
    /// Files with constant contents.
    pub files: BTreeMap<String, String>,
    pub sectors: u64,
    pub chunk: u64,
    /// Pages that do not agree, by their first sector.
    pub mismatched: BTreeSet<u64>,
    /// Positions at which a member fails to read a page, and md rewrites it.
    pub failing: BTreeSet<u64>,
    pub action: String,
    pub min: u64,
    pub max: Option<u64>,
    /// Position of the check; `None`: it has not begun yet.
    pub at: Option<u64>,
    pub mismatches: u64,
    pub begun: Vec<u64>,
    /// The actions that were requested so far.
    pub actions: Vec<String>,
    /// How many writes to `sync_min` will find it busy.
    pub busy: u32,
    /// The check skips everything: nothing is read.
    pub skips: bool,
    /// The check does not move.
    pub hangs: bool,
    /// Sectors that each member has read.
    pub read: u64,
    pub errors: u64,
    /// Rewritten sectors are not counted as errors.
    pub is_silent: bool,
    pub rewritten: u64,
    /// A repair does not last: the page is written all the time.
    pub is_rewritten: bool,
    /// No check can begin once a repair has run.
    pub cuts_check_after_repair: bool,
}

const STRIDE: u64 = 128;

impl ModelArray {
    /// An array at rest, with two or more members.
    pub fn new(level: &str, members: usize, sectors: u64, chunk: u64) -> ModelArray {
        let mut state = ModelState { sectors, chunk, action: "idle".to_owned(), ..ModelState::default() };
        let mut set_file = |file: &str, text: &str| state.files.insert(file.to_owned(), text.to_owned());
        set_file("level", level);
        set_file("array_state", "clean");
        set_file("raid_disks", &members.to_string());
        set_file("degraded", "0");
        set_file("reshape_position", "none");
        set_file("chunk_size", &(chunk * 512).to_string());
        set_file("component_size", &(sectors / 2).to_string());
        set_file("layout", "2");
        set_file("last_sync_action", "check");
        for member in 0..members {
            let device = format!("dev-sd{}", (b'a' + member as u8) as char);
            set_file(&format!("{device}/state"), "in_sync");
            set_file(&format!("{device}/slot"), &member.to_string());
            set_file(&format!("{device}/offset"), "2048");
            set_file(&format!("{device}/bad_blocks"), "");
            set_file(&format!("{device}/block/dev"), "8:0");
        }
        ModelArray(Arc::new(Mutex::new(state)))
    }

    pub fn with<T>(&self, then: impl FnOnce(&mut ModelState) -> T) -> T {
        then(&mut self.0.lock().unwrap())
    }

    pub fn set_file(&self, file: &str, text: &str) {
        self.with(|state| state.files.insert(file.to_owned(), text.to_owned()));
    }

    pub fn knobs(&self) -> (String, u64, Option<u64>) {
        self.with(|state| (state.action.clone(), state.min, state.max))
    }
}

impl ModelState {
    /// Advances the sync thread by a stride.
    fn advance(&mut self) {
        if self.action == "idle" || self.hangs {
            return;
        }
        let Some(at) = self.at else {
            (self.at, self.mismatches) = (Some(self.min), 0);
            self.begun.push(self.min);
            return;
        };
        let to = (at + STRIDE).min(self.max.unwrap_or(u64::MAX)).min(self.sectors).max(at);
        self.mismatches += 8 * self.mismatched.range(at..to).count() as u64;
        if self.action == "repair" && !self.is_rewritten {
            self.mismatched.retain(|place| !(at..to).contains(place));
        }
        let failed = self.failing.range(at..to).count() as u64;
        match self.is_silent {
            true => self.rewritten += failed * STRIDE,
            false => self.errors += failed * 8,
        }
        self.failing.retain(|place| !(at..to).contains(place));
        self.read += if self.skips { 0 } else { to - at };
        self.at = Some(to);
        if to == self.sectors && self.max.is_none_or(|max| max >= self.sectors) && at == to {
            (self.action, self.min, self.max, self.at) = ("idle".to_owned(), 0, None, None);
        }
    }

    /// Another program, or md itself, interrupts the check.
    pub fn interrupt(&mut self) {
        if self.action != "idle" {
            self.min = self.at.unwrap_or(0);
        }
        (self.action, self.at) = ("idle".to_owned(), None);
    }
}

fn errno(errno: i32) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(errno))
}

impl MdKnobs for ModelArray {
    fn read(&self, file: &str) -> io::Result<String> {
        self.with(|state| {
            Ok(match file {
                "sync_completed" => {
                    state.advance();
                    state.at.map_or("none".to_owned(), |at| format!("{at} / {}", state.sectors))
                }
                "sync_action" => state.action.clone(),
                "sync_min" => state.min.to_string(),
                "sync_max" => state.max.map_or("max".to_owned(), |max| max.to_string()),
                "mismatch_cnt" => state.mismatches.to_string(),
                "dev-sda/errors" => state.errors.to_string(),
                _ if file.ends_with("/errors") => "0".to_owned(),
                "dev-sda/block/stat" => format!("1 0 {} 0 0 0 {} 0 0 0 0", state.read, state.rewritten),
                _ if file.ends_with("/block/stat") => format!("1 0 {} 0 0 0 0 0 0 0 0", state.read),
                "../stat" => "0 0 0 0 0 0 0 0 0 0 0".to_owned(),
                _ => state.files.get(file).cloned().ok_or(io::ErrorKind::NotFound)?,
            })
        })
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        self.with(|state| {
            let is_running = state.action != "idle";
            match (file, value) {
                ("sync_action", "check" | "repair") if is_running => errno(libc::EBUSY),
                ("sync_action", "check")
                    if state.cuts_check_after_repair && state.actions.iter().any(|action| action == "repair") =>
                {
                    errno(libc::EIO)
                }
                ("sync_action", action @ ("check" | "repair")) => {
                    (state.action, state.at) = (action.to_owned(), None);
                    state.actions.push(action.to_owned());
                    Ok(())
                }
                ("sync_action", "idle") => {
                    state.interrupt();
                    Ok(())
                }
                ("sync_min", min) => match min.parse::<u64>().unwrap() {
                    _ if state.busy > 0 => {
                        state.busy -= 1;
                        errno(libc::EBUSY)
                    }
                    min if min > state.max.unwrap_or(u64::MAX) => errno(libc::EINVAL),
                    _ if is_running => errno(libc::EBUSY),
                    min => {
                        state.min = min / 8 * 8;
                        Ok(())
                    }
                },
                ("sync_max", "max") => {
                    state.max = None;
                    Ok(())
                }
                ("sync_max", max) => match max.parse::<u64>().unwrap() {
                    max if max < state.min => errno(libc::EINVAL),
                    max if is_running && max < state.max.unwrap_or(u64::MAX) => errno(libc::EBUSY),
                    max if state.chunk > 0 && max % state.chunk != 0 => errno(libc::EINVAL),
                    max => {
                        state.max = Some(max);
                        Ok(())
                    }
                },
                _ => errno(libc::EINVAL),
            }
        })
    }

    fn wait(&self, _timeout: Nanos) {}

    fn devices(&self) -> Vec<String> {
        let folders = |state: &mut ModelState| {
            let of = |name: &String| name.strip_suffix("/state").map(str::to_owned);
            state.files.keys().filter_map(of).collect()
        };
        self.with(folders)
    }
}
