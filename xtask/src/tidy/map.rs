//! `cargo xtask tidy --map`: the structure of the project, in lines: layers, dependencies, circles, lengths and names.

use super::{circles, layers, names};
use crate::tree::Tree;
use std::fmt::Write as _;

/// The map as text.
pub fn of(tree: &Tree) -> String {
    let mut map = String::new();
    let places = layers::places(tree);
    for place in &places {
        let _ = writeln!(map, "layer {}  {:<8} -> {}", place.layer, place.name, place.uses.join(" "));
    }
    let layer = |name: &str| places.iter().find(|place| place.name == name).map_or(0, |place| place.layer);
    let arrows: Vec<(u32, u32)> =
        places.iter().flat_map(|place| place.uses.iter().map(move |to| (place.layer, layer(to)))).collect();
    let up = arrows.iter().filter(|(from, to)| to >= from).count();
    let _ = writeln!(map, "arrows between crates: {}, of which up or level: {up}", arrows.len());

    let circles: Vec<String> = circles::of_modules(tree)
        .into_iter()
        .flat_map(|(root, groups)| groups.into_iter().map(move |group| format!("{root}: {}", group.join(" <-> "))))
        .collect();
    let _ = writeln!(map, "circles between files: {}", circles::check(tree).len());
    let _ = writeln!(map, "circles between modules of the top level: {}", circles.len());
    for circle in circles {
        let _ = writeln!(map, "  {circle}");
    }

    let mut lengths: Vec<(usize, &str)> = tree.rust().map(|file| (file.lines().count(), file.path.as_str())).collect();
    lengths.sort_unstable();
    if let (Some((longest, path)), Some((median, _))) = (lengths.last(), lengths.get(lengths.len() / 2)) {
        let _ = writeln!(map, "Rust files: {}, median {median} lines, longest {longest} ({path})", lengths.len());
    }
    let types = names::types(tree);
    let shared = names::shared(&types);
    let percent = names::percent(shared.len(), types.len());
    let _ = writeln!(map, "types: {}, of which {} ({percent:.1} %) bear another's name", types.len(), shared.len());
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_lists_layers_arrows_and_shared_names() {
        let package = |name: &str, uses: &str| format!("[package]\nname = \"{name}\"\n[dependencies]\n{uses}");
        let (core, device) = (package("scrubjay-core", ""), package("scrubjay-device", "scrubjay-core = \"1\"\n"));
        let tree = Tree::of(&[
            ("crates/core/Cargo.toml", &core),
            ("crates/core/src/lib.rs", "pub struct Kind;\n"),
            ("crates/device/Cargo.toml", &device),
            ("crates/device/src/lib.rs", "pub enum Kind {}\npub struct Device;\n\n"),
        ]);
        let map = of(&tree);
        assert!(map.starts_with("layer 3  device   -> core\nlayer 2  core     -> \n"), "{map}");
        assert!(map.contains("arrows between crates: 1, of which up or level: 0\n"), "{map}");
        assert!(map.contains("Rust files: 2, median 3 lines, longest 3 (crates/device/src/lib.rs)\n"), "{map}");
        assert!(map.ends_with("types: 3, of which 2 (66.7 %) bear another's name\n"), "{map}");
    }
}
