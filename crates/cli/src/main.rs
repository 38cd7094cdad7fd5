//! Scrubjay.
fn main() {}
