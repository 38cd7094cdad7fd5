//! Rule: no text file has trailing white space, or a path that points out of the repository.

use super::finding::TidyFinding;
use crate::tree::Tree;

/// A path outside the clone, which no other clone has. (In two parts, so that this line passes.)
const OUTSIDE: &str = concat!("..", "/shared");

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if line.ends_with([' ', '\t']) {
                findings.push(TidyFinding::at(&file.path, number, "trailing white space"));
            }
            if line.contains(OUTSIDE) {
                findings.push(TidyFinding::at(&file.path, number, format!("`{OUTSIDE}` is not in the repository")));
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
    fn stray_space_and_stray_paths_are_found_in_any_file() {
        let text = format!("fine\nnot fine \ntab\t\nsee {OUTSIDE}/x\n\n");
        assert_eq!(
            findings(check, &[("notes.md", &text)]),
            [
                "notes.md:2: trailing white space".to_owned(),
                "notes.md:3: trailing white space".to_owned(),
                format!("notes.md:4: `{OUTSIDE}` is not in the repository"),
            ]
        );
    }
}
