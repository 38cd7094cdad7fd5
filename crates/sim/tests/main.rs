//! What the simulator is tried with from outside, as one program: cargo runs test programs one after the other, and seven would
//! leave cores idle.

mod budget;
mod model;
mod passed_by;
mod probe;
mod shipped;
mod storm;
