//! `cargo xtask tidy`: the rules of the house that no compiler checks. A rule is a file and a line in the table.

mod circles;
mod code;
mod extension;
mod finding;
mod floors;
mod glossary;
mod length;
mod manifest;
mod map;
mod names;
mod opening;
mod paths;
mod rooms;
mod text;
mod unsafety;
mod words;

use crate::tree::Tree;
use anyhow::{Result, bail};
use finding::TidyFinding;

/// Looks at the whole tree, says all that is against the rule.
type Rule = fn(&Tree) -> Vec<TidyFinding>;

const RULES: &[Rule] = &[
    floors::check,    // arrows between crates point down
    rooms::check,     // the scrub, the volume and the probe do not know one another
    circles::check,   // no circles between the files of a crate
    length::check,    // no file that nobody can read in one go
    words::check,     // nothing left undone
    unsafety::check,  // `unsafe` where it belongs, and explained
    opening::check,   // every source says first what it is
    names::check,     // no type bears the name of another
    glossary::check,  // words that were given up stay so
    extension::check, // where ARCHITECTURE.md says that the next one goes, there it goes
    text::check,      // no stray white space, nothing that points out of the repository
];

/// Prints every finding, one a line; true when there is none. With `--map`: how the house stands, instead.
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
