//! Rule: the files of a crate do not use each other in circles.
//!
//! File A uses file B when a path in A (`crate::b::X`, `super::b::X`, `b::X` below `mod b;`) leads into B. Declaring a
//! module is not a use, tests do not count, and a path through a re-export leads to the file that defines the name.
//!
//! One shape is allowed, because it is how the project is extended ("one new file and one line in a table"): a `mod.rs` with
//! a contract (a trait, and the types in it) and the table of its implementations, each a child file. There the parent
//! names the child in the table, and the child names the parent's contract. A child's use of its own parent is therefore
//! forgiven when the parent defines a trait, and the thing used is a type, a trait or a constant that the parent itself
//! defines. It is forgiven between these two only: a longer circle through a file outside the parent's folder still counts.
//! A use of the parent's *functions* stays forbidden: they belong in a file of their own.

use super::code;
use super::finding::TidyFinding;
use super::paths::{Paths, UsePath};
use crate::tree::{SourceFile, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A chain of more re-exports (count) is taken for a loop.
const REEXPORTS_MAX: usize = 8;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in tree.rust() {
        // Further binaries, tests and examples count as crates of one file.
        if let Some((root, _)) = file.path.split_once("/src/").filter(|(_, rest)| !rest.starts_with("bin/")) {
            crates.entry(root).or_default().push(file);
        }
    }
    crates.into_values().flat_map(|files| Graph::of(&files).findings()).collect()
}

/// For each crate (its folder): the groups of top-level modules that use each other in a circle, even though their files
/// do not.
pub fn of_modules(tree: &Tree) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in tree.rust() {
        if let Some((root, _)) = file.path.split_once("/src/").filter(|(_, rest)| !rest.starts_with("bin/")) {
            crates.entry(root).or_default().push(file);
        }
    }
    crates.into_iter().map(|(root, files)| (root.to_owned(), Graph::of(&files).circles_of_modules())).collect()
}

/// The files of one crate, by index, and which uses which.
struct Graph<'a> {
    modules: Vec<Module<'a>>,
    /// Line of the first use, by (from, to).
    edges: BTreeMap<(usize, usize), usize>,
    /// Line of the first use of a parent's contract by its child, by (child, parent).
    forgiven: BTreeMap<(usize, usize), usize>,
}

/// One file as a module.
struct Module<'a> {
    file: &'a SourceFile,
    /// Its path from the crate's root, whose own path is empty.
    path: Vec<String>,
    paths: Paths,
}

