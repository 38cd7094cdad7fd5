//! `cargo xtask tidy`: the project's rules that no compiler checks. A rule is a file and a row in the table.

mod circles;
mod code;
mod extension;
pub mod finding;
mod glossary;
mod layers;
mod length;
mod links;
mod manifest;
mod map;
mod names;
mod opening;
mod paths;
mod reach;
mod readme;
mod rooms;
mod sentences;
mod text;
mod unsafety;
mod words;

use crate::tree::Tree;
use crate::typed;
use anyhow::{Result, bail};
use finding::TidyFinding;

/// Checks the whole tree, and returns all violations of the rule.
type Rule = fn(&Tree) -> Vec<TidyFinding>;

const RULES: &[Rule] = &[
    layers::check,    // dependencies between crates point down
    reach::check,     // nor do some crates reach what they must not, through others
    rooms::check,     // the scrub, the volume, the probe and the bench do not use one another
    circles::check,   // no circles between the files of a crate
    length::check,    // no file that is too long
    words::check,     // nothing left undone, no test switched off
    unsafety::check,  // `unsafe` only where it belongs, and explained
    opening::check,   // every source begins with a line on what it is
    names::check,     // no two types with the same name
    sentences::check, // no program reads the sentences of another part
    glossary::check,  // no words that were given up
    extension::check, // extensions go where ARCHITECTURE.md states
    links::check,     // no link of a document leads nowhere
    readme::check,    // README.md stays short
    typed::check,     // what a document tells people to type has a row that says who types it
    text::check,      // no trailing white space, nothing that points out of the repository
];

/// Prints every finding, one per line; true when there is none. With `--map`: prints the structure of the project instead.
///
/// # Errors
/// When the tree cannot be read.
pub fn run(arguments: &[String]) -> Result<bool> {
    let tree = Tree::of_git()?;
    match arguments {
        [] => {}
        [option] if option == "--map" => {
            print!("{}", map::of(&tree));
            return Ok(true);
        }
        _ => bail!("what is {}? There is only --map", arguments.join(" ")),
    }
    let mut findings: Vec<TidyFinding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), findings.len());
    Ok(findings.is_empty())
}
