//! `messages`: writes docs/messages.md, every sentence with an example, of the tables in `crates/words`.

use anyhow::{Result, ensure};
use std::fs;
use std::process::Command;

/// Writes the page.
pub fn run(_: &[String]) -> Result<bool> {
    let arguments = ["run", "--quiet", "--package", "scrubjay-words", "--example", "messages"];
    let output = Command::new(env!("CARGO")).args(arguments).stderr(std::process::Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the page could not be made");
    fs::write("docs/messages.md", output.stdout)?;
    println!("docs/messages.md is written");
    Ok(true)
}
