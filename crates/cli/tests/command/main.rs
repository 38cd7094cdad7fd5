//! The built command as its users see it: output, exit codes, and what survives.

mod arrays;
mod bench;
mod bench_disk;
mod claims;
mod code_speed;
mod contract;
mod create;
mod explained;
#[path = "../../examples/demo/client.rs"]
mod nbd;
mod outputs;
mod pause;
mod probed;
mod readme;
mod replay;
mod scrubbed;
mod served;
mod steered;
mod study;
mod told;
mod trace;
mod tune;
mod watched;
