//! Rule: the parts of `core` do not use one another, and the shared files use none of them.

use super::finding::TidyFinding;
use super::paths::Paths;
use crate::tree::Tree;

/// The folder of the rooms.
const ROOT: &str = "crates/core/src/";
/// The rooms, each a folder; everything else is shared.
const ROOMS: [&str; 4] = ["scrub", "volume", "probe", "bench"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some((top, rest)) = file.path.strip_prefix(ROOT).map(|path| path.split_once('/').unwrap_or((path, "")))
        else {
            continue;
        };
        // The root of the crate declares the rooms.
        if top == "lib.rs" && rest.is_empty() {
            continue;
        }
        for used in Paths::of(&file.text).uses {
            let [root, module, ..] = &used.segments[..] else { continue };
            if root == "crate" && module != top && ROOMS.contains(&module.as_str()) {
                let from = if ROOMS.contains(&top) { format!("the {top}") } else { "the ground".to_owned() };
                findings.push(TidyFinding::at(
                    &file.path,
                    used.line,
                    format!("{from} of core uses the {module}: move what both need to the ground"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn rooms_use_only_shared_files_and_not_each_other() {
        let found = findings(
            check,
            &[
                ("crates/core/src/lib.rs", "pub mod scrub;\nuse crate::scrub::Scrub;\n"),
                ("crates/core/src/units.rs", "use crate::rng::Rng;\nuse crate::probe::Prober;\n"),
                ("crates/core/src/scrub/mod.rs", "use crate::scrub::tour::Tour;\nuse crate::volume::Volume;\n"),
                (
                    "crates/core/src/volume/write.rs",
                    "use crate::units::Bytes;\n#[cfg(test)]\nmod tests {\n    use crate::scrub::X;\n}\n",
                ),
                ("crates/sim/src/scrub/mod.rs", "use crate::volume::Volume;\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/core/src/scrub/mod.rs:2: the scrub of core uses the volume: move what both need to the ground",
                "crates/core/src/units.rs:2: the ground of core uses the probe: move what both need to the ground",
            ]
        );
    }
}
