//! Rule: the crates form layers (ARCHITECTURE.md), and dependencies between them only point down.

use super::finding::TidyFinding;
use super::manifest::{Dependency, Manifest};
use crate::tree::Tree;
use std::collections::BTreeMap;

/// The layer of each crate in `crates/`. `xtask` has none: no crate may depend on it.
const LAYERS: &[(&str, u32)] = &[
    ("code", 1),
    ("chart", 1),
    ("core", 2),
    ("watch", 3),
    ("trace", 3),
    ("device", 3),
    ("words", 4),
    ("sim", 5),
    ("control", 5),
    ("serve", 5),
    ("study", 6),
    ("proof", 6),
    ("jobs", 6),
    ("daemon", 7),
    ("research", 7),
    ("web", 7),
    ("python", 8),
    ("cli", 8),
    ("lab", 9),
];

/// Crates that may depend on nothing but the one named with them, because their code must be pure.
const PURE: [(&str, &str); 2] = [("core", "scrubjay-code"), ("watch", "scrubjay-core")];

/// What they may have besides, if only a feature brings it: its derives say what values are made of, and write nothing.
const DERIVES: &str = "serde";

/// The crate that only tests may use: it does not ship.
const TESTS_ONLY: &str = "proof";

/// The crate whose tests may use anything.
const TOP: &str = "cli";

/// The project's crates, by the name of their folder.
type Rooms = BTreeMap<String, CrateRoom>;

struct CrateRoom {
    path: String,
    manifest: Manifest,
}

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let rooms = rooms(tree);
    let mut findings = Vec::new();
    for (name, room) in &rooms {
        if layer(name).is_none() {
            findings.push(TidyFinding::at(
                &room.path,
                1,
                format!("crate {name} has no layer: add it to the table in xtask"),
            ));
        }
        for dependency in &room.manifest.dependencies {
            if let Some(message) = violation(&rooms, name, dependency) {
                findings.push(TidyFinding::at(&room.path, dependency.line, message));
            }
        }
    }
    findings.extend(circles(&rooms));
    findings
}

/// A crate, its layer, and the project's crates that it depends on, not counting dev-dependencies.
pub struct CrateLayer {
    /// Name of its folder.
    pub name: String,
    /// Its layer, from 1, the lowest.
    pub layer: u32,
    /// Names of the folders of the crates that it depends on.
    pub uses: Vec<String>,
}

/// The crates, from the top layer down.
pub fn places(tree: &Tree) -> Vec<CrateLayer> {
    let rooms = rooms(tree);
    let mut places: Vec<CrateLayer> = rooms
        .iter()
        .filter_map(|(name, room)| {
            let shipped = room.manifest.dependencies.iter().filter(|dependency| !dependency.is_dev);
            let uses = shipped.filter_map(|dependency| room_of(&rooms, &dependency.package)).map(str::to_owned);
            Some(CrateLayer { name: name.clone(), layer: layer(name)?, uses: uses.collect() })
        })
        .collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.layer));
    places
}

fn rooms(tree: &Tree) -> Rooms {
    let name = |path: &str| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").map(str::to_owned);
    tree.files
        .iter()
        .filter_map(|file| {
            Some((name(&file.path)?, CrateRoom { path: file.path.clone(), manifest: Manifest::parse(&file.text) }))
        })
        .collect()
}

fn layer(name: &str) -> Option<u32> {
    LAYERS.iter().find(|(room, _)| *room == name).map(|&(_, layer)| layer)
}

/// The folder of one of the project's packages. A package named like one of the project's counts even without a folder.
fn room_of<'a>(rooms: &'a Rooms, package: &'a str) -> Option<&'a str> {
    let by_manifest = rooms.iter().find(|(_, room)| room.manifest.name == package).map(|(name, _)| name.as_str());
    by_manifest.or_else(|| package.strip_prefix("scrubjay-")).or_else(|| (package == "xtask").then_some("xtask"))
}

/// What is wrong with this dependency of `name`; `None`: nothing.
fn violation(rooms: &Rooms, name: &str, dependency: &Dependency) -> Option<String> {
    let package = &dependency.package;
    let pure = PURE.iter().find(|(pure, _)| *pure == name).map(|(_, only)| *only);
    let is_of_feature = dependency.is_optional && package == DERIVES;
    if let Some(only) = pure.filter(|only| !dependency.is_dev && package != only && !is_of_feature) {
        return Some(format!("{name} may depend on nothing but {only}, not on {package}"));
    }
    let target = room_of(rooms, package)?;
    if dependency.is_dev && name == TOP {
        return None;
    }
    if !dependency.is_dev && target == TESTS_ONLY {
        return Some(format!("{name} depends on {target}, which is for tests: make it a dev-dependency"));
    }
    let (Some(from), Some(to)) = (layer(name), layer(target)) else {
        return Some(format!("{name} depends on {package}, which is on no layer"));
    };
    let is_down = if dependency.is_dev { to <= from } else { to < from };
    (!is_down).then(|| format!("{name} (layer {from}) depends on {target} (layer {to}): arrows point down"))
}

