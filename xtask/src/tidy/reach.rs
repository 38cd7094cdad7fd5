//! Rule: some crates must not reach some packages, however far away: the page, which has no rights, is linked to no code for devices.

use super::finding::TidyFinding;
use super::manifest::Manifest;
use crate::tree::Tree;
use std::collections::BTreeMap;

/// What must not be linked into a crate: its folder, and the packages.
const MUST_NOT_REACH: [(&str, &[&str]); 4] = [
    (
        "web",
        &[
            "scrubjay-device",
            "scrubjay-serve",
            "scrubjay-sim",
            "scrubjay-trace",
            "scrubjay-jobs",
            "io-uring",
            "parquet",
            "zstd",
            "bzip2",
        ],
    ),
    ("daemon", &["scrubjay-sim", "scrubjay-trace", "scrubjay-research", "parquet", "bzip2"]),
    ("cli", &["scrubjay-sim", "scrubjay-trace", "scrubjay-research", "scrubjay-study", "parquet", "zstd", "bzip2"]),
    ("control", &["scrubjay-device", "scrubjay-serve", "scrubjay-sim", "scrubjay-trace"]),
];

/// Of each package, those that it depends on: of ours as the manifests say, without those of tests; of others as Cargo.lock says,
/// which has what any target or feature of ours needs.
type Graph = BTreeMap<String, Vec<String>>;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let graph = graph(tree);
    let mut findings = Vec::new();
    for (crate_name, forbidden) in MUST_NOT_REACH {
        let path = format!("crates/{crate_name}/Cargo.toml");
        let Some(file) = tree.files.iter().find(|file| file.path == path) else { continue };
        let start = Manifest::parse(&file.text).name;
        for package in forbidden {
            if let Some(way) = way(&graph, &start, package) {
                findings.push(TidyFinding::at(
                    &path,
                    1,
                    format!("{crate_name} must not reach {package}: {}", way.join(" -> ")),
                ));
            }
        }
    }
    findings
}

fn graph(tree: &Tree) -> Graph {
    let mut graph = Graph::new();
    if let Some(lock) = tree.files.iter().find(|file| file.path == "Cargo.lock") {
        for block in lock.text.split("[[package]]").skip(1) {
            let name = block.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or_default();
            let list = block.split_once("dependencies = [").map_or("", |(_, rest)| rest);
            let list = list.split_once(']').map_or(list, |(list, _)| list);
            // `"name"`, or `"name version"` where there are several.
            let names = list.split('"').skip(1).step_by(2).filter_map(|text| text.split(' ').next());
            graph.entry(name.trim_matches('"').to_owned()).or_default().extend(names.map(str::to_owned));
        }
    }
    for file in tree.files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
    {
        let Manifest { name, dependencies } = Manifest::parse(&file.text);
        let shipped = dependencies.into_iter().filter(|dependency| !dependency.is_dev);
        graph.insert(name, shipped.map(|dependency| dependency.package).collect());
    }
    graph
}

/// The shortest way from one package to another.
fn way(graph: &Graph, from: &str, to: &str) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&package) = reached.get(next) {
        if package == to && next > 0 {
            let mut way = vec![package.to_owned()];
            let mut at = package;
            while let Some(&before) = came_from.get(at) {
                way.push(before.to_owned());
                at = before;
            }
            way.reverse();
            return Some(way);
        }
        for target in graph.get(package).into_iter().flatten() {
            if target != from && !came_from.contains_key(target.as_str()) {
                came_from.insert(target, package);
                reached.push(target);
            }
        }
        next += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::check;

    #[test]
    fn what_is_reached_by_others_is_found_with_the_way() {
        let web = "[package]\nname = \"scrubjay-web\"\n[dependencies]\nscrubjay-chart = \"1\"\nmaud = \"1\"\n[dev-dependencies]\nparquet = \"1\"\n";
        let chart = "[package]\nname = \"scrubjay-chart\"\n[dependencies]\n";
        let lock = "[[package]]\nname = \"maud\"\ndependencies = [\n \"itoa\",\n]\n\n[[package]]\nname = \"itoa\"\ndependencies = [\n \"zstd 0.13.3\",\n]\n";
        let files = [("crates/web/Cargo.toml", web), ("crates/chart/Cargo.toml", chart)];
        assert_eq!(findings(check, &files), [""; 0], "what only its tests have is not linked");
        let files = [files[0], files[1], ("Cargo.lock", lock)];
        let message = "crates/web/Cargo.toml:1: web must not reach zstd: scrubjay-web -> maud -> itoa -> zstd";
        assert_eq!(findings(check, &files), [message]);
        let chart = "[package]\nname = \"scrubjay-chart\"\n[dependencies]\nscrubjay-sim = \"1\"\n";
        let files = [files[0], ("crates/chart/Cargo.toml", chart)];
        let message =
            "crates/web/Cargo.toml:1: web must not reach scrubjay-sim: scrubjay-web -> scrubjay-chart -> scrubjay-sim";
        assert_eq!(findings(check, &files), [message]);
    }
}
