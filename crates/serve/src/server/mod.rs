//! The server: one thread and one loop that moves bytes between clients, one volume, and its members' disks.
//!
//! ```text
//!  clients' sockets --bytes--> nbd::Session --Request--> volume (core::member::Array) --Op--> members' disks
//!                  <--bytes--   (in a TlsSession) <--Reply----                        <--Done--
//! ```
//!
//! It decides nothing. Each turn: wait for ends of what the ring is at, tell whom they concern, let the clients' bytes
//! become requests, let the volume start operations and give replies, let those become bytes; until nothing is left to
//! do at once.

mod address;
mod connection;
mod error;
mod patience;
mod pump;
mod room;
mod stop;
mod task;

pub use address::{Address, AddressError, BindError};
pub use error::ServeError;
pub use patience::Patience;
pub use stop::ServerStop;

use crate::control::CommandHandler;
use crate::ended::ServerEnded;
use crate::members::MemberTable;
use crate::nbd::Export;
use crate::tls::Tls;
use address::Listener;
use pump::ServerPump;
use scrubjay_core::volume::member::ArrayMachine;
use std::sync::Arc;

/// Commands are the owner's alone.
const CONTROL_MODE: u32 = 0o600;

/// A server of one volume, before and after it runs.
#[derive(Debug)]
pub struct Server {
    export: Arc<Export>,
    tls: Tls,
    /// Where it listens, and whether for commands.
    listeners: Vec<(Listener, bool)>,
    /// The disks.
    pub members: MemberTable,
    /// How long it waits for others.
    pub patience: Patience,
    /// Who may connect to its NBD sockets in the file system: those whom this mode lets write.
    pub socket_mode: u32,
}

impl Server {
    /// A server of `export`, which listens nowhere yet and has no disks.
    pub fn new(export: Export) -> Server {
        Server {
            export: Arc::new(export),
            tls: Tls::default(),
            listeners: Vec::new(),
            members: MemberTable::default(),
            patience: Patience::default(),
            socket_mode: CONTROL_MODE,
        }
    }

    /// May, must, or cannot NBD clients use TLS: at first they cannot.
    pub fn secure(&mut self, tls: Tls) {
        self.tls = tls;
    }

    /// Listens for NBD clients. Returns where: a port that was 0 is one by then.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn listen(&mut self, address: &Address) -> Result<Address, BindError> {
        self.bind(address, false)
    }

    /// Listens for commands.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn listen_for_commands(&mut self, address: &Address) -> Result<Address, BindError> {
        self.bind(address, true)
    }

    fn bind(&mut self, address: &Address, is_control: bool) -> Result<Address, BindError> {
        let mode = if is_control { CONTROL_MODE } else { self.socket_mode };
        let listener = Listener::bind(address, mode)?;
        let address = listener.address.clone();
        self.listeners.push((listener, is_control));
        Ok(address)
    }

    /// Serves `volume` until `stop` is requested; then lets what is under way end, flushes the volume, and returns how it
    /// ended. It listens nowhere any more then.
    ///
    /// # Errors
    /// [`ServeError`]. The volume was not flushed then.
    pub fn run<V: ArrayMachine + CommandHandler>(
        &mut self,
        volume: &mut V,
        stop: &ServerStop,
    ) -> Result<ServerEnded, ServeError> {
        let listeners = std::mem::take(&mut self.listeners);
        let Server { export, tls, members, patience, .. } = self;
        ServerPump::new(export, tls, *patience, &listeners, members, volume, stop)?.run()
    }
}
