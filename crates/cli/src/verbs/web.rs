//! `scrubjay web`: the page, in the foreground, for systemd or a terminal.

use crate::args::WebArgs;
use crate::exit::{Exit, Usage};
use crate::say::{print_line, say};
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use scrubjay_control::page_socket_path;
use scrubjay_control::past::WatchSnapshot;
use scrubjay_daemon::pump::host_name;
use scrubjay_device::completion::own_uid;
use scrubjay_device::output::{self, Existing, OutputError};
use scrubjay_device::{clock, store};
use scrubjay_jobs::JobError;
use scrubjay_web::access::{LINK_TIME, PageAccess, SESSION_TIME, is_key, new_key};
use scrubjay_web::feed::{self, PictureFeed};
use scrubjay_web::http::server::HttpServer;
use scrubjay_web::http::tls;
use scrubjay_web::site::WatchSite;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the service, in which root keeps the key, too.
const KEY_FOLDER: &str = "/var/lib/scrubjay-web";
/// Bytes of a key, at most; and of a recording, which is enough for sixty disks.
const KEY_BYTES: u64 = 128;
const RECORDING_BYTES: u64 = 256 << 20;

/// Serves until it is ended.
pub fn run(args: &WebArgs) -> Result<Exit> {
    if !args.print_link && !args.listen.ip().is_loopback() && args.tls_cert.is_none() && args.without_tls < 2 {
        return Err(Usage(format!(
            "--listen {}: beyond this machine only with --tls-cert and --tls-key; without, everybody on the way can read and act: say \
             --without-tls twice if that is meant",
            args.listen
        ))
        .into());
    }
    let key = if args.read_only { None } else { Some(key(&key_path(args.key.as_deref()), args.print_link)?) };
    let access = PageAccess::new(key.as_deref(), &names(&args.name)).since(clock::today().0);
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    if args.print_link {
        return print_link(&access, scheme, args);
    }
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(tls::config(certificate, key).map_err(|error| Usage(error.to_string()))?)
        }
        _ => None,
    };
    let feed = match &args.recorded {
        Some(path) => {
            let WatchSnapshot { status, past } = recording(path)?;
            PictureFeed::of_recording(status, past)
        }
        None => PictureFeed::new(feed::over(page_socket_path()?)),
    };
    let listener = TcpListener::bind(args.listen).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Usage(format!("--listen {}: another program listens there", args.listen)).into(),
        _ => anyhow::Error::new(error).context(format!("cannot listen on {}", args.listen)),
    })?;
    feed.start_polling().context("no thread is to be had")?;
    let address = listener.local_addr().context("where we listen is not known")?;
    let hint = match (&args.recorded, args.read_only) {
        (Some(_), _) => "; it shows a recording, to which nothing can be done",
        (None, true) => "",
        (None, false) => "; to act there: the same command with --print-link",
    };
    say(format_args!("the page is at {scheme}://{address}{hint}"));
    HttpServer::new(Arc::new(WatchSite::new(feed, access)), tls).serve(&listener)
}

fn recording(path: &Path) -> Result<WatchSnapshot> {
    let shown = path.display();
    let file = fs::File::open(path).map_err(|error| JobError::inaccessible(format!("cannot read {shown}"), error))?;
    let mut text = Vec::new();
    file.take(RECORDING_BYTES).read_to_end(&mut text).with_context(|| format!("cannot read {shown}"))?;
    serde_json::from_slice(&text)
        .map_err(|error| Usage(format!("{shown}: no recording of `scrubjay simulate watch --page`: {error}")).into())
}

/// The names of this page besides those that every machine has.
fn names(given: &[String]) -> Vec<String> {
    let host = host_name();
    let mut names = given.to_vec();
    if !host.is_empty() {
        names.extend([format!("{host}.local"), host]);
    }
    names
}

fn key_path(given: Option<&Path>) -> PathBuf {
    match given {
        Some(path) => path.to_owned(),
        None if own_uid() == 0 => Path::new(KEY_FOLDER).join("key"),
        None => store::default_folder().join("web.key"),
    }
}

/// Reads the key; an absent one is made, unless it may only be read.
fn key(path: &Path, is_only_read: bool) -> Result<String> {
    let shown = path.display();
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && is_only_read => {
            let refusal = format!(
                "{shown}: there is no key yet: start the page first (sudo systemctl start scrubjay-web, or sudo scrubjay web)"
            );
            return Err(Usage(refusal).into());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return make_key(path),
        Err(error) => return Err(JobError::inaccessible(format!("cannot read {shown}"), error).into()),
    };
    let metadata = file.metadata().with_context(|| format!("cannot look at {shown}"))?;
    if metadata.mode() & 0o077 != 0 {
        return Err(Usage(format!(
            "{shown}: others may read the key: chmod 600 it, or remove it, and a new one is made"
        ))
        .into());
    }
    let mut text = String::new();
    file.take(KEY_BYTES).read_to_string(&mut text).with_context(|| format!("cannot read {shown}"))?;
    let text = text.trim_end();
    if !is_key(text) {
        return Err(Usage(format!("{shown}: no key of 64 hexadecimal digits: remove it, and a new one is made")).into());
    }
    Ok(text.to_owned())
}

fn make_key(path: &Path) -> Result<String> {
    let key = new_key().context("no key can be made")?;
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let created = fs::create_dir_all(folder);
        created.map_err(|error| JobError::inaccessible(format!("cannot make {}", folder.display()), error))?;
    }
    match output::write_private(path, Existing::Kept, format!("{key}\n").as_bytes()) {
        // Another process has made it meanwhile.
        Err(OutputError::Exists { .. }) => self::key(path, true),
        written => written.map(|()| key).map_err(unwritable),
    }
}

fn print_link(access: &PageAccess, scheme: &str, args: &WebArgs) -> Result<Exit> {
    let host = args.name.first().cloned().unwrap_or_else(|| match args.listen.ip() {
        address if address.is_unspecified() => "127.0.0.1".to_owned(),
        std::net::IpAddr::V6(address) => format!("[{address}]"),
        address => address.to_string(),
    });
    let (path, key) = (access.link(clock::today().0), access.read_key());
    let (path, key) = path.zip(key).context("there is no key")?;
    let mut out = io::stdout().lock();
    let (minutes, hours) = (LINK_TIME / 60, SESSION_TIME / 3600);
    print_line(&mut out, format_args!("{scheme}://{host}:{}{path}", args.listen.port()))?;
    print_line(
        &mut out,
        format_args!("Whoever opens this link first, within {minutes} minutes, may act on the page for {hours} hours."),
    )?;
    print_line(&mut out, format_args!("To read /metrics and /api from elsewhere, send: Authorization: Bearer {key}"))?;
    Ok(Exit::Clean)
}
