//! `scrubjay generate`: man pages and completions, from the same command table as the help.

mod completions;
mod sections;

use crate::args::{self, GenerateArgs, Generated, HelpText};
use crate::exit::Exit;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use scrubjay_device::output::{self, Existing};
use std::io::Write;
use std::path::Path;
use std::{fs, io};

/// Columns of the examples: a page of 80 columns indents them by 7.
const EXAMPLE_WIDTH: usize = 72;

/// Writes the pages or completions that are asked for, of the verbs of this table.
///
/// # Errors
/// When a file or a folder cannot be written.
pub fn run(args: &GenerateArgs, command: Command) -> Result<Exit> {
    match &args.what {
        Generated::Completions { shell } => {
            io::stdout()
                .write_all(completions::script(*shell, command).as_bytes())
                .context("cannot write to standard output")?;
        }
        Generated::Man { folder } => {
            if !folder.is_dir() {
                fs::create_dir(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
            }
            let mut command = command.disable_help_subcommand(true);
            command.build();
            pages(command, &[], folder)?;
        }
    }
    Ok(Exit::Clean)
}

/// Writes a man page for the command, and one for each below it; `related` are pages to see also.
fn pages(mut command: Command, related: &[String], folder: &Path) -> Result<()> {
    let name = page_name(&command);
    let subcommands: Vec<Command> = command.get_subcommands().cloned().collect();
    let names: Vec<String> = subcommands.iter().map(page_name).collect();
    for (index, subcommand) in subcommands.into_iter().enumerate() {
        let siblings = names.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, name)| name);
        pages(subcommand, &[&name].into_iter().chain(siblings).cloned().collect::<Vec<_>>(), folder)?;
    }
    let help = HelpText::of(&command);
    let usage = command.render_usage().to_string();
    let has = (command.get_arguments().next().is_some(), command.get_subcommands().next().is_some());
    let page = Man::new(command).source(concat!("scrubjay ", env!("CARGO_PKG_VERSION")));
    let path = folder.join(page.get_filename());
    let see_also = [related, &names].concat();
    let text = page_text(&page, &name, &usage, &help, has, &see_also);
    let text = text.with_context(|| format!("cannot make {}", path.display()))?;
    output::write(&path, Existing::Replaced, &text).map_err(unwritable)
}

/// The name of a command's page.
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// The sections in the order of man-pages(7); `has`: whether there are options, and commands below.
fn page_text(
    page: &Man,
    name: &str,
    usage: &str,
    help: &HelpText,
    has: (bool, bool),
    see_also: &[String],
) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]);
    let usage = usage.trim_start_matches("Usage:").trim();
    // The name of the command ends before the first option or argument.
    let (words, rest) = usage.split_at(usage.find(['[', '<']).unwrap_or(usage.len()));
    synopsis.text([bold(words.trim_end()), roman(" "), roman(rest)]);
    synopsis.to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    let mut notes = Roff::new();
    for paragraph in help.notes.lines().filter(|line| !line.is_empty()) {
        notes.control("PP", []).text([roman(paragraph)]);
    }
    notes.to_writer(&mut text)?;
    if has.0 {
        page.render_options_section(&mut text)?;
    }
    if has.1 {
        page.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::new();
    // A line "  0 clean: ..." has the code and its meaning.
    let codes: Vec<(&str, &str)> = help
        .exit_codes
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(code, meaning)| (code, meaning.trim()))
        .collect();
    let files = sections::files(name);
    let environment = sections::environment(&files);
    for (heading, entries) in [("EXIT STATUS", &codes[..]), ("ENVIRONMENT", &environment), ("FILES", &files)] {
        if !entries.is_empty() {
            rest.control("SH", [heading]);
        }
        for (name, description) in entries {
            rest.control("TP", []).text([bold(*name)]).text([roman(*description)]);
        }
    }
    if !help.examples.is_empty() {
        rest.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in args::fitted(&help.examples, EXAMPLE_WIDTH).lines() {
            rest.text([roman(line)]);
        }
        rest.control("fi", []);
    }
    if !see_also.is_empty() {
        let pages: Vec<String> = see_also.iter().map(|page| format!("{page}(1)")).collect();
        rest.control("SH", ["SEE ALSO"]).text([roman(pages.join(", "))]);
    }
    rest.to_writer(&mut text)?;
    Ok(text)
}
