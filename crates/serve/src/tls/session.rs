//! One connection of an NBD client, as a machine: its session, and TLS around it once the client has asked for it.

use super::channel::Channel;
use super::credentials::Tls;
use crate::nbd::{Export, NbdSession, Ticket};
use rustls::ServerConfig;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::volume::block::{BlockReply, BlockRequest};
use scrubjay_device::completion::Outgoing;
use std::ops::Range;
use std::sync::Arc;

/// The session, in clear text or encrypted.
#[derive(Debug)]
pub struct TlsSession {
    session: NbdSession,
    config: Option<Arc<ServerConfig>>,
    channel: Option<Box<Channel>>,
}

impl TlsSession {
    /// A client has connected; the greeting is ready to be sent.
    pub fn new(export: Arc<Export>, tls: &Tls) -> TlsSession {
        TlsSession { session: NbdSession::new(export, tls.mode()), config: tls.config().cloned(), channel: None }
    }

    /// [`NbdSession::advance`], through TLS if that is on. An error of TLS ends the session.
    pub fn advance(
        &mut self,
        input: &mut &[u8],
        mut buffer: impl FnMut(usize) -> Buffer,
    ) -> Option<(Ticket, BlockRequest)> {
        loop {
            let Some(channel) = &mut self.channel else {
                let ready = self.session.advance(input, &mut buffer);
                if !self.session.wants_tls() {
                    return ready;
                }
                self.begin_tls();
                continue;
            };
            let mut plain = channel.received();
            let count = plain.len();
            let ready = self.session.advance(&mut plain, &mut buffer);
            let taken = count - plain.len();
            channel.consume(taken);
            if ready.is_some() || taken < count || self.session.is_over() {
                return ready;
            }
            if count > 0 {
                continue; // there may be more clear text
            }
            if channel.is_closed() {
                self.hang_up();
                return None;
            }
            if input.is_empty() {
                return None;
            }
            if channel.receive(input).is_err() {
                self.hang_up();
            } else if channel.is_established() && self.session.wants_tls() {
                self.session.secure();
            }
        }
    }

    /// Starts TLS: replies so far are sent in clear text, further input is for TLS.
    fn begin_tls(&mut self) {
        let config = self.config.as_ref().expect("the session knows whether there is TLS");
        let clear = self.session.take_output(Outgoing::default());
        self.channel = Some(Box::new(Channel::new(Arc::clone(config), clear)));
    }

    /// Writes the reply to a request ([`NbdSession::reply`]).
    ///
    /// # Panics
    /// When no such request is under way, or the reply does not fit it.
    pub fn reply(&mut self, ticket: Ticket, reply: BlockReply) {
        self.session.reply(ticket, reply);
    }

    /// Does this request under way only read?
    pub fn is_read(&self, ticket: Ticket) -> bool {
        self.session.is_read(ticket)
    }

    /// Can it take more input now ([`NbdSession::wants_input`])?
    pub fn wants_input(&self) -> bool {
        match &self.channel {
            None => self.session.wants_input(),
            Some(channel) => channel.wants_input() && (self.session.wants_tls() || self.session.wants_input()),
        }
    }

    /// Bytes held for this client: requests under way, and unsent output.
    pub fn bytes(&self) -> usize {
        self.session.bytes() + self.channel.as_ref().map_or(0, |channel| channel.bytes())
    }

    /// Bytes held for this client, including a payload that is being received.
    pub fn held(&self) -> usize {
        self.session.held() + self.channel.as_ref().map_or(0, |channel| channel.bytes())
    }

    /// Sets how many bytes it may hold ([`NbdSession::set_limit`]); those being encrypted count.
    pub fn set_limit(&mut self, limit: usize) {
        let sealing = self.channel.as_ref().map_or(0, |channel| channel.bytes());
        self.session.set_limit(limit.saturating_sub(sealing));
    }

    /// Does a request wait for memory?
    pub fn is_held(&self) -> bool {
        self.session.is_held()
    }

    /// Is a message of the client received in part only?
    pub fn is_mid_message(&self) -> bool {
        self.session.is_mid_message()
    }

    /// Requests under way (count).
    pub fn in_flight(&self) -> usize {
        self.session.in_flight()
    }

    /// Is anything to be sent?
    pub fn has_output(&self) -> bool {
        let is_at_end = self.is_at_end();
        let is_in_channel = |channel: &Channel| channel.has_output() || is_at_end && channel.can_send_close_notify();
        self.session.output_len() > 0 || self.channel.as_deref().is_some_and(is_in_channel)
    }

    /// Takes the next bytes to be sent, and leaves `empty` in their place. Buffers whose bytes were encrypted are recycled.
    ///
    /// # Panics
    /// When `empty` is not empty.
    pub fn take_output(&mut self, empty: Outgoing, recycle: impl FnMut(Buffer)) -> Outgoing {
        let is_at_end = self.is_at_end();
        let Some(channel) = &mut self.channel else { return self.session.take_output(empty) };
        if channel.is_all_sealed() {
            channel.load(|empty| self.session.take_output(empty));
        }
        channel.seal(recycle);
        if is_at_end && channel.is_all_sealed() && self.session.output_len() == 0 {
            channel.send_close_notify();
        }
        channel.take_output(empty)
    }

    /// Will the session write nothing any more?
    fn is_at_end(&self) -> bool {
        self.session.is_over() && self.session.in_flight() == 0
    }

    /// [`NbdSession::lend_payload`]; never with TLS, because what is received is encrypted.
    pub fn lend_payload(&mut self) -> Option<(Buffer, Range<usize>)> {
        if self.channel.is_some() { None } else { self.session.lend_payload() }
    }

    /// Returns the lent buffer ([`NbdSession::return_payload`]).
    ///
    /// # Panics
    /// When no buffer was lent.
    pub fn return_payload(&mut self, buffer: Buffer, count: usize) -> Option<(Ticket, BlockRequest)> {
        self.session.return_payload(buffer, count)
    }

    /// Is the handshake complete, so that requests are allowed?
    pub fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    /// Does the session hold so many bytes that it takes no more input?
    pub fn is_full(&self) -> bool {
        self.session.is_full()
    }

    /// Is its input over? Requests under way are still replied to.
    pub fn is_over(&self) -> bool {
        self.session.is_over()
    }

    /// Ends its input: the client is gone, or the server ends.
    pub fn hang_up(&mut self) {
        self.session.hang_up();
    }
}
