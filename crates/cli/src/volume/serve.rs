//! `scrubjay volume serve`: serves a volume as a network block device or as a block device of this machine.

use super::refused::Refused;
use crate::args::volume::{DegradedChoice, Serve, TlsChoice};
use crate::exit::{Exit, Usage};
use crate::say::say;
use crate::signals;
use anyhow::{Context, Result, ensure};
use scrubjay_core::units::{Bytes, UnixSeconds};
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_device::completion::own_uid;
use scrubjay_device::ublk::{UblkControl, UblkError, UblkPlan, UblkPurpose};
use scrubjay_jobs::sockets;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::server::{Address, DeviceEvent, Server, ServerStop};
use scrubjay_serve::tls::{Tls, TlsError, TlsFiles};
use scrubjay_serve::volume::VolumeController;
use scrubjay_serve::volume::commands::Stopped;
use scrubjay_serve::volume::gather::{self, GatherError, Gathered};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of the preferred block that is announced, at most: some clients allocate one for each request.
const BLOCK_PREFERRED_MAX: u64 = 1 << 20;

/// Serves until it is told to stop.
pub fn run(args: &Serve) -> Result<Exit> {
    refuse_unencrypted_addresses(args)?;
    let tls = tls(args)?;
    let ublk = args.ublk.map(|wanted| UblkControl::open().map(|control| (control, wanted)));
    let ublk = ublk.transpose().map_err(no_device)?;
    let mut gathered = gather::gather_usable(&args.members, args.read_only).map_err(refusal)?;
    if args.degraded == DegradedChoice::No {
        gathered.check_whole().map_err(|error| Usage(format!("{error}: --degraded yes serves it nevertheless")))?;
    }
    say_notes(&gathered);
    let superblock = gathered.assembly.superblock.clone();
    let geometry = superblock.geometry;
    let name = if superblock.name.is_empty() { superblock.array.to_string() } else { superblock.name.clone() };
    let stop = stop_on_signals()?;
    let preferred = geometry.chunk_bytes.clamp(512, BLOCK_PREFERRED_MAX) as u32;
    let mut server = Server::new(Export::new(&name, geometry.size(), preferred, args.read_only));
    server.secure(tls);
    server.socket_mode = args.socket_mode;
    let mut uris = Vec::new();
    for address in &args.listen {
        let bound = server.listen(address).map_err(|error| Usage(error.to_string()))?;
        uris.push(uri(&bound, args.tls));
    }
    let socket = match &args.control {
        Some(path) => path.clone(),
        None => sockets::socket_for(&superblock.array.to_string())?,
    };
    server.listen_for_commands(&Address::Unix(socket)).map_err(|error| Usage(error.to_string()))?;
    if let Some((control, wanted)) = ublk {
        let purpose = UblkPurpose {
            mark: mark(superblock.array),
            size: geometry.size(),
            preferred,
            is_read_only: args.read_only,
        };
        let stripe_bytes = geometry.chunk_bytes * geometry.layout.shape().data as u64;
        server.device = Some((UblkPlan::new(control, wanted, purpose).map_err(no_device)?, stripe_bytes));
        server.on_device = |news| match news {
            DeviceEvent::Ready { .. } => say(format_args!("  {news}")),
            _ => say(format_args!("scrubjay: {news}")),
        };
    }

    let volume = gathered.start(args.read_only, today()).context("/dev/urandom")?;
    let mut controller = VolumeController::new(volume, gathered.paths.clone(), stop.clone());
    std::mem::swap(&mut server.members, &mut gathered.members);
    let shape = geometry.layout.shape();
    say(format_args!(
        "serving {name}: {} in {}+{}, {} chunks, scheme {}",
        Bytes(geometry.size()),
        shape.data,
        shape.parity,
        Bytes(geometry.chunk_bytes),
        geometry.scheme
    ));
    uris.iter().for_each(|uri| say(format_args!("  {uri}")));
    if let Some(warning) = warning(args, own_uid()) {
        say(format_args!("scrubjay: {warning}"));
    }
    let ended = server.run(&mut controller, &stop).context("the server ended")?;
    Ok(print_final_state(&controller.stopped(&ended)))
}

