//! Rule: nothing is left undone, no test is switched off.

use super::code;
use super::finding::Finding;
use crate::tree::Tree;

/// Looked for in code only; prose and strings (these, too) may speak of them.
const WORDS: &[&str] = &["todo!", "unimplemented!", "#[ignore"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (index, line) in code::without_prose(&file.text).lines().enumerate() {
            for word in WORDS.iter().filter(|word| line.contains(**word)) {
                findings.push(Finding::at(&file.path, index + 1, format!("`{word}`")));
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
    fn words_count_in_code_and_not_in_prose() {
        let text =
            "// todo! in prose\nfn f() {\n    todo!()\n}\nconst WORD: &str = \"#[ignore\";\n#[ignore = \"slow\"]\n";
        assert_eq!(findings(check, &[("a.rs", text)]), ["a.rs:3: `todo!`", "a.rs:6: `#[ignore`"]);
    }
}
