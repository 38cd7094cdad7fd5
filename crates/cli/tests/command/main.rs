//! The built command as its users meet it: what it says, what it exits with, what survives.

mod bench;
mod code_speed;
mod contract;
mod create;
mod pause;
mod replay;
mod served;
mod study;
mod trace;
mod tune;