/// Crates that depend on themselves through others. A dev-dependency can cause that (Cargo refuses the other circles).
fn circles(rooms: &Rooms) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (name, room) in rooms {
        let mut reached = targets(rooms, name);
        let mut next = 0;
        while next < reached.len() {
            let found: Vec<&str> =
                targets(rooms, reached[next]).into_iter().filter(|room| !reached.contains(room)).collect();
            reached.extend(found);
            next += 1;
        }
        if reached.contains(&name.as_str()) {
            findings.push(TidyFinding::at(&room.path, 1, format!("{name} depends on itself through other crates")));
        }
    }
    findings
}

/// The crates that `name` depends on, in its tests, too. Not itself: a crate's tests may enable its own features.
fn targets<'a>(rooms: &'a Rooms, name: &str) -> Vec<&'a str> {
    let dependencies = rooms.get(name).map_or(&[][..], |room| &room.manifest.dependencies);
    dependencies.iter().filter_map(|d| room_of(rooms, &d.package)).filter(|target| *target != name).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    fn package(name: &str, dependencies: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}")
    }

    #[test]
    fn arrows_point_down() {
        let core = package("scrubjay-core", "scrubjay-code = \"1\"\n");
        let device = package("scrubjay-device", "scrubjay-core.workspace = true\nlibc = \"1\"\n");
        let cli = package("scrubjay", "scrubjay-device.workspace = true\n[dev-dependencies]\nxtask = \"1\"\n");
        let files = [
            ("crates/core/Cargo.toml", &*core),
            ("crates/device/Cargo.toml", &device),
            ("crates/cli/Cargo.toml", &cli),
        ];
        assert_eq!(findings(check, &files), [""; 0]);

        let up = package("scrubjay-device", "scrubjay-sim.workspace = true\n");
        let message = "crates/device/Cargo.toml:4: device (layer 3) depends on sim (layer 5): arrows point down";
        assert_eq!(findings(check, &[("crates/device/Cargo.toml", &up)]), [message]);
        let level = package("scrubjay-device", "scrubjay-trace.workspace = true\n");
        assert_eq!(findings(check, &[("crates/device/Cargo.toml", &level)]).len(), 1);
        let top = package("scrubjay-device", "scrubjay = \"1\"\n");
        assert_eq!(findings(check, &[("crates/device/Cargo.toml", &top), ("crates/cli/Cargo.toml", &cli)]).len(), 3);
    }

    #[test]
    fn the_core_is_pure_and_every_crate_needs_a_layer() {
        let impure = package("scrubjay-core", "libc = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n");
        let message = "crates/core/Cargo.toml:4: core may depend on nothing but scrubjay-code, not on libc";
        assert_eq!(findings(check, &[("crates/core/Cargo.toml", &impure)]), [message]);
        let watch = package("scrubjay-watch", "scrubjay-core = \"1\"\nserde = \"1\"\n");
        let message = "crates/watch/Cargo.toml:5: watch may depend on nothing but scrubjay-core, not on serde";
        assert_eq!(findings(check, &[("crates/watch/Cargo.toml", &watch)]), [message]);
        let derives = package("scrubjay-watch", "serde = { workspace = true, optional = true }\n");
        assert_eq!(findings(check, &[("crates/watch/Cargo.toml", &derives)]), [""; 0]);
        let writes = package("scrubjay-watch", "serde_json = { workspace = true, optional = true }\n");
        assert_eq!(findings(check, &[("crates/watch/Cargo.toml", &writes)]).len(), 1);
        assert_eq!(findings(check, &[("crates/attic/Cargo.toml", &package("scrubjay-attic", ""))]).len(), 1);
    }

    #[test]
    fn proof_does_not_ship() {
        let cli = package("scrubjay", "scrubjay-proof.workspace = true\n");
        let message = "crates/cli/Cargo.toml:4: cli depends on proof, which is for tests: make it a dev-dependency";
        assert_eq!(findings(check, &[("crates/cli/Cargo.toml", &cli)]), [message]);
    }

    #[test]
    fn tests_may_use_crates_of_their_layer_but_not_in_circles() {
        let trace = package("scrubjay-trace", "[dev-dependencies]\nscrubjay-device = \"1\"\n");
        let device = package("scrubjay-device", "");
        assert_eq!(
            findings(check, &[("crates/trace/Cargo.toml", &trace), ("crates/device/Cargo.toml", &device)]),
            [""; 0]
        );
        let back = package("scrubjay-device", "[dev-dependencies]\nscrubjay-trace = \"1\"\n");
        assert_eq!(
            findings(check, &[("crates/trace/Cargo.toml", &trace), ("crates/device/Cargo.toml", &back)]).len(),
            2
        );
    }
}
