//! The layout shared by tables of kinds of corruption: a row for each kind and victim, a column for each scheme.

use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::model::SilentCorruption;

/// The names of the columns.
pub(super) fn head() -> Vec<String> {
    std::iter::once("").chain(Scheme::ALL.map(Scheme::name)).map(str::to_owned).collect()
}

/// The rows, data chunks first, then parities. `cell` gets the scheme, whether it is a parity, and the index in
/// [`SilentCorruption::ALL`].
pub(super) fn rows(cell: impl Fn(Scheme, bool, usize) -> &'static str) -> Vec<Vec<String>> {
    let victims = [(false, "data"), (true, "parity")];
    let all = victims
        .into_iter()
        .flat_map(|victim| SilentCorruption::ALL.into_iter().enumerate().map(move |kind| (victim, kind)));
    let row = |((is_parity, victim), (at, kind)): ((bool, &str), (usize, SilentCorruption))| {
        let cells = Scheme::ALL.map(|scheme| cell(scheme, is_parity, at).to_owned());
        std::iter::once(format!("{}, {victim}", kind.name())).chain(cells).collect()
    };
    all.map(row).collect()
}
