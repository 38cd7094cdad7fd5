//! Puts back an array's knobs as they were before a scrub changed them, also after a scrub that was killed.

use super::guard::{self, ENDING, MdGuard};
use super::knobs::{BUSY_MAX, MdFolder, MdKnobs, RETRY_PAUSE, SyncAction, read_window, write_with_retries};
use crate::claim::{self, DiskClaim};
use crate::clock;
use crate::owner;
use std::fs;
use std::io;
use std::path::Path;

/// Puts back what killed scrubs have left, as the guards in the state folder record it. Returns a line for each. Arrays whose
/// scrub is still running are left alone.
pub fn put_back_all(folder: &Path) -> Vec<String> {
    put_back_with(folder, &clock::name(), |array| {
        let folder = Path::new("/sys/block").join(array).join("md");
        folder.exists().then(|| Box::new(MdFolder::new(&folder)) as Box<dyn MdKnobs>)
    })
}

/// Puts back the arrays that `open` knows.
pub(super) fn put_back_with(folder: &Path, boot: &str, open: impl Fn(&str) -> Option<Box<dyn MdKnobs>>) -> Vec<String> {
    let is_trusted = !owner::is_root() || owner::meddler(folder).is_ok_and(|meddler| meddler.is_none());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().filter(|_| is_trusted);
    let guards = entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ENDING));
    let mut lines = Vec::new();
    for path in guards {
        let Some(guard) = guard::read(&path) else {
            lines.push(format!(
                "{}: makes no sense, and is removed: see to sync_min and sync_max of your md arrays",
                path.display()
            ));
            let _ = MdGuard::remove(&path);
            continue;
        };
        if guard.boot != boot {
            let _ = MdGuard::remove(&path);
            continue;
        }
        let Ok(_claim) = DiskClaim::take(&claim::name_of(&guard.key)) else { continue };
        // That scrub may have ended in order meanwhile.
        let (Some(guard), true) = (guard::read(&path), path.exists()) else { continue };
        let array = &guard.array;
        let done = open(array).map_or(Ok(true), |knobs| put_back(&*knobs, &guard));
        lines.push(match done {
            Ok(false) => format!("{array}: a scrub that ended before md's check did left sync_min changed: it is put back when what md does now is over"),
            Ok(true) => {
                let _ = MdGuard::remove(&path);
                format!("{array}: a scrub was killed, or ended before md's check did: sync_min, sync_max and sync_action are put back")
            }
            Err(error) => format!(
                "{array}: sync_min, sync_max and sync_action could not be put back after a scrub that was killed or ended before md's check did ({error}): any `scrubjay scrub` as root does it, \
                 with the state folder {}",
                folder.display()
            ),
        });
    }
    lines
}

/// Makes an array's knobs what they were before the windows of `guard` were set. A check in one of these windows is the scrub's,
/// and is ended; a check that another program began since is left alone, except that a `sync_max` of the scrub's, at which it
/// would stop for ever, is lifted. Values that another program has set since stay. Returns whether all is put back.
pub(super) fn put_back(knobs: &dyn MdKnobs, guard: &MdGuard) -> io::Result<bool> {
    let action = knobs.read("sync_action")?;
    let (min, max) = read_window(knobs)?;
    let is_own = guard.windows().any(|window| (window.min, Some(window.max)) == (min, max));
    if (action == SyncAction::Check.word() || action == SyncAction::Repair.word()) && is_own {
        write_with_retries(knobs, "sync_action", "idle")?;
        let until = clock::now() + BUSY_MAX;
        while knobs.read("sync_action")? != "idle" && clock::now() < until {
            std::thread::sleep(RETRY_PAUSE);
        }
    }
    let action = knobs.read("sync_action")?;
    let (min, max) = read_window(knobs)?;
    // The kernel has moved `sync_min` to where an interrupted check was.
    let of_max = guard.windows().find(|window| Some(window.max) == max);
    let is_own_max = of_max.is_some_and(|window| window.min <= min && min <= window.max);
    let is_own_min = max.is_none() && guard.windows().any(|window| window.min <= min && min <= window.max);
    if action != "idle" {
        if of_max.is_some() {
            write_with_retries(knobs, "sync_max", "max")?;
        }
        return Ok(false); // `sync_min` cannot be written now
    }
    if is_own_max || is_own_min || (min, max) == (0, None) {
        write_with_retries(knobs, "sync_max", "max")?;
        write_with_retries(knobs, "sync_min", &guard.before().0.to_string())?;
        if let Some(max) = guard.before().1 {
            write_with_retries(knobs, "sync_max", &max.to_string())?;
        }
    }
    Ok(true)
}
