//! `scrubjay watch`: the daemon, in the foreground, for systemd or a terminal.

use super::{settings_file, state_folder};
use crate::args::WatchArgs;
use crate::exit::Exit;
use crate::say::say;
use anyhow::Result;
use scrubjay_control::{page_socket_path, socket_path};
use scrubjay_daemon::config;
use scrubjay_daemon::pump::{Daemon, DaemonError, DaemonOptions};
use std::io::{self, Write};
use std::path::Path;

/// Runs until it is told to end.
pub fn run(args: &WatchArgs) -> Result<Exit> {
    if args.print_config {
        io::stdout().lock().write_all(config::COMMENTED.as_bytes())?;
        return Ok(Exit::Clean);
    }
    let options = DaemonOptions {
        config: settings_file::real_path(args.config.as_deref().unwrap_or(Path::new(config::CONFIG_FILE))),
        is_config_required: args.config.is_some(),
        folder: state_folder(args.state.as_ref()),
        socket: socket_path()?,
        page_socket: page_socket_path()?,
        // Beside the others, wherever they are.
        status_socket: socket_path()?.with_file_name("status"),
        observe: args.observe,
        calendar: args.test_calendar,
        is_full_speed: args.test_full_speed,
        smartctl: args.test_smartctl.clone(),
    };
    match Daemon::run(options, &mut |line| say(format_args!("{line}"))) {
        Ok(()) => Ok(Exit::Clean),
        Err(DaemonError::Channel { path, source }) => {
            Err(crate::exit::Usage(format!("{}: {source}", path.display())).into())
        }
        Err(DaemonError::Config(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}
