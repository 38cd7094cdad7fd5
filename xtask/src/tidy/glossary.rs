//! Rule: the words that docs/glossary.md gave up are not used again, in names or in comments.

use super::finding::TidyFinding;
use crate::tree::Tree;

/// The file of the words, which stand in the first column of the table after this heading.
const PATH: &str = "docs/glossary.md";
const HEADING: &str = "## Words that were given up";

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let Some(glossary) = tree.files.iter().find(|file| file.path == PATH) else { return Vec::new() };
    let retired = retired(&glossary.text);
    if retired.is_empty() {
        return vec![TidyFinding::at(PATH, 1, format!("there is no table under \"{HEADING}\""))];
    }
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !file.path.ends_with("tidy/glossary.rs")) {
        for (index, line) in file.text.lines().enumerate() {
            let words = line.split(|char: char| !char.is_ascii_alphanumeric());
            for (word, instead) in words.filter_map(|word| retired.iter().find(|(retired, _)| *retired == word)) {
                let message = format!("\"{word}\" is given up in {PATH}; say: {instead}");
                findings.push(TidyFinding::at(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// Each word that was given up, and its replacement.
fn retired(glossary: &str) -> Vec<(&str, &str)> {
    let rows = glossary.lines().skip_while(|line| *line != HEADING).filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").split_once(" | "));
    // The first row is the head of the table.
    cells.skip(1).flat_map(|(words, instead)| words.split(", ").map(move |word| (word, instead))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_were_given_up_are_found_in_names_and_comments() {
        let glossary = "# Glossary\n| given up | not here |\n\n## Words that were given up\n| given up | say |\n|---|---|\n\
                        | habit, wont | I/O path |\n";
        let code = "/// A habit of the kernel.\nfn habit_of(habitat: u8) {}\n// Wont, or won't.\n";
        let tree = Tree::of(&[(PATH, glossary), ("crates/a/src/a.rs", code)]);
        assert_eq!(retired(glossary), [("habit", "I/O path"), ("wont", "I/O path")]);
        let found = check(&tree);
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(check(&Tree::of(&[(PATH, "# Glossary\n")])).len(), 1);
    }
}
