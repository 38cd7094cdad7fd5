//! What a turn leaves for the pump, in the order that keeps promises: rows are kept before anything happens that rests on them.

use crate::events::WatchOp;
use crate::rows::RowKey;
use std::collections::{BTreeSet, VecDeque};

/// What is to be kept and done.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changed: BTreeSet<RowKey>,
    dropped: BTreeSet<RowKey>,
    /// Operations that must follow the rows which are to be kept first.
    after_rows: Vec<WatchOp>,
    /// Operations for the pump, in order.
    ops: VecDeque<WatchOp>,
}

impl Pending {
    /// A row is new, or has changed.
    pub fn change(&mut self, key: RowKey) {
        self.changed.insert(key);
    }

    /// Rows are new, or have changed.
    pub fn change_all(&mut self, keys: impl IntoIterator<Item = RowKey>) {
        self.changed.extend(keys);
    }

    /// A row is gone.
    pub fn drop_row(&mut self, key: RowKey) {
        self.dropped.insert(key);
    }

    /// Rows are gone.
    pub fn drop_rows(&mut self, keys: impl IntoIterator<Item = RowKey>) {
        self.dropped.extend(keys);
    }

    /// Operations that rest on rows of this turn.
    pub fn after_rows(&mut self, ops: impl IntoIterator<Item = WatchOp>) {
        self.after_rows.extend(ops);
    }

    /// The keys of rows that changed, and of those that are gone, since the last call.
    pub fn take_keys(&mut self) -> (BTreeSet<RowKey>, BTreeSet<RowKey>) {
        (std::mem::take(&mut self.changed), std::mem::take(&mut self.dropped))
    }

    /// Queues what keeps the rows, if there are any, in front of what rests on them; or behind it (a planted mistake).
    pub fn queue(&mut self, keep: Option<WatchOp>, is_kept_first: bool) {
        let after = std::mem::take(&mut self.after_rows);
        if is_kept_first {
            self.ops.extend(keep.into_iter().chain(after));
        } else {
            self.ops.extend(after.into_iter().chain(keep));
        }
    }

    /// The next operation, in order.
    pub fn next_op(&mut self) -> Option<WatchOp> {
        self.ops.pop_front()
    }
}
