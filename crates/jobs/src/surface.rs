//! How fast the places of a disk answer: from the maps that its scrubs keep to what `explain` and the page show.

use scrubjay_control::past::{SURFACE_PARTS, SlowEntry, SpeedPart, SurfaceSpeed};
use scrubjay_core::surface::ReadTime;
use scrubjay_core::surface::map::SpeedMap;
use scrubjay_core::surface::slow::{PassPlaces, SlowPlace, lasting, slow_places, zone_curve};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::speed::KnownSpeed;

/// Slow places that are listed, at most.
const PLACES_MAX: usize = 64;
/// Visits to half of the regions of a pass under way, at least, before it is shown in place of a whole one.
const REGIONS_SHARE: usize = 2;

/// What is known, for people. `by_watch` turns dates of the system's clock into those of the watch's.
pub fn surface_speed(known: &KnownSpeed, by_watch: impl Fn(UnixSeconds) -> UnixSeconds) -> SurfaceSpeed {
    let under_way = known.pass.as_ref().filter(|pass| known.maps.iter().all(|map| map.begun != pass.begun()));
    let under_way = under_way.map(|pass| pass.map(UnixSeconds(0)));
    // A whole pass says more than one that has just begun.
    let (newest, earlier) = match (&under_way, known.maps.split_last()) {
        (_, Some((newest, earlier))) => (newest, earlier),
        (Some(map), None) if measured(map) * REGIONS_SHARE >= map.regions.len() => (map, &[][..]),
        _ => return SurfaceSpeed::default(),
    };
    let (places, curve) = (slow_places(newest), zone_curve(newest));
    let before: Vec<PassPlaces> = earlier.iter().rev().map(slow_places).collect();
    let last: Vec<SlowPlace> = lasting(&places, before.iter());
    let entry = |place: &SlowPlace| SlowEntry {
        start: place.sectors.start.0,
        count: place.sectors.count(),
        ratio: place.ratio,
        stalled: place.stalled,
        lasts: last.contains(place),
    };
    SurfaceSpeed {
        begun: by_watch(newest.begun).0,
        ended: (newest.ended.0 > 0).then(|| by_watch(newest.ended).0),
        parts: parts(newest).map(|(first, end)| part(newest, &curve, first, end)).collect(),
        before_begun: earlier.last().map_or(0, |map| by_watch(map.begun).0),
        before: earlier
            .last()
            .map_or_else(Vec::new, |map| parts(map).map(|(first, end)| part(map, &[], first, end).typical).collect()),
        slow: places.places.iter().take(PLACES_MAX).map(entry).collect(),
        slow_places: places.places.len() as u64,
        passes: known.maps.len() as u64,
    }
}

/// The regions of each part.
fn parts(map: &SpeedMap) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (regions, count) = (map.regions.len(), SURFACE_PARTS.min(map.regions.len()));
    (0..count).map(move |part| (part * regions / count, (part + 1) * regions / count))
}

fn measured(map: &SpeedMap) -> usize {
    map.regions.iter().filter(|region| region.typical.is_measured()).count()
}

fn part(map: &SpeedMap, curve: &[ReadTime], first: usize, end: usize) -> SpeedPart {
    let speed = |time: Option<ReadTime>| time.and_then(ReadTime::bytes_per_second).unwrap_or_default() as u64;
    let mut typical: Vec<ReadTime> =
        map.regions[first..end].iter().map(|region| region.typical).filter(|time| time.is_measured()).collect();
    typical.sort_unstable();
    let p99 = map.regions[first..end].iter().map(|region| region.p99).max().unwrap_or_default();
    SpeedPart {
        typical: speed(typical.get(typical.len().saturating_sub(1) / 2).copied()),
        slowest: speed(typical.last().copied()),
        around: speed(curve.get((first + end) / 2).copied()),
        p99_nanos: p99.nanos_per_mib().unwrap_or_default() as u64,
    }
}
