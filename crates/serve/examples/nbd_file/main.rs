//! Serves one file as a network block device, each request as one operation: what the server's loop costs by itself,
//! beside `nbdkit file` (docs/speed.md).
//!
//! `nbd_file ADDRESS FILE [direct]`. Ends with SIGINT or SIGTERM.

mod file_array;

use file_array::FileArray;
use scrubjay_core::member::Array;
use scrubjay_device::completion::MemberFile;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::server::{Address, Server, Stop};
use std::error::Error;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// O_DIRECT of x86-64 and most others.
const DIRECT: i32 = 0o40000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, flags @ ..] = &arguments[..] else { return Err("nbd_file ADDRESS FILE [direct]".into()) };
    let is_direct = flags.iter().any(|flag| flag == "direct");
    let flags = if is_direct { DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let mut array = FileArray::new(file.metadata()?.len());
    let mut server = Server::new(Export::new("file", array.size(), 64 << 10, false));
    server.members.set(0, Some(MemberFile::new(file)));
    let address = server.listen(&address.parse::<Address>()?)?;
    let stop = Stop::new()?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.flag())?;
        signal_hook::low_level::pipe::register(signal, stop.waker()?)?;
    }
    println!("listening on {address}");
    server.run(&mut array, &stop)?;
    println!("stopped");
    Ok(())
}
