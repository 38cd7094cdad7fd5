//! What holds of every table of commands: it has examples, which the program accepts and which fit. Tests of both programs call it.

use super::{HelpText, fitted};
use clap::Command;

/// The words of a command line, as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted): (Vec<String>, Option<String>, bool) = Default::default();
    for char in line.chars().chain([' ']) {
        match char {
            ' ' if !is_quoted => words.extend(word.take()),
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            _ => word.get_or_insert_default().push(char),
        }
    }
    words
}

/// Calls `check` with each command's name and examples.
fn each(command: &Command, name: &str, check: &mut impl FnMut(&str, &Command, &HelpText)) {
    check(name, command, &HelpText::of(command));
    command.get_subcommands().for_each(|below| each(below, &format!("{name} {}", below.get_name()), check));
}

/// Each command has examples, and the table accepts them; but those of which `is_elsewhere` says that another table has them. Returns
/// how many commands were tried.
pub fn examples_are_accepted(table: &Command, is_elsewhere: fn(&str) -> bool) -> usize {
    let mut count = 0;
    each(table, "scrubjay", &mut |name, command, help| {
        assert!(command.get_about().is_some(), "{name}");
        if is_elsewhere(command.get_name()) {
            return;
        }
        assert!(!help.examples.is_empty(), "{name} has no examples");
        for line in help.example_lines().iter().filter(|line| line.starts_with("  ")) {
            let line = line.trim().split("   ").next().unwrap_or_default();
            assert!(!line.contains("  "), "{name}: three blanks or more before the description: {line}");
            for part in line.split("&&").map(|part| part.trim().trim_start_matches("sudo ")) {
                let part = part.split(['|', '>']).next().unwrap_or_default();
                let Some(arguments) = part.strip_prefix("scrubjay") else { continue };
                let arguments = words(arguments.trim_end_matches(" &"));
                let parsed = table.clone().try_get_matches_from([vec!["scrubjay".to_owned()], arguments].concat());
                assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.unwrap_err());
                count += 1;
            }
        }
    });
    count
}

/// No example is wider than a terminal or a manual page.
pub fn examples_fit(table: &Command) {
    for width in [50, 72, 80] {
        each(table, "scrubjay", &mut |name, _, help| {
            let fitted = fitted(&help.examples, width);
            // A name may be as long as it is.
            let is_word = |line: &str| !line.trim().contains(' ');
            let wide = |line: &&str| line.starts_with(' ') && line.chars().count() > width && !is_word(line);
            assert_eq!(fitted.lines().find(wide), None, "{name} in {width} columns");
        });
    }
}
