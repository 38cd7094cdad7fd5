//! The integration tests of the studies, in one program.

mod mlet;
mod shear;
