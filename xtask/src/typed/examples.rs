//! The examples of `--help`, asked from the built program.

use super::commands::without_comment;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// An example: the verb whose help has it, and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpExample {
    /// The verb, as `scrubjay volume serve`.
    pub verb: String,
    /// The command line.
    pub line: String,
}

/// The examples of all verbs of the program at this path.
///
/// # Errors
/// When it cannot be run, or has no examples.
pub fn examples(program: &Path) -> Result<Vec<HelpExample>> {
    let mut examples = Vec::new();
    let mut verbs = vec![Vec::<String>::new()];
    while let Some(verb) = verbs.pop() {
        let help = help(program, &verb)?;
        let name = ["scrubjay".to_owned()].into_iter().chain(verb.clone()).collect::<Vec<_>>().join(" ");
        examples.extend(lines(&help).into_iter().map(|line| HelpExample { verb: name.clone(), line }));
        verbs.extend(verbs_below(&help).into_iter().rev().map(|below| [&verb[..], &[below]].concat()));
    }
    ensure!(!examples.is_empty(), "{}: no examples in its help", program.display());
    Ok(examples)
}

fn help(program: &Path, verb: &[String]) -> Result<String> {
    let output =
        Command::new(program).args(verb).arg("--help").output().with_context(|| program.display().to_string())?;
    ensure!(output.status.success(), "{} {} --help: {}", program.display(), verb.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The indented lines below a heading.
fn section<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.starts_with("  ")).collect()
}

fn verbs_below(help: &str) -> Vec<String> {
    let names = section(help, "Commands:").into_iter().filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// The commands below `Examples:`; a description stands behind three blanks, or above as a comment.
fn lines(help: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in section(help, "Examples:") {
        let is_continued = lines.last().is_some_and(|last| last.ends_with('\\'));
        let line = line.trim();
        match lines.last_mut().filter(|_| is_continued) {
            Some(last) => {
                last.truncate(last.len() - 1);
                last.push_str(line);
            }
            None => lines.push(line.to_owned()),
        }
    }
    let commands = lines.iter().map(|line| without_comment(line.split("   ").next().unwrap_or_default()));
    commands.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Does it.\n\nExamples:\n  scrubjay x 1   this\n  # that\n  scrubjay x 2 \\\n      --long 3\n\nUsage: x\n\nCommands:\n  \
                        one    Does one\n         and more\n  help   Print this\n\nOptions:\n  -h\n";

    #[test]
    fn a_help_page_has_examples_and_verbs() {
        assert_eq!(lines(HELP), ["scrubjay x 1", "scrubjay x 2 --long 3"]);
        assert_eq!(verbs_below(HELP), ["one"]);
    }
}
