//! Storms of the volume, years of the watch, broken disks for the oracle: one program, as cargo runs programs in turn.

mod slow;
mod storms;
mod subjects;
mod years;
