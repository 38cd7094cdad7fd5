//! Rule: `unsafe` stands only in the crates that need it, and each time a comment above explains why it is sound.

use super::code;
use super::finding::TidyFinding;
use crate::tree::{SourceFile, Tree};

/// The crates that may have `unsafe`: for the kernel's interfaces, and for vector instructions.
const ALLOWED: &[&str] = &["crates/device/", "crates/code/"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    tree.rust().flat_map(in_file).collect()
}

fn in_file(file: &SourceFile) -> Vec<TidyFinding> {
    let code = code::without_prose(&file.text);
    let code_lines: Vec<&str> = code.lines().collect();
    let lines: Vec<&str> = file.text.lines().collect();
    let allowed = ALLOWED.iter().any(|dir| file.path.starts_with(dir));
    let mut findings = Vec::new();
    for index in (0..code_lines.len()).filter(|&index| has_unsafe(code_lines[index])) {
        if !allowed {
            findings.push(TidyFinding::at(
                &file.path,
                index + 1,
                format!("`unsafe` outside {}", ALLOWED.join(" and ")),
            ));
        } else if !is_explained(&lines, &code_lines, index) {
            findings.push(TidyFinding::at(
                &file.path,
                index + 1,
                "`unsafe` without a `SAFETY:` comment directly above",
            ));
        }
    }
    findings
}

/// Whether the line has the keyword, except in the type of a function pointer.
fn has_unsafe(line: &str) -> bool {
    const KEYWORD: &str = "unsafe";
    line.match_indices(KEYWORD).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + KEYWORD.len()..]);
        let is_whole =
            !before.bytes().next_back().is_some_and(code::is_word) && !after.bytes().next().is_some_and(code::is_word);
        let is_type = before.trim_end().ends_with([':', '=', '<', '(', '&', ',']) && names_fn_type(after);
        is_whole && !is_type
    })
}

/// Whether `unsafe` is followed by `fn(` or `extern "C" fn(` (the string is blank here), without a name: a type.
fn names_fn_type(after: &str) -> bool {
    let after = after.trim_start();
    let after = after.strip_prefix("extern").map_or(after, str::trim_start);
    after.strip_prefix("fn").is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// Whether the comment above the line, or above the statement that the line continues, contains `SAFETY:` (or, as rustdoc
/// requires for an `unsafe fn`, `# Safety`).
fn is_explained(lines: &[&str], code_lines: &[&str], index: usize) -> bool {
    let mut in_comment = false;
    for above in (0..index).rev() {
        let (line, code) = (lines[above].trim(), code_lines[above].trim());
        if line.starts_with("//") {
            if line.contains("SAFETY:") || line.contains("# Safety") {
                return true;
            }
            in_comment = true;
        } else if in_comment || line.is_empty() || (!code.starts_with("#[") && code.ends_with([';', '{', '}'])) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn unsafe_belongs_in_two_crates() {
        let text = "// SAFETY: it is.\nunsafe { f() }\n";
        assert_eq!(findings(check, &[("crates/core/src/a.rs", text)]).len(), 1);
        assert!(findings(check, &[("crates/device/src/a.rs", text), ("crates/code/src/a.rs", text)]).is_empty());
        let forbids = "#![forbid(unsafe_code)]\n// unsafe in prose\nlet x = \"unsafe\";\n";
        assert!(findings(check, &[("crates/core/src/a.rs", forbids)]).is_empty());
    }

    #[test]
    fn each_unsafe_is_explained_directly_above() {
        let device = |text: &str| findings(check, &[("crates/device/src/a.rs", text)]).len();
        for explained in [
            "// SAFETY: a\n// long one.\nunsafe { f() }\n",
            "// SAFETY: on top of the statement.\nlet x =\n    unsafe { f() };\n",
            "// SAFETY: behind an attribute.\n#[inline]\nunsafe impl Send for X {}\n",
            "/// Does.\n///\n/// # Safety\n/// Only on Sundays.\npub unsafe fn f() {}\n",
            "type F = unsafe extern \"C\" fn(u32);\nlet f: unsafe fn() = g;\n",
        ] {
            assert_eq!(device(explained), 0, "{explained}");
        }
        for bare in [
            "unsafe { f() }\n",
            "// Trust me.\nunsafe { f() }\n",
            "// SAFETY: too far.\n\nunsafe { f() }\n",
            "// SAFETY: of another.\nlet x = unsafe { f() };\nlet y = unsafe { f() };\n// SAFETY: z\n",
        ] {
            assert_eq!(device(bare), 1, "{bare}");
        }
    }
}
