//! The layout of a command's help, from one text: `-h` short, `--help` with examples first, and the man page's sections.

use crate::columns;
use crate::exit::Exit;
use crate::say::wrapped;
use clap::{Command, FromArgMatches};
use std::io::{self, Write};

/// Parses the arguments of this process by a table, the help of which is laid out; if they are wrong, or ask for help, the process ends
/// here.
pub fn parsed<T: FromArgMatches>(table: Command) -> T {
    let matches = laid_out(table).try_get_matches().and_then(|matches| T::from_arg_matches(&matches));
    matches.unwrap_or_else(|clap_error| {
        // Help that could not be written is a failure, unless the reader closed its end.
        let written = clap_error.print().and_then(|()| io::stdout().flush());
        let is_lost = written.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
        std::process::exit(if is_lost { Exit::Failed as i32 } else { clap_error.exit_code() })
    })
}

/// The parts of the text after the options of a command; any part may be empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HelpText {
    /// The lines below `Examples:`.
    pub examples: String,
    /// Paragraphs, each on a line of its own.
    pub notes: String,
    /// The lines below `Exit codes:`.
    pub exit_codes: String,
}

const EXAMPLES: &str = "Examples:";
const EXIT_CODES: &str = "Exit codes:";

impl HelpText {
    /// The parts of a command as it is declared, with the whole text in `after_help`.
    pub fn of(command: &Command) -> HelpText {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut parts = HelpText::default();
        let mut part = &mut parts.notes;
        for line in text.lines() {
            part = match line {
                EXAMPLES => &mut parts.examples,
                EXIT_CODES => &mut parts.exit_codes,
                // An empty line ends the examples; notes follow.
                "" => &mut parts.notes,
                _ => part,
            };
            if !matches!(line, EXAMPLES | EXIT_CODES) {
                part.push_str(line);
                part.push('\n');
            }
        }
        let HelpText { examples, notes, exit_codes } = parts;
        let is_blank = |text: &str| text.trim().is_empty();
        let kept = |text: String| if is_blank(&text) { String::new() } else { text.trim_end().to_owned() };
        HelpText { examples: kept(examples), notes: unwrap_paragraphs(notes.trim()), exit_codes: kept(exit_codes) }
    }

    /// The lines of the examples, each command in one: what a backslash continues is joined.
    pub fn example_lines(&self) -> Vec<String> {
        joined(&self.examples).lines().map(str::to_owned).collect()
    }
}

/// Lays out the command and all below it: `-h` shows the options, `--help` examples, options, notes and exit codes.
pub fn laid_out(command: Command) -> Command {
    let HelpText { examples, notes, exit_codes } = HelpText::of(&command);
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let has_more = !(examples.is_empty() && notes.is_empty() && exit_codes.is_empty());
    let examples = fitted(&examples, columns::width().unwrap_or(EXAMPLE_WIDTH));
    let under = |heading: &str, text: &str| if text.is_empty() { String::new() } else { format!("{heading}\n{text}") };
    let joined_parts =
        |parts: [String; 2]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let command = match has_more {
        true => command
            .long_about(joined_parts([about, under(EXAMPLES, &examples)]))
            .after_help("`--help` has examples, notes and exit codes.")
            .after_long_help(joined_parts([notes, under(EXIT_CODES, &exit_codes)])),
        false => command,
    };
    command.mut_subcommands(laid_out)
}

/// Columns of the widest line of an example: wider ones are hard to read, and do not fit into a manual page.
const EXAMPLE_WIDTH: usize = 80;
/// Columns of the narrowest terminal for which lines are broken.
const EXAMPLE_WIDTH_MIN: usize = 30;

/// Fits examples into a terminal that is so wide: the description of a long one is put above it, and a long command is
/// broken before one of its options, as a shell reads it.
pub fn fitted(examples: &str, width: usize) -> String {
    let width = width.clamp(EXAMPLE_WIDTH_MIN, EXAMPLE_WIDTH);
    let mut lines = Vec::new();
    for line in joined(examples).lines() {
        let example = line.trim_start();
        if line.chars().count() <= width || example == line {
            lines.push(line.to_owned());
            continue;
        }
        let (command, description) = example.split_once("   ").unwrap_or((example, ""));
        if !description.is_empty() {
            lines.extend(wrapped(description.trim(), width - 4).into_iter().map(|line| format!("  # {line}")));
        }
        lines.extend(broken(command.trim_end(), width));
    }
    lines.join("\n")
}

