//! Rule: nothing is left undone, no test is switched off.

use super::code;
use super::finding::TidyFinding;
use crate::tree::Tree;

/// Words that must not occur in code; prose and strings may have them. In two parts each, so that a plain search of the tree
/// does not find these.
const WORDS: &[&str] = &[concat!("todo", "!"), concat!("unimplemented", "!"), concat!("#[", "ignore")];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (index, line) in code::without_prose(&file.text).lines().enumerate() {
            for word in WORDS.iter().filter(|word| line.contains(**word)) {
                findings.push(TidyFinding::at(&file.path, index + 1, format!("`{word}`")));
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
        let [stub, _, switched_off] = WORDS else { panic!("three words") };
        let text = format!(
            "// {stub} in prose\nfn f() {{\n    {stub}()\n}}\nconst WORD: &str = \"{switched_off}\";\n{switched_off} = \"slow\"]\n"
        );
        let expected = [format!("a.rs:3: `{stub}`"), format!("a.rs:6: `{switched_off}`")];
        assert_eq!(findings(check, &[("a.rs", &text)]), expected);
    }
}
