//! The handshake after the greeting: the replies to options.

use super::export::{Export, NAME_BYTES_MAX, PAYLOAD_MAX};
use super::wire::{OPTION_REPLY_MAGIC, allocation, answer, info, option};
use scrubjay_device::completion::Outgoing;

/// The most data of an option, in bytes; longer ones are refused. A list of metadata queries may be long.
pub const OPTION_DATA_MAX: usize = 64 << 10;

/// Whether clients may or must use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Clients cannot use TLS.
    #[default]
    Off,
    /// Clients may use TLS.
    Allow,
    /// Clients get nothing without TLS.
    Require,
}

/// What client and server have agreed on so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The reply to EXPORT_NAME is not padded with zeros.
    pub is_unpadded: bool,
    /// TLS is on.
    pub is_secure: bool,
    /// Replies are structured, in chunks.
    pub is_structured: bool,
    /// The export's name for which allocation queries were agreed on.
    allocation_of: Option<Vec<u8>>,
    /// Allocation queries are allowed.
    pub has_allocation: bool,
}

/// What the client sends after an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterOption {
    /// Another option.
    Option,
    /// Requests.
    Transmission,
    /// TLS, then options from the start.
    Tls,
    /// Nothing: the connection ends.
    Over,
}

/// The context in which one option is answered.
pub struct Negotiation<'a> {
    /// The device.
    pub export: &'a Export,
    /// The policy on TLS.
    pub tls: TlsMode,
    /// The terms agreed on, which the option may change.
    pub terms: &'a mut Terms,
    /// Where replies are written.
    pub out: &'a mut Outgoing,
    /// The option's number.
    pub option: u32,
}

