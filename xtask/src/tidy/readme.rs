//! Rule: README.md stays short, and so do its sentences: it is a front door, not a manual.

use super::finding::TidyFinding;
use crate::tree::Tree;

/// Lines of README.md at most.
const LINES_MAX: usize = 100;
/// Words of a sentence at most.
const WORDS_MAX: usize = 30;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    let Some(file) = tree.files.iter().find(|file| file.path == "README.md") else { return Vec::new() };
    let count = file.lines().count();
    let mut findings = Vec::new();
    if count > LINES_MAX {
        findings.push(TidyFinding::at(&file.path, LINES_MAX + 1, format!("{count} lines: {LINES_MAX} at most")));
    }
    for (line, sentence) in sentences(file.lines()) {
        let words = sentence.split_whitespace().count();
        if words > WORDS_MAX {
            let begins = sentence.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
            findings.push(TidyFinding::at(
                &file.path,
                line,
                format!("a sentence of {words} words, {WORDS_MAX} at most: {begins} ..."),
            ));
        }
    }
    findings
}

/// The sentences of a document with the line that each begins in: those of paragraphs, items and cells, without fenced blocks and the
/// targets of links.
fn sentences<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, String)> {
    let mut sentences: Vec<(usize, String)> = Vec::new();
    let (mut is_fenced, mut is_open) = (false, false);
    for (number, line) in lines {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            is_open = false;
            continue;
        }
        let begins_anew = line.trim().is_empty() || ["#", "|", "- ", "!["].iter().any(|mark| line.starts_with(mark));
        is_open &= !begins_anew;
        if is_fenced || line.trim().is_empty() {
            continue;
        }
        for cell in without_targets(line).split('|') {
            for word in cell.split_whitespace() {
                match sentences.last_mut().filter(|_| is_open) {
                    Some((_, sentence)) => {
                        sentence.push(' ');
                        sentence.push_str(word);
                    }
                    None => sentences.push((number, word.to_owned())),
                }
                is_open = !word.trim_end_matches(['*', ')', '"']).ends_with(['.', '?', '!', ':']);
            }
            is_open &= !line.starts_with('|');
        }
    }
    sentences
}

/// A line in which each link is its text alone.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn a_long_readme_and_long_sentences_are_found() {
        let long = "word ".repeat(31);
        let text = format!("# Title\nshort. {long}\n\n- {}\n| {long}|\n```\n{long}\n```\n", "word ".repeat(29));
        let found = findings(check, &[("README.md", &text), ("docs/a.md", &long)]);
        let places: Vec<&str> = found.iter().map(|finding| &finding[.."README.md:2".len()]).collect();
        assert_eq!(places, ["README.md:2", "README.md:5"], "{found:?}");
        assert_eq!(findings(check, &[("README.md", &"x.\n".repeat(101))]).len(), 1);
    }
}
