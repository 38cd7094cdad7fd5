//! Which version this is, to be cited and reported: the release, the commit, and the commit's date.

/// The release.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The first 12 digits of the commit it was built from; empty: unknown.
pub const COMMIT: &str = env!("SCRUBJAY_COMMIT");

/// The commit's date, as 2026-11-28; empty: unknown.
pub const COMMIT_DATE: &str = env!("SCRUBJAY_COMMIT_DATE");

/// All of it, as `0.1.0 (8a3de3de1f2a 2026-11-28)`; without the parentheses where the commit is unknown.
pub fn version() -> &'static str {
    if COMMIT.is_empty() {
        RELEASE
    } else {
        concat!(env!("CARGO_PKG_VERSION"), " (", env!("SCRUBJAY_COMMIT"), " ", env!("SCRUBJAY_COMMIT_DATE"), ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_its_commit_where_that_is_known() {
        assert!(version().starts_with(RELEASE));
        assert_eq!(version().contains('('), !COMMIT.is_empty());
        assert!(COMMIT.is_empty() || COMMIT.len() == 12 && COMMIT_DATE.len() == "2026-11-28".len(), "{}", version());
    }
}
