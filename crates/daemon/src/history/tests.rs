//! Tests of the history.
