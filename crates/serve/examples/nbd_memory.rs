//! Serves memory as a network block device until it is told to stop (SIGINT, SIGTERM): for tests and measurements.
//!
//! `nbd_memory ADDRESS SIZE_MIB [lost=START+LEN]... [hole=START+LEN]... [tls=FOLDER]`, offsets in bytes. What is not a hole
//! holds a pattern. `tls`: clients must use TLS, and the folder has `server-cert.pem` and `server-key.pem`. A line on
//! standard output says where it listens.

use scrubjay_core::block::Request;
use scrubjay_core::block::RequestId;
use scrubjay_core::member::Array;
use scrubjay_core::units::Nanos;
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::server::{Address, Server, Stop};
use scrubjay_serve::tls::{Tls, TlsFiles};
use std::error::Error;
use std::ops::Range;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, size, marks @ ..] = &arguments[..] else {
        return Err("nbd_memory ADDRESS SIZE_MIB [lost=START+LEN]... [hole=START+LEN]... [tls=FOLDER]".into());
    };
    let mut tls = Tls::default();
    let mut array = MemoryArray::new(size.parse::<u64>()? << 20);
    fill(array.bytes_mut());
    for mark in marks {
        match mark.split_once('=') {
            Some(("lost", place)) => array.lose(range(place)?),
            Some(("hole", place)) => forget(&mut array, range(place)?),
            Some(("tls", folder)) => {
                let path = |name: &str| Path::new(folder).join(name);
                let (certificate, key) = (path("server-cert.pem"), path("server-key.pem"));
                tls = Tls::open(true, &TlsFiles { certificate, key, client_authority: None })?;
            }
            _ => return Err(format!("`{mark}` is none of lost=START+LEN, hole=START+LEN, tls=FOLDER").into()),
        }
    }
    let mut server = Server::new(Export::new("memory", array.size(), 64 << 10, false));
    server.secure(tls);
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

/// Each 8 bytes hold their own offset.
fn fill(bytes: &mut [u8]) {
    for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(index as u64 * 8).to_be_bytes());
    }
}

fn forget(array: &mut MemoryArray, range: Range<u64>) {
    let request = Request::Trim { offset: range.start, len: range.end - range.start };
    array.submit(Nanos::ZERO, RequestId(0), request);
    array.poll_reply();
}

fn range(text: &str) -> Result<Range<u64>, Box<dyn Error>> {
    let (start, len) = text.split_once('+').ok_or("START+LEN")?;
    let (start, len): (u64, u64) = (start.parse()?, len.parse()?);
    Ok(start..start + len)
}
