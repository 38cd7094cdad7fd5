//! The built command as its users see it: output, exit codes, and what survives.

mod arrays;
mod bench;
mod bench_disk;
mod claims;
mod code_speed;
mod completions;
mod contract;
mod control_sockets;
mod create;
mod documents;
mod explain;
mod json_document;
#[path = "../../examples/demo/client.rs"]
mod nbd;
mod outputs;
mod pause;
mod probe;
mod replay;
mod scrubbed;
mod served;
mod simulate_watch;
mod study;
mod trace;
mod tune;
mod watch_verbs;
