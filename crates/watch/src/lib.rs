//! The watch: decides when each disk is read, how each one is, who is notified, and whether notifications arrive.
//!
//! **Never:** I/O, a clock, a thread, chance, `unsafe`, a serialiser. Time is an argument, the calendar a value; rows that
//! must survive are emitted as operations and come back by [`Watch::restore`] (with the feature `serde` they have its derives, for who keeps
//! them). Two pumps run it: the simulator's in virtual time (`sim::host`), and the daemon's.
//!
//! ```text
//! disks, arrays, SMART, sessions, idle hours, people, channels --> Watch --> read this disk with that budget, or stop
//!                                                                   |    --> read SMART; send this message; heartbeat
//!                      rows <--> a data base <-- Keep --------------+--> status: the sentence, four lights, what to do
//! ```
//!
//! Inside: `arrivals` and `observe` take events; `schedule` with `hold` and `forecast` decides what is read when;
//! `health` and `risk` judge; `conditions` lists present problems, each a `problem`, and which of them follow from others; `telling` decides
//! when each is reported to whom, `letter_facts` gathers what each `letter` says, and `outbox` sends it. What it knows is in parts: `seen`, `incident_book`, `outgoing`, `timing`, `pending`. `turn` joins them, and `pending` has what it leaves to
//! be kept and done. No sentence is written here: the crate `words` makes them of these facts.
//!
//! ```
//! use scrubjay_watch::{Watch, calendar::UtcCalendar, events::*, facts::*, settings::WatchSettings, status::LightColour};
//! use scrubjay_core::units::UnixSeconds;
//!
//! let now = UnixSeconds(1_773_000_000);
//! let mut watch = Watch::restore(now, WatchSettings::default(), Box::new(UtcCalendar), []);
//! let disk = DiskFacts {
//!     key: DiskKey::of(None, Some("ZL2ABCDE"), "ata1"), name: "sda".into(), model: "ST16000NM001G".into(),
//!     serial: Some("ZL2ABCDE".into()), bay: None, controller: None, media: MediaKind::Spinning, sectors: 31_251_759_104, place: None,
//! };
//! watch.handle(now, WatchEvent::DiskSeen(disk));
//! watch.handle(now, WatchEvent::Tick);
//! let ops: Vec<WatchOp> = std::iter::from_fn(|| watch.poll_op()).collect();
//! assert!(ops.contains(&WatchOp::ReadSmart("sda".into())));
//! assert_eq!(watch.status(now).lights[0].colour, LightColour::Grey, "nothing is green that is not known");
//! ```

mod arrivals;
pub mod attributes;
pub mod calendar;
pub mod channel;
mod clock;
mod conditions;
mod counter_kind;
pub mod counters;
pub mod events;
pub mod exposure;
pub mod facts;
pub mod failures;
#[cfg(feature = "serde")]
mod float_bits;
pub mod forecast;
pub mod health;
pub mod hold;
pub mod hours;
pub mod incident;
mod incident_book;
mod known;
pub mod letter;
mod letter_facts;
pub mod links;
pub mod loss;
mod observe;
mod outbox;
mod outgoing;
pub mod passes;
mod pending;
pub mod pool;
pub mod problem;
mod queue;
mod reading;
pub mod risk;
pub mod rows;
mod schedule;
mod seen;
pub mod settings;
pub mod single;
pub mod slowness;
mod standing;
mod state;
pub mod status;
mod subject;
mod telling;
mod timing;
mod turn;
pub mod worded;

pub use known::STALE_AFTER;
pub use problem::MISSING_AFTER;
pub use reading::SessionPhase;
pub use schedule::MARGIN;
pub use state::Watch;
