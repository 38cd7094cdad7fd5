//! Storms for the volume, years for the watch, and wrong disks for the oracle, as one program: cargo runs test programs one after the other.

mod storms;
mod subjects;
mod years;
