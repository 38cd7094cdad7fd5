//! The simulator's outside tests in one program: cargo runs test programs one by one, so several would leave cores idle.

mod budget;
mod model;
mod monotone;
mod observed;
mod overloaded;
mod paced;
mod passed_by;
mod probe;
mod shipped;
mod slow_disk;
mod storm;
