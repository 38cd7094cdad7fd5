//! A minimal client of a network block device (NBD).
//!
//! It is after the protocol's document (`doc/proto.md` of the nbd project): the fixed newstyle handshake, then one request at a time, answered by simple replies. All numbers on the wire are big-endian.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const OPTION_GO: u32 = 7;
const ANSWER_ACK: u32 = 1;
const ANSWER_INFO: u32 = 3;
/// Fixed newstyle, and no padding.
const CLIENT_FLAGS: u32 = 3;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;

/// A server that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a network block device.
pub struct Nbd {
    stream: UnixStream,
    requests: u64,
}

impl Nbd {
    /// Connects, and asks for the one device there is.
    pub fn connect(socket: &Path) -> Result<Nbd> {
        let mut nbd = Nbd { stream: connect(socket)?, requests: 0 };
        nbd.handshake().context("the NBD handshake failed")?;
        Ok(nbd)
    }

    fn handshake(&mut self) -> Result<()> {
        let greeting: [u8; 18] = self.receive()?;
        ensure!(greeting.starts_with(b"NBDMAGICIHAVEOPT"), "this is no NBD server of the newer style");
        self.stream.write_all(&CLIENT_FLAGS.to_be_bytes())?;
        // The empty name, and no wishes about what is to be told.
        let option_data = [0; 6];
        let head = [&OPTION_MAGIC[..], &OPTION_GO.to_be_bytes(), &(option_data.len() as u32).to_be_bytes()].concat();
        self.stream.write_all(&[&head[..], &option_data].concat())?;
        loop {
            let (magic, option) = (u64::from_be_bytes(self.receive()?), u32::from_be_bytes(self.receive()?));
            ensure!((magic, option) == (OPTION_REPLY_MAGIC, OPTION_GO), "an answer to something else");
            let (answer, len) = (u32::from_be_bytes(self.receive()?), u32::from_be_bytes(self.receive()?));
            std::io::copy(&mut (&self.stream).take(len.into()), &mut std::io::sink())?;
            match answer {
                ANSWER_ACK => return Ok(()),
                ANSWER_INFO => (), // its size and limits, which we know
                error => bail!("the server refuses: {error:#x}"),
            }
        }
    }

    /// Fills `data` with what lies from `offset` on.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.ask(READ, offset, data.len(), &[])?;
        Ok(self.stream.read_exact(data)?)
    }

    /// Writes `data` at `offset`.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.ask(WRITE, offset, data.len(), data)
    }

    /// Makes durable what was written.
    pub fn flush(&mut self) -> Result<()> {
        self.ask(FLUSH, 0, 0, &[])
    }

    /// Says goodbye; nothing comes back.
    pub fn disconnect(mut self) -> Result<()> {
        self.send(DISCONNECT, 0, 0, &[])
    }

    /// Sends a request, and waits for the head of its reply.
    fn ask(&mut self, command: u16, offset: u64, len: usize, payload: &[u8]) -> Result<()> {
        self.send(command, offset, len, payload)?;
        let (magic, error) = (u32::from_be_bytes(self.receive()?), u32::from_be_bytes(self.receive()?));
        let cookie = u64::from_be_bytes(self.receive()?);
        ensure!((magic, cookie) == (REPLY_MAGIC, self.requests), "a reply to something else");
        ensure!(error == 0, "NBD command {command} at byte {offset} failed with error {error}");
        Ok(())
    }

    fn send(&mut self, command: u16, offset: u64, len: usize, payload: &[u8]) -> Result<()> {
        self.requests += 1;
        let flags = 0u16.to_be_bytes();
        let head = [&REQUEST_MAGIC.to_be_bytes()[..], &flags, &command.to_be_bytes()].concat();
        let place = [self.requests.to_be_bytes(), offset.to_be_bytes()].concat();
        self.stream.write_all(&[&head[..], &place, &(len as u32).to_be_bytes(), payload].concat())?;
        Ok(())
    }

    fn receive<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn connect(socket: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(socket).context("cannot connect to the server")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
