//! Rule: every link of a document to a file of the repository leads there, and so does its anchor.

use super::finding::TidyFinding;
use crate::tree::{SourceFile, Tree};
use std::collections::BTreeSet;
use std::path::{Component, Path};

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (number, target) in links(file) {
            if let Some(why) = fault(tree, file, target) {
                findings.push(TidyFinding::at(&file.path, number, format!("the link to {target} is dead: {why}")));
            }
        }
    }
    findings
}

/// The targets of `[text](target)`, with their lines; none in fenced blocks, and none to other hosts.
fn links(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut is_fenced = false;
    let mut links = Vec::new();
    for (number, line) in file.lines() {
        is_fenced ^= line.trim_start().starts_with("```");
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        links.extend(targets.filter(|target| !is_fenced && !target.contains("://")).map(|target| (number, target)));
    }
    links
}

/// Why a link leads nowhere; `None`: it does not.
fn fault(tree: &Tree, file: &SourceFile, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.path.clone() } else { joined(&file.path, path) };
    let is_inside = |other: &SourceFile| other.path == path || other.path.starts_with(&format!("{path}/"));
    if !tree.files.iter().any(is_inside) && !is_binary(&path) {
        return Some(format!("there is no {path}"));
    }
    let document = tree.files.iter().find(|other| other.path == path);
    let has_anchor = document.is_none_or(|document| anchors(document).contains(anchor));
    (!anchor.is_empty() && !has_anchor).then(|| format!("{path} has no heading #{anchor}"))
}

/// A file that the tree does not hold, because it is no text.
fn is_binary(path: &str) -> bool {
    Path::new(path).is_file()
}

/// A path that is relative to the folder of `document`, from the root.
fn joined(document: &str, path: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for component in Path::new(path.trim_end_matches('/')).components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.extend(name.to_str()),
            _ => {}
        }
    }
    parts.join("/")
}

/// The anchors of a document's headings: lower case, blanks as hyphens, without other punctuation.
fn anchors(document: &SourceFile) -> BTreeSet<String> {
    let headings =
        document.lines().filter_map(|(_, line)| line.strip_prefix('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| -> String {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|char| char.is_alphanumeric() || matches!(char, '-' | '_')).collect()
    };
    headings.map(anchor).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn dead_links_and_anchors_are_found() {
        let readme = "[a](docs/a.md) [b](docs/b.md#one)\n[c](docs/a.md#two-and-3) [d](https://example.org/x)\n[e](#here)\n```\n[f](no.md)\n```\n";
        let files =
            [("README.md", readme), ("docs/a.md", "# A\n## Two, and 3\n[up](../README.md)\n"), ("docs/c/x.md", "")];
        assert_eq!(
            findings(check, &files),
            [
                "README.md:1: the link to docs/b.md#one is dead: there is no docs/b.md",
                "README.md:3: the link to #here is dead: README.md has no heading #here",
            ]
        );
    }
}
