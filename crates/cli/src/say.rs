//! Output to standard error, best effort: a closed standard error must not end a scrub of many hours.

pub use scrubjay_core::shown::{shown, shown_path};

use crate::terminal;
use std::fmt;
use std::io::{self, Write};

/// Prints one line of a result: one line into a pipe, broken between words in a terminal that is narrower. It contains
/// no terminal commands, whatever its text.
///
/// # Errors
/// An error of `out`.
pub fn print_line(out: &mut impl Write, line: fmt::Arguments<'_>) -> io::Result<()> {
    print_folded(out, &line.to_string(), terminal::width())
}

/// Prints one line to standard error, as [`print_line`] does.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = print_folded(&mut io::stderr().lock(), &line.to_string(), terminal::of_stderr());
}

/// Prints one line that is broken between words in a terminal that is narrower; what goes on is indented, so that no
/// text can look like a line of ours.
///
/// # Errors
/// An error of `out`.
pub fn print_folded(out: &mut impl Write, line: &str, terminal: Option<usize>) -> io::Result<()> {
    folded(line, terminal.map_or(usize::MAX, |columns| columns.max(WIDTH_MIN)))
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
}

/// A line in lines of `width` characters, with its indent and the blanks inside; what goes on has two blanks more.
fn folded(line: &str, width: usize) -> Vec<String> {
    let line = shown(line);
    if line.chars().count() <= width {
        return vec![line.into_owned()];
    }
    let indent = line.chars().take_while(|&char| char == ' ').count();
    let (mut lines, mut gap) = (vec![" ".repeat(indent)], 0);
    for word in line[indent..].split(' ') {
        let last = lines.last_mut().expect("there is always one");
        gap += 1;
        match word.chars().count() {
            0 => continue,
            _ if last.trim().is_empty() => last.push_str(word),
            count if last.chars().count() + gap + count <= width => {
                last.extend([&" ".repeat(gap), word]);
            }
            _ => lines.push(format!("{:1$}{word}", "", indent + 2)),
        }
        gap = 0;
    }
    lines
}

/// An error and what caused it, in words alone: without the number that the library adds to the system's message,
/// `(os error 2)`, and without a cause that its consequence has told already.
pub fn in_words(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let mut parts = text.split(" (os error ");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        words.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    words.replace("No such file or directory", "no such file or directory")
}

/// Columns of prose, at most: wider lines are hard to read.
const WIDTH_MAX: usize = 80;
/// Columns of prose, at least: in a narrower terminal lines break anywhere.
const WIDTH_MIN: usize = 40;

/// The width of prose in a terminal with this many columns; `None`: there is no terminal.
pub fn prose_width(terminal: Option<usize>) -> usize {
    terminal.unwrap_or(WIDTH_MAX).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// Wraps a text into lines of `width` characters; a longer word gets a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = shown(text);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        let is_fitting = line.chars().count() + 1 + word.chars().count() <= width;
        match line.is_empty() {
            true => line.push_str(word),
            false if is_fitting => {
                line.push(' ');
                line.push_str(word);
            }
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Prints a text behind a label: wrapped and aligned in a terminal; in one line without one.
///
/// # Errors
/// An error of `out`.
pub fn print_prose(out: &mut impl Write, label: &str, text: &str, terminal: Option<usize>) -> io::Result<()> {
    let indent = label.chars().count();
    let mut label = shown(label);
    let width = terminal.map_or(usize::MAX, |_| prose_width(terminal).saturating_sub(indent));
    // A text that fits keeps the blanks between its words.
    let lines = match shown(text) {
        text if text.chars().count() <= width => vec![text.into_owned()],
        text => wrapped(&text, width),
    };
    for line in lines {
        writeln!(out, "{}", format!("{label:indent$}{line}").trim_end())?;
        label = Default::default();
    }
    Ok(())
}

/// Prints a text of several lines, each as [`print_prose`] does, with its indent as the label.
///
/// # Errors
/// An error of `out`.
pub fn print_text(out: &mut impl Write, text: &str, terminal: Option<usize>) -> io::Result<()> {
    for line in text.lines() {
        let (indent, words) = line.split_at(line.len() - line.trim_start().len());
        print_prose(out, indent, words, terminal)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible a b", 5), ["incomprehensible", "a b"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn a_line_is_broken_in_a_narrow_terminal_only() {
        let line = "  x.img: the watch is not running:  sudo systemctl enable --now scrubjay";
        let text = |terminal| {
            let mut out = Vec::new();
            print_folded(&mut out, line, terminal).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(None), format!("{line}\n"));
        assert_eq!(text(Some(80)), format!("{line}\n"));
        let narrow = "  x.img: the watch is not running:  sudo\n    systemctl enable --now scrubjay\n";
        assert_eq!((text(Some(40)), text(Some(3))), (narrow.to_owned(), narrow.to_owned()));
        assert_eq!(folded("a\nscrubjay: b", 5), ["a\\nscrubjay:", "  b"], "one line only begins at the edge");
    }

    #[test]
    fn an_error_is_told_once_and_without_numbers() {
        let gone = anyhow::Error::from(io::Error::from_raw_os_error(2));
        assert_eq!(in_words(&gone), "no such file or directory");
        assert_eq!(in_words(&gone.context("cannot read x")), "cannot read x: no such file or directory");
        let told = anyhow::anyhow!("it is empty").context("x: it is empty");
        assert_eq!(in_words(&told), "x: it is empty");
    }

    #[test]
    fn a_label_stands_before_the_first_line_only() {
        let mut out = Vec::new();
        let words = "seven words that take more than one line";
        print_prose(&mut out, "note  ", words, Some(40)).unwrap();
        print_prose(&mut out, "note  ", words, None).unwrap();
        let printed = String::from_utf8(out).unwrap();
        let (wrapped, whole) = ("note  seven words that take more than\n      one line\n", format!("note  {words}\n"));
        assert_eq!(printed, format!("{wrapped}{whole}"));
    }
}