/// Prints in which state the volume was left; returns the exit code.
pub fn print_final_state(stopped: &Stopped) -> Exit {
    say(format_args!("{}", stopped.words()));
    match (stopped.problems.is_empty(), stopped.left.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Found,
        (true, true) => Exit::Clean,
    }
}

/// A warning for root: a TCP port is open to all users of this machine, and the server writes their data with root's rights.
fn warning(args: &Serve, user: u32) -> Option<String> {
    let is_open = |address: &&Address| matches!(address, Address::Tcp(_)) && args.tls_client_ca.is_none();
    let address = args.listen.iter().find(is_open).filter(|_| user == 0)?;
    Some(format!(
        "{address}: every user of this machine can read and write the volume there: prefer unix:PATH, or --tls-client-ca"
    ))
}

/// Refuses unencrypted addresses that other machines can reach, unless the user permits them.
fn refuse_unencrypted_addresses(args: &Serve) -> Result<()> {
    let is_permitted = |address: &&Address| args.insecure || args.tls == TlsChoice::Require || address.is_local();
    match args.listen.iter().find(|address| !is_permitted(address)) {
        Some(address) => {
            Err(Usage(format!("{address}: other machines reach it: --tls require (see --help), or --insecure")).into())
        }
        None => Ok(()),
    }
}

/// Reads the files for TLS.
fn tls(args: &Serve) -> Result<Tls> {
    let (Some(certificate), Some(key), true) = (&args.tls_certificate, &args.tls_key, args.tls != TlsChoice::Off)
    else {
        let has_file = [&args.tls_certificate, &args.tls_key, &args.tls_client_ca].iter().any(|file| file.is_some());
        ensure!(!has_file, Usage("files for TLS, but --tls is off: --tls require, or --tls allow".into()));
        return Ok(Tls::default());
    };
    let files =
        TlsFiles { certificate: certificate.clone(), key: key.clone(), client_authority: args.tls_client_ca.clone() };
    Tls::open(args.tls == TlsChoice::Require, &files).map_err(|error| match error {
        TlsError::Unreadable { path, source } if source.kind() == ErrorKind::PermissionDenied => {
            anyhow::Error::from(source).context(path.display().to_string())
        }
        _ => Usage(error.to_string()).into(),
    })
}

/// The mark by which a block device is recognised as this volume's.
fn mark(array: Uuid) -> u64 {
    let (first, second) = array.0.split_at(8);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    number(first) ^ number(second)
}

fn no_device(error: UblkError) -> anyhow::Error {
    match error {
        UblkError::Refused { what, source } if source.kind() == ErrorKind::PermissionDenied => {
            anyhow::Error::from(source).context(what)
        }
        _ => Usage(error.to_string()).into(),
    }
}

/// The URI of an address, for clients.
fn uri(address: &Address, tls: TlsChoice) -> String {
    let scheme = if tls == TlsChoice::Off { "nbd" } else { "nbds" };
    match address {
        Address::Unix(path) => format!("{scheme}+unix:///?socket={}", path.display()),
        Address::Tcp(host) => format!("{scheme}://{host}"),
    }
}

/// Opens all named members of a volume, and prints which are missing or left out.
pub fn members(paths: &[PathBuf], is_read_only: bool) -> Result<Gathered> {
    let gathered = gather::gather(paths, is_read_only).map_err(refusal)?;
    say_notes(&gathered);
    Ok(gathered)
}

fn refusal(error: GatherError) -> anyhow::Error {
    match error {
        GatherError::Member(error) => Refused::from(error).into(),
        error => Usage(error.to_string()).into(),
    }
}

fn say_notes(gathered: &Gathered) {
    for note in &gathered.notes {
        say(format_args!("scrubjay: {note}"));
    }
}

/// The present date.
pub fn today() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn stop_on_signals() -> Result<ServerStop> {
    let stop = ServerStop::new().context("no file descriptors left")?;
    for signal in signals::stop_signals() {
        signal_hook::flag::register(signal, stop.flag())?;
        signal_hook::low_level::pipe::register(signal, stop.waker()?)?;
    }
    Ok(stop)
}