/// The examples with each command in one line: what a backslash continues is joined.
fn joined(examples: &str) -> String {
    let mut joined = String::new();
    for line in examples.lines() {
        let is_continued = joined.ends_with('\\');
        if is_continued {
            joined.pop();
        } else if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(if is_continued { line.trim_start() } else { line });
    }
    joined
}

/// A command in lines that end with a backslash, but for the last one.
fn broken(command: &str, width: usize) -> Vec<String> {
    // The parts between which it may be broken: an option stays with its value.
    let mut parts: Vec<String> = Vec::new();
    let mut is_option_open = false;
    for word in command.split_whitespace() {
        let is_option = word.starts_with("--");
        let is_narrow = |part: &String| part.chars().count() + word.chars().count() + 9 <= width;
        match parts.last_mut().filter(|part| is_narrow(part)) {
            Some(part) if is_option_open && !is_option => part.extend([" ", word]),
            _ => parts.push(word.to_owned()),
        }
        is_option_open = is_option;
    }
    let mut lines = vec![String::from(" ")];
    for (index, part) in parts.iter().enumerate() {
        let last = lines.last_mut().expect("a line");
        let is_last = index + 1 == parts.len();
        let end = if is_last { 0 } else { " \\".len() };
        if last.trim().is_empty() || last.chars().count() + 1 + part.chars().count() + end <= width {
            last.extend([" ", part]);
        } else {
            last.push_str(" \\");
            lines.push(format!("      {part}"));
        }
    }
    lines
}

/// Puts each paragraph on a line of its own, to be wrapped later: adjacent lines without indent are joined.
fn unwrap_paragraphs(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut lines = text.lines().peekable();
    let mut unwrapped = String::new();
    while let Some(line) = lines.next() {
        unwrapped.push_str(line);
        let goes_on = is_prose(line) && lines.peek().is_some_and(|next| is_prose(next));
        unwrapped.push(if goes_on { ' ' } else { '\n' });
    }
    unwrapped.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_falls_into_its_parts() {
        let text = "Examples:\n  one   does this\n  two   does that\n\nWhat is said\nof both.\n\nAnd more.\n\nExit codes:\n  0  fine";
        let command = Command::new("x").about("Does it").after_help(text);
        let parts = HelpText {
            examples: "  one   does this\n  two   does that".to_owned(),
            notes: "What is said of both.\n\nAnd more.".to_owned(),
            exit_codes: "  0  fine".to_owned(),
        };
        assert_eq!(HelpText::of(&command), parts);
        let mut command = laid_out(command);
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        assert!(short.contains("--help` has examples") && !short.contains("does this"), "{short}");
        let place = |words: &str| long.find(words).unwrap_or_else(|| panic!("{words} in {long}"));
        assert!(place("Does it") < place("Examples:") && place("Examples:") < place("Usage:"));
        assert!(place("Usage:") < place("What is said of both.") && place("And more.") < place("Exit codes:"));
    }

    #[test]
    fn long_examples_are_broken_where_a_shell_reads_on() {
        let text = "  scrubjay scrub /dev/sda --slowdown 0.2ms   be more careful still\n  scrubjay status   now";
        assert_eq!(fitted(text, 80), text);
        let narrow =
            "  # be more careful still\n  scrubjay scrub /dev/sda \\\n      --slowdown 0.2ms\n  scrubjay status   now";
        assert_eq!(fitted(text, 34), narrow);
        assert_eq!(fitted("  scrubjay x --a 1 \\\n      --b 2", 80), "  scrubjay x --a 1 --b 2");
    }

    #[test]
    fn a_command_without_examples_and_notes_stays_as_it_is() {
        let mut command = laid_out(Command::new("x").about("Does it"));
        assert!(!command.render_help().to_string().contains("--help` has"));
        assert_eq!(HelpText::of(&command), HelpText::default());
    }
}
