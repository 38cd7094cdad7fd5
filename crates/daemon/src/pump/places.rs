//! Looks up what lies where a request of a program failed, before it is told: once an hour for a disk, and for some seconds at most.
//!
//! The look-up reads structures of file systems on that disk, in the idle I/O class, and is ended after some seconds; the place itself is left alone.

use super::news::DaemonNews;
use super::state::{Daemon, PlaceLook};
use scrubjay_core::units::SectorRange;
use scrubjay_device::above::{self, EndKind, SectorEnd, SectorStory};
use scrubjay_device::{ioprio, tool};
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::failures::{ContentsKind, FailedRequests, PlaceContents};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The watch tells within ten seconds, whether the look-up ends or not.
const LOOK_UP_MAX: Duration = Duration::from_secs(4);
/// What a look-up met is known so long after its end.
const LATELY: Duration = Duration::from_secs(3);
/// How often a disk's places are looked up.
const EVERY: Duration = Duration::from_secs(HOUR);
/// Sectors that are looked up, at most: which of a request's sectors failed is not known, so all of them, as far as one question goes.
const SECTORS: u64 = scrubjay_jobs::sector::SECTORS_MAX;
/// Files that are named, at most.
const FILES: usize = 3;

impl Daemon<'_> {
    /// Reports to the watch that requests failed, with what lies there if that is not looked up too often.
    pub(super) fn place_failures(&mut self, name: String, failed: FailedRequests) {
        let now = Instant::now();
        let known = self.machine.placed.get(&name);
        let is_recent = known.is_some_and(|look| look.is_under_way() || now.duration_since(look.begun) < EVERY);
        let first = failed.runs.first().copied().filter(|_| !is_recent && self.observation.is_none());
        let (Some(first), Some(key)) = (first, self.key_of(&name).cloned()) else {
            return self.feed(WatchEvent::Failures(name, failed));
        };
        let (is_over, over) = (Arc::new(AtomicBool::new(false)), Instant::now() + LOOK_UP_MAX);
        self.machine.placed.insert(name.clone(), PlaceLook { begun: now, is_over: is_over.clone() });
        let (news, is_named) = (self.machine.news.clone(), self.config.name_files);
        let unplaced = (name.clone(), failed.clone());
        let spawned = thread::Builder::new().name("place".into()).spawn(move || {
            let (answer, answers) = mpsc::channel();
            let looked_up = name.clone();
            // A disk that hangs holds that thread, and no message; there is no second one for it.
            let _ = thread::Builder::new().name("look-up".into()).spawn(move || {
                let _ = ioprio::enter_idle_class();
                let range = SectorRange::at(first.start.0, first.count().min(SECTORS));
                let _ = answer.send(tool::within(LOOK_UP_MAX, || look_up(&looked_up, range, is_named)));
                is_over.store(true, Ordering::Relaxed);
            });
            let left = over.saturating_duration_since(Instant::now());
            let contents = answers.recv_timeout(left).unwrap_or_default();
            let _ = news.send(DaemonNews::Placed(name, key, FailedRequests { contents, ..failed }));
        });
        if spawned.is_err() {
            self.feed(WatchEvent::Failures(unplaced.0, unplaced.1));
        }
    }

    /// Is this disk being looked at, or was it of late? What fails then may be the look-up's own.
    pub(super) fn is_looked_up(&self, name: &str) -> bool {
        let look = self.machine.placed.get(name);
        look.is_some_and(|look| look.is_under_way() || look.begun.elapsed() < LOOK_UP_MAX + LATELY)
    }
}

fn look_up(name: &str, range: SectorRange, is_named: bool) -> Vec<PlaceContents> {
    let node = above::device(&Path::new("/dev").join(name)).ok().flatten();
    let node = node.filter(|node| range.end.0 <= node.sectors);
    node.map(|node| contents(&above::look_up(&node, range), is_named)).unwrap_or_default()
}

/// What the ends of the way up are.
fn contents(story: &SectorStory, is_named: bool) -> Vec<PlaceContents> {
    let stripe_of = |end: &SectorEnd| {
        let layer = story.layers.iter().find(|layer| layer.device == end.device);
        layer.and_then(|layer| layer.place.as_ref()?.stripe)
    };
    let mut all: Vec<PlaceContents> = Vec::new();
    for end in &story.ends {
        let of = PlaceContents {
            device: end.device.clone(),
            file_system: end.file_system.map(str::to_owned),
            kind: match end.kind {
                EndKind::File => ContentsKind::File,
                EndKind::Metadata => ContentsKind::Metadata,
                EndKind::Free => ContentsKind::Free,
                EndKind::Parity => ContentsKind::Parity,
                EndKind::Outside => ContentsKind::Outside,
                EndKind::VolumeData => ContentsKind::Volume,
                EndKind::Unknown => ContentsKind::Unknown,
            },
            files: if is_named { end.files.iter().take(FILES).cloned().collect() } else { Vec::new() },
            stripe: stripe_of(end),
        };
        if !all.contains(&of) {
            all.push(of);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_only_where_messages_may_name_them() {
        let range = SectorRange::at(8, 8);
        let mut end = SectorEnd::of("sda1", range, EndKind::File, "words").said_by("ext4");
        end.files = vec!["/srv/a".into(), "/srv/b".into(), "/srv/c".into(), "/srv/d".into()];
        let story = SectorStory { ends: vec![end.clone(), end], ..SectorStory::default() };
        let [named] = &contents(&story, true)[..] else { panic!("once") };
        assert_eq!((named.files.len(), named.kind), (FILES, ContentsKind::File));
        assert_eq!(contents(&story, false)[0].files, [""; 0]);
    }
}
