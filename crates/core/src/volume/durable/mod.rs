//! What is durable, and when: superblocks, intents and maps on the members, flushes, and writes that no flush has covered yet.

pub(super) mod intents;
pub(super) mod maps;
pub(super) mod persist;
pub(super) mod rounds;
pub(super) mod syncs;
pub(super) mod unflushed;
pub(super) mod volatile_writes;
