//! `scrubjay metrics`: the status of the watch for Prometheus.

use crate::args::MetricsArgs;
use crate::exit::Exit;
use crate::say::say;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use scrubjay_control::socket_path;
use scrubjay_device::output::{self, Existing};
use scrubjay_web::feed::{self, PictureFeed};
use scrubjay_web::metrics;
use std::io::{self, Write};

/// Prints the metrics, or writes them into a collector's file.
pub fn run(args: &MetricsArgs) -> Result<Exit> {
    let feed = PictureFeed::new(feed::over(socket_path()?));
    feed.look();
    let picture = feed.latest();
    let text = metrics::of(&picture);
    match &args.textfile {
        Some(path) => output::write(path, Existing::Replaced, text.as_bytes()).map_err(unwritable)?,
        None => io::stdout().lock().write_all(text.as_bytes()).context("cannot write to standard output")?,
    }
    if let Some(why) = &picture.trouble {
        say(format_args!("scrubjay: {why}"));
    }
    Ok(if picture.is_fresh() { Exit::Clean } else { Exit::Failed })
}