impl Negotiation<'_> {
    /// Answers the option, of which `data` is all data.
    pub fn answer(mut self, data: &[u8]) -> AfterOption {
        if self.tls == TlsMode::Require && !self.terms.is_secure && !self.is_allowed_in_clear() {
            return self.refuse(answer::ERR_TLS_REQD, "this server wants TLS first");
        }
        match self.option {
            option::EXPORT_NAME => self.export_name(data),
            option::ABORT => {
                self.reply(answer::ACK, &[]);
                AfterOption::Over
            }
            option::LIST => self.list(data),
            option::STARTTLS => self.start_tls(data),
            option::INFO | option::GO => self.info(data),
            option::STRUCTURED_REPLY => {
                if !data.is_empty() {
                    return self.refuse(answer::ERR_INVALID, "this option has no data");
                }
                self.terms.is_structured = true;
                self.acknowledge()
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.meta_context(data),
            _ => self.refuse(answer::ERR_UNSUP, "this server does not know this option"),
        }
    }

    /// Answers an option whose data was too long.
    pub fn answer_too_big(mut self) -> AfterOption {
        self.refuse(answer::ERR_TOO_BIG, "the option is too long")
    }

    fn is_allowed_in_clear(&self) -> bool {
        matches!(self.option, option::ABORT | option::STARTTLS)
    }

    /// The old way to start: there is no reply but success.
    fn export_name(&mut self, data: &[u8]) -> AfterOption {
        if !self.export.is_called(data) {
            return AfterOption::Over;
        }
        self.agree_on_allocation(data);
        self.out.push_copy(&self.export.size().to_be_bytes());
        self.out.push_copy(&self.export.flags(self.terms.is_structured).to_be_bytes());
        if !self.terms.is_unpadded {
            self.out.push_copy(&[0; 124]);
        }
        AfterOption::Transmission
    }

    fn list(&mut self, data: &[u8]) -> AfterOption {
        if !data.is_empty() {
            return self.refuse(answer::ERR_INVALID, "this option has no data");
        }
        let name = self.export.name().as_bytes();
        let entry = [&(name.len() as u32).to_be_bytes(), name].concat();
        self.reply(answer::SERVER, &entry);
        self.acknowledge()
    }

    /// Forgets what was agreed on in clear text, because an attacker may have sent it (CVE-2021-3716).
    fn start_tls(&mut self, data: &[u8]) -> AfterOption {
        if !data.is_empty() {
            return self.refuse(answer::ERR_INVALID, "this option has no data");
        }
        if self.terms.is_secure {
            return self.refuse(answer::ERR_INVALID, "TLS is on already");
        }
        if self.tls == TlsMode::Off {
            return self.refuse(answer::ERR_POLICY, "this server has no TLS");
        }
        self.reply(answer::ACK, &[]);
        *self.terms = Terms { is_unpadded: self.terms.is_unpadded, ..Terms::default() };
        AfterOption::Tls
    }

    fn info(&mut self, data: &[u8]) -> AfterOption {
        let Some((name, items)) = info_data(data) else {
            return self.refuse(answer::ERR_INVALID, "the lengths in this option do not fit");
        };
        if !self.export.is_called(name) {
            return self.refuse(answer::ERR_UNKNOWN, "no export has this name");
        }
        let flags = self.export.flags(self.terms.is_structured).to_be_bytes();
        self.reply(
            answer::INFO,
            &[&info::EXPORT.to_be_bytes()[..], &self.export.size().to_be_bytes(), &flags].concat(),
        );
        let wants = |kind: u16| items.chunks(2).any(|item| item == kind.to_be_bytes());
        if wants(info::NAME) {
            self.reply(answer::INFO, &[&info::NAME.to_be_bytes(), self.export.name().as_bytes()].concat());
        }
        if wants(info::BLOCK_SIZE) {
            // A volume takes requests of any alignment.
            let sizes = [1, self.export.block_preferred(), PAYLOAD_MAX].map(u32::to_be_bytes).concat();
            self.reply(answer::INFO, &[&info::BLOCK_SIZE.to_be_bytes()[..], &sizes].concat());
        }
        let _ = self.acknowledge();
        if self.option == option::INFO {
            return AfterOption::Option;
        }
        self.agree_on_allocation(name);
        AfterOption::Transmission
    }

    fn meta_context(&mut self, data: &[u8]) -> AfterOption {
        let is_setting = self.option == option::SET_META_CONTEXT;
        if is_setting {
            self.terms.allocation_of = None;
        }
        if !self.terms.is_structured {
            return self.refuse(answer::ERR_INVALID, "structured replies first");
        }
        let Some((name, queries)) = meta_context_data(data) else {
            return self.refuse(answer::ERR_INVALID, "the lengths in this option do not fit");
        };
        if !self.export.is_called(name) {
            return self.refuse(answer::ERR_UNKNOWN, "no export has this name");
        }
        // Only a listing accepts a namespace as a query, and no query at all, which asks for everything.
        let is_supported =
            |query: &&[u8]| *query == allocation::CONTEXT.as_bytes() || !is_setting && *query == b"base:";
        if queries.iter().any(is_supported) || !is_setting && queries.is_empty() {
            let id = if is_setting { allocation::CONTEXT_ID } else { 0 };
            self.reply(answer::META_CONTEXT, &[&id.to_be_bytes(), allocation::CONTEXT.as_bytes()].concat());
            if is_setting {
                self.terms.allocation_of = Some(name.to_owned());
            }
        }
        self.acknowledge()
    }

    /// A context holds for the name that it was set for only.
    fn agree_on_allocation(&mut self, name: &[u8]) {
        self.terms.has_allocation = self.terms.is_structured && self.terms.allocation_of.as_deref() == Some(name);
    }

    fn acknowledge(&mut self) -> AfterOption {
        self.reply(answer::ACK, &[]);
        AfterOption::Option
    }

    /// Refuses the option. EXPORT_NAME, the old way to start, has no error reply: the connection ends.
    fn refuse(&mut self, error: u32, why: &str) -> AfterOption {
        if self.option == option::EXPORT_NAME {
            return AfterOption::Over;
        }
        self.reply(error, why.as_bytes());
        AfterOption::Option
    }

    fn reply(&mut self, kind: u32, data: &[u8]) {
        self.out.push_copy(&OPTION_REPLY_MAGIC.to_be_bytes());
        self.out.push_copy(&self.option.to_be_bytes());
        self.out.push_copy(&kind.to_be_bytes());
        self.out.push_copy(&(data.len() as u32).to_be_bytes());
        self.out.push_copy(data);
    }
}

/// Decodes the name, and the information items requested, two bytes each.
fn info_data(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = string(data)?;
    let (count, items) = rest.split_first_chunk::<2>()?;
    (items.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some((name, items))
}

/// Decodes the name and the queries. An excessive count of queries ends with the data.
fn meta_context_data(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (name, rest) = string(data)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let mut queries = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let (query, after) = string(rest)?;
        queries.push(query);
        rest = after;
    }
    rest.is_empty().then_some((name, queries))
}

/// Decodes a length and a string of that length; returns the string and the rest.
fn string(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    let len = u32::from_be_bytes(*len) as usize;
    (len <= NAME_BYTES_MAX && len <= rest.len()).then(|| rest.split_at(len))
}