impl<'a> Graph<'a> {
    fn of(files: &[&'a SourceFile]) -> Graph<'a> {
        let module =
            |file: &&'a SourceFile| Module { file, path: module_path(&file.path), paths: Paths::of(&file.text) };
        let mut graph =
            Graph { modules: files.iter().map(module).collect(), edges: BTreeMap::new(), forgiven: BTreeMap::new() };
        for from in 0..graph.modules.len() {
            for used in &graph.modules[from].paths.uses {
                let (to, item) = graph.definition(from, used);
                if to == from {
                    continue;
                }
                let is_forgiven = graph.is_parent(to, from) && is_contract(&graph.modules[to].file.text, item);
                let edges = if is_forgiven { &mut graph.forgiven } else { &mut graph.edges };
                edges.entry((from, to)).or_insert(used.line);
            }
        }
        graph
    }

    /// The file that defines what a path in `from` names, and the name. Follows re-exports.
    fn definition<'u>(&'u self, from: usize, used: &'u UsePath) -> (usize, Option<&'u str>) {
        let (mut at, mut item) = self.resolve(from, used);
        for _ in 0..REEXPORTS_MAX {
            let imported =
                self.modules[at].paths.uses.iter().find(|import| at != from && Some(import.name.as_str()) == item);
            let Some(import) = imported else { break };
            (at, item) = self.resolve(at, import);
        }
        (at, item)
    }

    /// The file that a path in `from` leads to, and the first name behind it.
    fn resolve<'u>(&self, from: usize, used: &'u UsePath) -> (usize, Option<&'u str>) {
        let mut at: Vec<&str> = self.modules[from].path.iter().chain(&used.enclosing).map(String::as_str).collect();
        let mut rest = used.segments.iter().map(String::as_str).peekable();
        while let Some(&segment) = rest.peek() {
            match segment {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            rest.next();
        }
        while let Some(&segment) = rest.peek() {
            at.push(segment);
            if self.module(from, &at).is_none() {
                at.pop();
                break;
            }
            rest.next();
        }
        // An inline module belongs to the file around it.
        loop {
            if let Some(index) = self.module(from, &at) {
                return (index, rest.peek().copied());
            }
            if at.pop().is_none() {
                return (from, None);
            }
        }
    }

    /// The file of a module. `lib.rs` and `main.rs` share the root: each is its own; for the other files it is `lib.rs`.
    fn module(&self, from: usize, path: &[&str]) -> Option<usize> {
        if path.is_empty() && self.modules[from].path.is_empty() {
            return Some(from);
        }
        self.modules.iter().position(|module| module.path == path)
    }

    /// Whether `parent` is the module directly above `child`, and declares it.
    fn is_parent(&self, parent: usize, child: usize) -> bool {
        let (parent, child) = (&self.modules[parent], &self.modules[child]);
        child
            .path
            .split_last()
            .is_some_and(|(name, above)| above == parent.path && parent.paths.children.contains(name))
    }

    fn findings(&self) -> Vec<TidyFinding> {
        let mut findings = Vec::new();
        let mut reported: BTreeSet<usize> = BTreeSet::new();
        for start in 0..self.modules.len() {
            if let Some(circle) = self.route(start, start, |_| true).filter(|_| !reported.contains(&start)) {
                reported.extend(&circle);
                findings.push(self.finding(&circle, self.edges[&(circle[0], circle[1])]));
            }
        }
        for (&(child, parent), &line) in &self.forgiven {
            if let Some(circle) = self.outside_circle(child, parent) {
                findings.push(self.finding(&circle, line));
            }
        }
        findings
    }

    /// Top-level modules that reach each other; the root, which declares them all, does not count.
    fn circles_of_modules(&self) -> Vec<Vec<String>> {
        let top = |index: usize| self.modules[index].path.first().map(String::as_str);
        let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for &(from, to) in self.edges.keys() {
            if let (Some(from), Some(to)) = (top(from), top(to))
                && from != to
            {
                uses.entry(from).or_default().insert(to);
            }
        }
        let reached = |start: &str| {
            let mut reached: BTreeSet<&str> = BTreeSet::new();
            let mut next: Vec<&str> = uses.get(start).into_iter().flatten().copied().collect();
            while let Some(module) = next.pop() {
                if reached.insert(module) {
                    next.extend(uses.get(module).into_iter().flatten());
                }
            }
            reached
        };
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for &module in uses.keys() {
            let reached_modules = reached(module);
            if reached_modules.contains(module) {
                let circle = reached_modules.iter().filter(|other| reached(other).contains(module));
                circles.insert(circle.map(|other| (*other).to_owned()).collect());
            }
        }
        circles.into_iter().collect()
    }

    /// A circle that starts with the forgiven use of `parent` by `child`, and returns through a file outside their folder.
    fn outside_circle(&self, child: usize, parent: usize) -> Option<Vec<usize>> {
        let family = &self.modules[parent].path;
        let outsiders = (0..self.modules.len()).filter(|&index| !self.modules[index].path.starts_with(family));
        outsiders.into_iter().find_map(|outsider| {
            let mut circle = vec![child];
            circle.extend(self.route(parent, outsider, |_| true)?);
            circle.extend(self.route(outsider, child, |index| index != parent)?.into_iter().skip(1));
            Some(circle)
        })
    }

    /// A shortest way along the uses from `start` to `end` (at least one step), with both ends, over files that
    /// `is_allowed` allows.
    fn route(&self, start: usize, end: usize, is_allowed: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let mut previous: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &(_, to) in self.edges.range((at, 0)..=(at, usize::MAX)).map(|(edge, _)| edge) {
                if previous.contains_key(&to) || !is_allowed(to) {
                    continue;
                }
                previous.insert(to, at);
                if to == end {
                    let mut route = vec![end];
                    while route.len() == 1 || route[route.len() - 1] != start {
                        route.push(previous[&route[route.len() - 1]]);
                    }
                    route.reverse();
                    return Some(route);
                }
                queue.push_back(to);
            }
        }
        None
    }

    fn finding(&self, circle: &[usize], line: usize) -> TidyFinding {
        let paths: Vec<&str> = circle.iter().map(|&index| self.modules[index].file.path.as_str()).collect();
        TidyFinding::at(paths[0], line, format!("circle: {}", paths.join(" -> ")))
    }
}

/// `crates/x/src/a/b.rs` is `a::b`, `a/mod.rs` is `a`, `lib.rs` and `main.rs` are the root.
fn module_path(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let mut parts: Vec<String> = inside.split('/').map(str::to_owned).collect();
    let is_named_by_folder = parts.last().is_some_and(|name| name == "mod") || matches!(inside, "lib" | "main");
    if is_named_by_folder {
        parts.pop();
    }
    parts
}

