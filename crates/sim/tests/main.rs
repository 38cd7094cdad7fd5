//! What the simulator is tried with from outside, in one program: seven would take their turns, and half of the cores wait.

mod model;
mod probe;
mod shear;
mod shipped;
mod storm;
mod volume;
mod volume_model;
