//! `scrubjay volume verify`: has a volume that is being served read every stripe, some at a time, as fast as it goes.

use super::rendezvous::{find, tell};
use super::steer::describe;
use crate::args::volume::Verify;
use crate::exit::Exit;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use scrubjay_serve::volume::commands::{Answer, Command, Status};
use std::io::{self, Write};
use std::path::Path;

/// Bytes of members read for one command: what a client of the volume waits for at most, and then some.
const BYTES_AT_ONCE: u64 = 16 << 20;

/// Verifies a volume.
pub fn run(args: &Verify) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let status = status(&socket)?;
    let stripe_bytes = status.size_bytes / status.stripes.max(1);
    let step = (BYTES_AT_ONCE / stripe_bytes.max(1)).max(1);
    let bar = ProgressBar::new(status.stripes);
    bar.set_style(ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left")?);
    let mut findings = Vec::new();
    for start in (0..status.stripes).step_by(step as usize) {
        let end = (start + step).min(status.stripes);
        let Answer::Findings(found) = tell(&socket, &Command::Verify { start, end })? else {
            bail!("another answer than expected");
        };
        findings.extend(found.findings);
        bar.set_position(end);
    }
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for finding in &findings {
        if args.json {
            writeln!(out, "{}", serde_json::to_string(finding)?)?;
        } else {
            writeln!(out, "{}", describe(finding))?;
        }
    }
    if !args.json {
        writeln!(out, "{} stripes read, found wrong: {}", status.stripes_written, findings.len())?;
    }
    Ok(if findings.is_empty() { Exit::Clean } else { Exit::Found })
}

fn status(socket: &Path) -> Result<Status> {
    match tell(socket, &Command::Status)? {
        Answer::Status(status) => Ok(*status),
        _ => bail!("another answer than expected"),
    }
}