/// Whether `item` is part of the contract in a file with this text.
fn is_contract(text: &str, item: Option<&str>) -> bool {
    let code = code::without_prose(text);
    let words: Vec<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let defines = |kind: &str, name: &str| words.windows(2).any(|pair| pair == [kind, name]);
    let Some(item) = item.filter(|_| words.contains(&"trait")) else { return false };
    ["trait", "struct", "enum", "type", "const"].iter().any(|kind| defines(kind, item))
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn a_straight_line_is_no_circle() {
        let files = [
            ("crates/x/src/lib.rs", "pub mod a;\npub mod b;\npub use a::A;\n"),
            ("crates/x/src/a.rs", "use crate::b::B;\nuse super::b;\n"),
            ("crates/x/src/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
            ("crates/y/src/b.rs", "use crate::a::A;\n"),
            ("crates/x/tests/t.rs", "mod a;\nuse crate::b;\n"),
        ];
        assert_eq!(findings(check, &files), [""; 0]);
    }

    #[test]
    fn modules_can_use_each_other_where_files_do_not() {
        let tree = Tree::of(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("crates/x/src/a/mod.rs", "mod low;\nmod high;\n"),
            ("crates/x/src/a/low.rs", "\n"),
            ("crates/x/src/a/high.rs", "use crate::b::B;\n"),
            ("crates/x/src/b.rs", "use crate::a::low;\n"),
            ("crates/x/src/c.rs", "use crate::a::high;\n"),
        ]);
        assert!(check(&tree).is_empty());
        assert_eq!(of_modules(&tree)["crates/x"], [["a", "b"]]);
    }

    #[test]
    fn circles_are_reported_by_their_files() {
        let files = [
            ("crates/x/src/main.rs", "mod a;\nmod b;\nmod c;\nfn main() { a::f() }\n"),
            ("crates/x/src/a.rs", "\nuse crate::b::{self, B};\n"),
            ("crates/x/src/b/mod.rs", "fn f() { super::c::g() }\n"),
            ("crates/x/src/c.rs", "mod inner {\n    use super::super::a;\n}\n"),
        ];
        let circle = "crates/x/src/a.rs:2: circle: crates/x/src/a.rs -> crates/x/src/b/mod.rs -> crates/x/src/c.rs -> crates/x/src/a.rs";
        assert_eq!(findings(check, &files), [circle]);
    }

    #[test]
    fn two_circles_that_share_a_file_are_one_finding_at_a_time() {
        let files = [
            ("crates/x/src/a.rs", "use crate::b;\n"),
            ("crates/x/src/b.rs", "use crate::{a, c};\n"),
            ("crates/x/src/c.rs", "use crate::b;\n"),
        ];
        assert!(!findings(check, &files).is_empty());
    }

    const TABLE: &str = "mod a;\npub trait T {}\npub struct S;\nconst TABLE: &[&dyn T] = &[&a::A];\nfn helper() {}\n";

    #[test]
    fn a_table_of_children_may_hold_their_contract() {
        let family =
            |child: &str| findings(check, &[("crates/x/src/t/mod.rs", TABLE), ("crates/x/src/t/a.rs", child)]).len();
        assert_eq!(family("use super::{S, T};\n"), 0);
        assert_eq!(family("impl crate::t::T for A {}\n"), 0);
        assert_eq!(family("use super::{T, helper};\n"), 1, "a function is no contract");
        assert_eq!(family("use super::*;\n"), 1, "nor is everything");
        assert_eq!(family("use super::Unknown;\n"), 1, "nor what it does not define");
        let without_trait = [
            ("crates/x/src/t/mod.rs", "mod a;\nuse a::A;\npub struct S;\n"),
            ("crates/x/src/t/a.rs", "use super::S;\n"),
        ];
        assert_eq!(findings(check, &without_trait).len(), 1, "without a trait there is no table");
    }

    #[test]
    fn reexports_lead_to_the_file_that_defines() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub use b::B as Bee;\nuse crate::c::C;\n"),
            ("crates/x/src/a.rs", "use crate::{Bee, C};\n"),
            ("crates/x/src/b.rs", "use super::C;\n"),
            ("crates/x/src/c.rs", "\n"),
        ];
        assert_eq!(findings(check, &files), [""; 0]);
        let mut back = files;
        back[3].1 = "use super::A;\n";
        let circle = "crates/x/src/a.rs:1: circle: crates/x/src/a.rs -> crates/x/src/c.rs -> crates/x/src/a.rs";
        assert_eq!(findings(check, &back)[0], circle);
    }

    #[test]
    fn the_contract_is_forgiven_inside_the_family_only() {
        let parent = format!("{TABLE}use crate::outside;\n");
        let files = [
            ("crates/x/src/t/mod.rs", parent.as_str()),
            ("crates/x/src/t/a.rs", "use super::T;\n"),
            ("crates/x/src/outside.rs", "use crate::t::a::A;\n"),
        ];
        let found = findings(check, &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].ends_with("t/a.rs -> crates/x/src/t/mod.rs -> crates/x/src/outside.rs -> crates/x/src/t/a.rs"),
            "{found:?}"
        );
    }
}
