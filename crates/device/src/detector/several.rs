//! Merges the events of several disks into those of one foreground.

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

/// The time of an event.
pub(crate) fn date(event: &Event) -> Nanos {
    match *event {
        Event::ForegroundArrived { at, .. }
        | Event::ForegroundCompleted { at, .. }
        | Event::ForegroundDrained { at }
        | Event::ForegroundCounted { at } => at,
        Event::Completed { finished, .. } => finished,
        Event::Tick => Nanos::ZERO,
    }
}

/// Merges events of several disks: in order, none dated earlier than one handed out, and drained when all disks are.
pub(crate) fn merge(
    all: &mut [(usize, Event)],
    open: &mut [bool],
    last_reported: &mut Nanos,
    is_counted: &mut bool,
    events: &mut Vec<Event>,
) {
    all.sort_by_key(|(_, event)| date(event));
    for &mut (disk, event) in all {
        *last_reported = (*last_reported).max(date(&event));
        let at = *last_reported;
        match event {
            Event::ForegroundArrived { count, .. } => {
                open[disk] = true;
                events.push(Event::ForegroundArrived { at, count });
            }
            Event::ForegroundCompleted { count, .. } => {
                open[disk] = true;
                events.push(Event::ForegroundCompleted { at, count });
            }
            Event::ForegroundDrained { .. } => {
                let was_open = open.contains(&true);
                open[disk] = false;
                if was_open && !open.contains(&true) {
                    events.push(Event::ForegroundDrained { at });
                }
            }
            Event::ForegroundCounted { .. } if !*is_counted => {
                *is_counted = true;
                events.push(Event::ForegroundCounted { at });
            }
            Event::ForegroundCounted { .. } | Event::Completed { .. } | Event::Tick => (),
        }
    }
}
