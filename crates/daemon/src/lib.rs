//! What acts for the watch (`scrubjay-watch`): asks drives how they are, with the programs that the system has, and sends messages.
//!
//! **Never:** policy. What a value means, and what is to be done about it, is the watch's to say.

pub mod discovery;
pub mod history;
pub mod channels;
pub mod smartctl;
