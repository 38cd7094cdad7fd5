//! The server: one thread and one loop that moves bytes between clients, one volume, and its members' disks.
//!
//! ```text
//!  clients' sockets --bytes--> NbdSession --BlockRequest--> ArrayMachine (the volume) --MemberOp----> members' disks
//!                  <--bytes--  (in a TlsSession) <--BlockReply--                     <--MemberOpDone--
//! ```
//!
//! A block device, if the volume is one, is one client more: `BlockDevice` (ublk) takes the place of socket and session.
//!
//! It decides nothing. Each turn it waits for completions of the ring, passes them on, turns the clients' bytes into
//! requests, starts the volume's operations, and turns the volume's replies into bytes, until nothing is left to do at
//! once.

mod address;
mod block_device;
mod connection;
mod error;
mod first_writes;
mod memory_budget;
mod patience;
mod pump;
mod stop;
mod task;

pub use address::{Address, AddressError, BindError};
pub use block_device::DeviceEvent;
pub use error::ServeError;
pub use patience::Patience;
pub use stop::ServerStop;

use crate::control::CommandHandler;
use crate::ended::ServerEnded;
use crate::members::MemberTable;
use crate::nbd::Export;
use crate::tls::Tls;
use address::Listener;
use block_device::BlockDevice;
use pump::ServerPump;
use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_device::ublk::{UblkError, UblkPlan};
use std::sync::Arc;

/// Permissions of control sockets: commands are the owner's alone.
const CONTROL_MODE: u32 = 0o600;

/// A server of one volume, before and after it runs.
pub struct Server {
    export: Arc<Export>,
    tls: Tls,
    /// What it listens at, and whether for commands.
    listeners: Vec<(Listener, bool)>,
    /// The members' disks.
    pub members: MemberTable,
    /// How long it waits for clients, disks and the volume.
    pub patience: Patience,
    /// Permissions of its NBD sockets in the file system: write permission is needed to connect.
    pub socket_mode: u32,
    /// The block device to create, if any, and the data bytes of one stripe of the volume.
    pub device: Option<(UblkPlan, u64)>,
    /// Is notified of what happens to the block device.
    pub on_device: fn(&DeviceEvent),
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
            device: None,
            on_device: |_| (),
        }
    }

    /// Sets whether NBD clients may or must use TLS. At first they cannot.
    pub fn secure(&mut self, tls: Tls) {
        self.tls = tls;
    }

    /// Listens for NBD clients. Returns the address, with the port that the kernel chose for port 0.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn listen(&mut self, address: &Address) -> Result<Address, BindError> {
        self.bind(address, false)
    }

    /// Listens for control clients. Returns the address, with the port that the kernel chose for port 0.
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

    /// Serves `volume` until `stop` is requested; then completes the requests under way, flushes the volume, and returns how
    /// that went. It listens nowhere any more then, and its block device is removed, unless it is in use.
    ///
    /// # Errors
    /// [`ServeError`]. The volume was not flushed then.
    pub fn run<V: ArrayMachine + CommandHandler>(
        &mut self,
        volume: &mut V,
        stop: &ServerStop,
    ) -> Result<ServerEnded, ServeError> {
        let listeners = std::mem::take(&mut self.listeners);
        let Server { export, tls, members, patience, device, on_device, .. } = self;
        let pump = ServerPump::new(export, tls, *patience, &listeners, members, volume, stop)?;
        let device = device.take().map(|(plan, stripe_bytes)| -> Result<BlockDevice, UblkError> {
            Ok(BlockDevice::new(plan.carry_out()?, export.size(), stripe_bytes))
        });
        let device = device.transpose()?;
        let (mut ended, device) = pump.run(device, *on_device)?;
        if let Some(device) = device.and_then(BlockDevice::into_stopped)
            && let Err(error) = device.delete()
        {
            ended.is_device_wrong = true;
            on_device(&DeviceEvent::Failed(error));
        }
        Ok(ended)
    }
}
