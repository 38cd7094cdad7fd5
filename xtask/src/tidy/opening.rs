//! Rule: the first line of every source file states what it is.

use super::finding::TidyFinding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    tree.rust()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| TidyFinding::at(&file.path, 1, "the first line does not say what the file is (`//! ...`)"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn a_file_opens_with_a_doc_line() {
        assert!(findings(check, &[("a.rs", "//! What it is.\nfn f() {}\n")]).is_empty());
        for text in ["", "\n//! Late.\n", "// Plain.\n", "//!\n//! Late.\n", "use std::fmt;\n"] {
            assert_eq!(findings(check, &[("a.rs", text)]).len(), 1, "{text:?}");
        }
    }
}
