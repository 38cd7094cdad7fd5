//! Rule: no program finds out what happened by reading a sentence that another part of Scrubjay wrote: sentences are mended, and nobody
//! knows that they are read. What other programs print is read in files of a table.

use super::code;
use super::finding::TidyFinding;
use crate::tree::Tree;

/// Methods that ask what is in a text.
const ASKING: [&str; 10] = [
    ".contains(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".split_once(\"",
    ".find(\"",
    ".split(\"",
    ".trim_start_matches(\"",
    ".trim_end_matches(\"",
];

/// Files, or folders, that read what the kernel and other programs print, and files of a form of our own.
const READ_OTHERS: [&str; 10] = [
    "crates/core/src/scrub/recording.rs",
    "crates/core/src/scrub/saved.rs",
    "crates/daemon/src/discovery/",
    "crates/daemon/src/smartctl/",
    "crates/daemon/src/zfs/",
    "crates/device/src/",
    "crates/jobs/src/fio.rs",
    "crates/trace/src/",
    "fuzz/",
    "xtask/",
];

/// Rooms in which also a bare word counts: they see no other program's words.
const SEE_ONLY_OURS: [&str; 5] = ["cli", "control", "lab", "watch", "web"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let is_test = file.path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "examples" | "sound.rs"));
        if is_test || READ_OTHERS.iter().any(|place| file.path.starts_with(place)) {
            continue;
        }
        let room = file.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let code = code::without_tests(&code::without_prose(&file.text));
        for (index, (line, code)) in file.text.lines().zip(code.lines()).enumerate() {
            for method in ASKING {
                let call = &method[..method.len() - 1];
                let starts = line.match_indices(method).map(|(at, _)| at).filter(|&at| code[at..].starts_with(call));
                for literal in starts.filter_map(|at| line[at + method.len()..].split('"').next()) {
                    if is_sentence(literal) || SEE_ONLY_OURS.contains(&room) && is_bare_word(literal) {
                        let message = format!("`{literal}` is looked for in a text: ask a value, not a sentence");
                        findings.push(TidyFinding::at(&file.path, index + 1, message));
                    }
                }
            }
        }
    }
    findings
}

/// Two words or more.
fn is_sentence(literal: &str) -> bool {
    let is_word = |word: &&str| word.trim_matches([',', ':', '.']).bytes().all(|byte| byte.is_ascii_alphabetic());
    literal.split_whitespace().filter(|word| word.len() > 1 && is_word(word)).count() > 1
}

fn is_bare_word(literal: &str) -> bool {
    literal.len() > 3 && literal.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn a_sentence_that_is_read_is_found_and_what_others_print_is_not() {
        let text = "fn f(text: &str) -> bool {\n    text.ends_with(\": only by force\") || text.contains(\"/dev/\")\n}\n#[cfg(test)]\nmod tests {\n    fn g() {\n        assert!(f().contains(\"two words\"));\n    }\n}\n";
        let message =
            |path| format!("{path}:2: `: only by force` is looked for in a text: ask a value, not a sentence");
        assert_eq!(findings(check, &[("crates/cli/src/a.rs", text)]), [message("crates/cli/src/a.rs")]);
        assert_eq!(findings(check, &[("crates/device/src/a.rs", text)]), [""; 0]);
        let word = "fn f(text: &str) -> bool { text.starts_with(\"proven\") }\n";
        assert_eq!(findings(check, &[("crates/web/src/a.rs", word)]).len(), 1);
        assert_eq!(findings(check, &[("crates/jobs/src/a.rs", word)]), [""; 0]);
    }
}
