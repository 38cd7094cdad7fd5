//! Rule: no two types have the same name. A reader who meets `Kind` should not have to ask which of eleven it is.

use super::code;
use super::finding::TidyFinding;
use crate::tree::{SourceFile, Tree};
use std::collections::BTreeMap;

/// Keywords that declare a type.
const KINDS: [&str; 4] = ["struct", "enum", "trait", "union"];

/// A type and its declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared<'a> {
    /// Its name.
    pub name: String,
    /// Path of the file.
    pub path: &'a str,
    /// Line, from 1.
    pub line: usize,
}

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let types = types(tree);
    let shared = shared(&types);
    let finding = |declared: &Declared<'_>| {
        let other = shared.iter().find(|other| other.name == declared.name && *other != declared)?;
        let message = format!(
            "{} is also a type of {}:{}: name one of them for what it is",
            declared.name, other.path, other.line
        );
        Some(TidyFinding::at(declared.path, declared.line, message))
    };
    shared.iter().filter_map(finding).collect()
}

/// Every type that the project declares outside its tests, in the order of the files.
pub fn types(tree: &Tree) -> Vec<Declared<'_>> {
    tree.rust().filter(|file| is_product(&file.path)).flat_map(of_file).collect()
}

/// The types whose name another type has, too.
pub fn shared<'a>(types: &[Declared<'a>]) -> Vec<Declared<'a>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for declared in types {
        *counts.entry(&declared.name).or_default() += 1;
    }
    types.iter().filter(|declared| counts[declared.name.as_str()] > 1).cloned().collect()
}

/// `count` as a percentage of `of`.
pub fn percent(count: usize, of: usize) -> f64 {
    count as f64 * 100.0 / of.max(1) as f64
}

/// Is it a source of what ships or of xtask, and not of a test?
fn is_product(path: &str) -> bool {
    path.contains("/src/") && !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

fn of_file(file: &SourceFile) -> Vec<Declared<'_>> {
    let code = code::without_tests(&code::without_prose(&file.text));
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut words = line.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty());
        // `pub(in crate::x) struct Name`, `union Name`: nothing but visibility may come before it.
        let before = |word: &&str| matches!(*word, "pub" | "crate" | "super" | "self" | "in");
        let kind = words.by_ref().find(|word| !before(word));
        // The name of a macro's type is an argument.
        let is_argument = |name: &&str| line.contains(&format!("${name}"));
        let name = words.next().filter(|name| !is_argument(name));
        if let (Some(true), Some(name)) = (kind.map(|kind| KINDS.contains(&kind)), name) {
            found.push(Declared { name: name.to_owned(), path: &file.path, line: index + 1 });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_counted_once_and_those_of_tests_not_at_all() {
        let tree = Tree::of(&[
            (
                "crates/a/src/a.rs",
                "pub struct Kind;\n/// struct Not\npub(crate) enum Way {}\nfn f() { let union = 1; }\n",
            ),
            ("crates/b/src/b.rs", "trait Kind {}\n#[cfg(test)]\nmod tests {\n    struct Way;\n}\nstruct Own<T>(T);\n"),
            ("crates/b/src/b/tests.rs", "struct Own;\n"),
            ("crates/b/tests/t.rs", "struct Own;\n"),
        ]);
        let types = types(&tree);
        let names: Vec<&str> = types.iter().map(|declared| declared.name.as_str()).collect();
        assert_eq!(names, ["Kind", "Way", "Kind", "Own"]);
        let shared = shared(&types);
        assert_eq!(
            shared.iter().map(|declared| (declared.path, declared.line)).collect::<Vec<_>>(),
            [("crates/a/src/a.rs", 1), ("crates/b/src/b.rs", 1)]
        );
        assert_eq!((percent(shared.len(), types.len()), check(&tree).len()), (50.0, 2));
    }
}
