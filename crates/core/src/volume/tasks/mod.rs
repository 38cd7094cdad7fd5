//! The machinery of tasks: who is polled when, what tasks share, and the operations and locks that they wait for.

pub(super) mod handle;
pub(super) mod io;
pub(super) mod locks;
pub(super) mod ops;
pub(super) mod scheduler;
pub(super) mod state;
pub(super) mod task_set;
