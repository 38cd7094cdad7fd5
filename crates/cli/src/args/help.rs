//! The layout of a command's help, from one text: `-h` short, `--help` with examples first, and the man page's sections.

use clap::Command;

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
}

/// Lays out the command and all below it: `-h` shows the options, `--help` examples, options, notes and exit codes.
pub fn laid_out(command: Command) -> Command {
    let HelpText { examples, notes, exit_codes } = HelpText::of(&command);
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let has_more = !(examples.is_empty() && notes.is_empty() && exit_codes.is_empty());
    let examples = fit_to_terminal(&examples);
    let under = |heading: &str, text: &str| if text.is_empty() { String::new() } else { format!("{heading}\n{text}") };
    let joined =
        |parts: [String; 2]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let command = match has_more {
        true => command
            .long_about(joined([about, under(EXAMPLES, &examples)]))
            .after_help("`--help` has examples, notes and exit codes.")
            .after_long_help(joined([notes, under(EXIT_CODES, &exit_codes)])),
        false => command,
    };
    command.mut_subcommands(laid_out)
}

/// Columns of the narrowest terminal that shows examples as they are.
const EXAMPLE_WIDTH: usize = 80;

/// Fits examples into a terminal: the description of a long one is put above it.
fn fit_to_terminal(examples: &str) -> String {
    let lines = examples.lines().map(|line| {
        let words = line.trim_start();
        match words.split_once("   ").filter(|_| line.chars().count() > EXAMPLE_WIDTH) {
            Some((command, description)) => format!("  # {}\n  {}", description.trim(), command.trim_end()),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
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
    fn a_command_without_examples_and_notes_stays_as_it_is() {
        let mut command = laid_out(Command::new("x").about("Does it"));
        assert!(!command.render_help().to_string().contains("--help` has"));
        assert_eq!(HelpText::of(&command), HelpText::default());
    }
}
