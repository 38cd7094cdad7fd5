//! Rule: what ARCHITECTURE.md states on where extensions go is true: the folders and the tables that it names exist, and
//! each trace format has a seed.

use super::code;
use super::finding::TidyFinding;
use crate::place::root;
use crate::tree::Tree;

/// The heading above the table.
const HEADING: &str = "## Where the next one goes";

/// Keywords that declare a table: `const POLICIES`, `enum Command`, `struct`.
const KINDS: [&str; 5] = ["const", "static", "enum", "struct", "trait"];

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let Some(map) = tree.files.iter().find(|file| file.path == "ARCHITECTURE.md") else { return Vec::new() };
    let rows =
        map.lines().skip_while(|(_, line)| *line != HEADING).skip(1).take_while(|(_, line)| !line.starts_with("## "));
    let mut findings = Vec::new();
    for (number, line) in rows.filter(|(_, line)| line.starts_with("| ")) {
        for word in line.split('`').skip(1).step_by(2) {
            let complaint = match (word.contains('/'), word.contains("::")) {
                (true, _) => (!is_there(tree, word)).then(|| format!("there is no `{word}`")),
                (_, true) => (!is_declared(tree, word)).then(|| format!("nothing declares `{word}`")),
                _ => None,
            };
            findings.extend(complaint.map(|message| TidyFinding::at(&map.path, number, message)));
        }
    }
    findings.extend(formats(tree));
    findings
}

/// Each trace format of the table has a seed: the fuzzer starts with it, and tests distinguish formats by it.
fn formats(tree: &Tree) -> Vec<TidyFinding> {
    const TABLE: &str = "crates/trace/src/formats/mod.rs";
    let Some(table) = tree.files.iter().find(|file| file.path == TABLE) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in table.lines() {
        let Some(name) = line.trim().strip_prefix("name: \"").and_then(|rest| rest.strip_suffix("\",")) else {
            continue;
        };
        // Most seeds are not text, and so not in the tree.
        if !root().join("fuzz/seeds").join(name).is_dir() {
            findings.push(TidyFinding::at(TABLE, number, format!("`{name}` lacks a seed in fuzz/seeds/{name}/")));
        }
    }
    findings
}

/// Is there a file of this path, below `crates/` or not? `NAME` in it stands for any name.
fn is_there(tree: &Tree, path: &str) -> bool {
    let (start, rest) = path.split_once("NAME").unwrap_or((path, ""));
    tree.files.iter().any(|file| {
        let below = file.path.strip_prefix("crates/").unwrap_or(&file.path);
        below.starts_with(start) && (rest.is_empty() || below[start.len()..].contains(rest.trim_end_matches('/')))
    })
}

/// Is the last name of `path` declared in a file whose path contains the first name?
fn is_declared(tree: &Tree, path: &str) -> bool {
    let names: Vec<&str> = path.split("::").collect();
    let (module, mut name) = (names[0], names[names.len() - 1]);
    // `Type::ALL` is a table of its type.
    if names.len() > 2 && name == "ALL" {
        name = names[names.len() - 2];
    }
    tree.rust().filter(|file| file.path.contains(module)).any(|file| {
        let code = code::without_prose(&file.text);
        let words: Vec<&str> =
            code.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty()).collect();
        words.windows(2).any(|pair| KINDS.contains(&pair[0]) && pair[1] == name)
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn a_format_has_a_seed() {
        let table = ("crates/trace/src/formats/mod.rs", "    Format {\n        name: \"new\",\n");
        let found = findings(check, &[("ARCHITECTURE.md", ""), table]);
        assert_eq!(found, ["crates/trace/src/formats/mod.rs:2: `new` lacks a seed in fuzz/seeds/new/"]);
    }

    #[test]
    fn files_and_tables_named_in_the_map_must_exist() {
        let table = |rows: &str| {
            format!("# A\n{HEADING}\n| you want | write | row |\n|---|---|---|\n{rows}\n## More\n| `no/x` |\n")
        };
        let found = |rows: &str| {
            let map = table(rows);
            findings(
                check,
                &[
                    ("ARCHITECTURE.md", &map),
                    ("crates/core/src/scrub/idle/waiting.rs", "struct Waiting;"),
                    ("crates/core/src/scrub/idle/table.rs", "pub const POLICIES: &[Kind] = &[];"),
                ],
            )
        };
        assert_eq!(found("| a policy | `core/src/scrub/idle/NAME.rs` | `idle::POLICIES` |"), [""; 0]);
        assert_eq!(found("| a policy | `core/src/scrub/idle/` | `idle::Kind::ALL` |").len(), 1, "the table is another");
        let gone = found("| a policy | `core/src/policy/NAME.rs` | `idle::CHOICES` |");
        assert_eq!(
            gone,
            [
                "ARCHITECTURE.md:5: there is no `core/src/policy/NAME.rs`",
                "ARCHITECTURE.md:5: nothing declares `idle::CHOICES`"
            ]
        );
    }
}
