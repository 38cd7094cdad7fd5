//! What the studies are tried with from outside, as one program.

mod mlet;
mod shear;
