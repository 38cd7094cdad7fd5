//! The interface of the ublk driver, as bytes: commands, a device's description and parameters, requests (`linux/ublk_cmd.h`
//! of Linux 6.5, the first in which the server can copy the data).

/// The longest answer in bytes: a device's description.
pub const INFO_BYTES: usize = 64;
/// Bytes of the parameters, with those of discards and no more.
const PARAMETERS_BYTES: usize = 60;
/// Bytes of one request, in the memory that the driver shares.
pub const REQUEST_BYTES: usize = 24;
/// Room for a command in a big entry of a ring, in bytes.
const BIG_COMMAND_BYTES: usize = 80;

const BASIC: u32 = 1;
const DISCARD: u32 = 1 << 1;

/// The queue number of a command that is for no queue.
const NO_QUEUE: u16 = u16::MAX;

/// Features of the driver, and of a device (`UBLK_F_`).
pub mod feature {
    /// Another server may follow one that is gone.
    pub const USER_RECOVERY: u64 = 1 << 3;
    /// Requests of the former server are given to the next.
    pub const USER_RECOVERY_REISSUE: u64 = 1 << 4;
    /// The server copies the data, to and from the character device.
    pub const USER_COPY: u64 = 1 << 7;
    /// The features of every device that is made here.
    pub const REQUIRED: u64 = USER_RECOVERY | USER_RECOVERY_REISSUE | USER_COPY;
}

/// Flags in a device's attributes (`UBLK_ATTR_`).
mod attribute {
    pub const READ_ONLY: u32 = 1;
    pub const VOLATILE_CACHE: u32 = 1 << 2;
    pub const FUA: u32 = 1 << 3;
}

/// The number of a command, as of an ioctl: direction of data, length of the argument, 'u', its number.
const fn command(direction: u32, bytes: u32, number: u32) -> u32 {
    direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}
const fn read_command(number: u32) -> u32 {
    command(2, 32, number)
}
const fn read_write_command(number: u32) -> u32 {
    command(3, 32, number)
}

pub const GET_DEVICE: u32 = read_command(0x02);
pub const ADD_DEVICE: u32 = read_write_command(0x04);
pub const DELETE_DEVICE: u32 = read_write_command(0x05);
pub const START_DEVICE: u32 = read_write_command(0x06);
pub const STOP_DEVICE: u32 = read_write_command(0x07);
pub const SET_PARAMETERS: u32 = read_write_command(0x08);
pub const START_RECOVERY: u32 = read_write_command(0x10);
pub const END_RECOVERY: u32 = read_write_command(0x11);
pub const GET_FEATURES: u32 = read_command(0x13);
/// To a device's queue: fetches the next request.
pub const FETCH: u32 = command(3, 16, 0x20);
/// To a device's queue: reports the end of a request, and fetches the next one.
pub const COMMIT_AND_FETCH: u32 = command(3, 16, 0x21);

/// Stands for any number: the driver chooses one.
pub const ANY_NUMBER: u32 = u32::MAX;

/// A command to the driver (`ublksrv_ctrl_cmd`).
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlCommand {
    /// Number of the device.
    pub number: u32,
    /// Address and length of further data.
    pub address: u64,
    pub len: u16,
    /// A number that goes with the command.
    pub data: u64,
}

impl ControlCommand {
    pub fn to_bytes(self) -> [u8; BIG_COMMAND_BYTES] {
        let mut bytes = [0; BIG_COMMAND_BYTES];
        put(&mut bytes, 0, self.number.to_ne_bytes());
        put(&mut bytes, 4, NO_QUEUE.to_ne_bytes());
        put(&mut bytes, 6, self.len.to_ne_bytes());
        put(&mut bytes, 8, self.address.to_ne_bytes());
        put(&mut bytes, 16, self.data.to_ne_bytes());
        bytes
    }
}

/// A command to a device's only queue (`ublksrv_io_cmd`).
pub fn queue_command(tag: u16, result: i32) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 2, tag.to_ne_bytes());
    put(&mut bytes, 4, result.to_ne_bytes());
    bytes
}

/// State of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkState {
    /// Not started yet, or stopped.
    Dead,
    /// A server has it, or had it a moment ago.
    Live,
    /// Its server is gone, and its requests wait for another.
    Quiesced,
    /// A state that a device made here never has.
    Other(u16),
}

/// The driver's description of a device (`ublksrv_ctrl_dev_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkInfo {
    pub number: u32,
    pub state: UblkState,
    pub queues: u16,
    pub depth: u16,
    pub request_bytes_max: u32,
    /// Process ID of the server, if there is one.
    pub server: i32,
    pub features: u64,
    /// A number that its maker stored there for itself (`ublksrv_flags`).
    pub mark: u64,
}

impl UblkInfo {
    pub fn to_bytes(self) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        put(&mut bytes, 0, self.queues.to_ne_bytes());
        put(&mut bytes, 2, self.depth.to_ne_bytes());
        put(&mut bytes, 8, self.request_bytes_max.to_ne_bytes());
        put(&mut bytes, 12, self.number.to_ne_bytes());
        put(&mut bytes, 16, self.server.to_ne_bytes());
        put(&mut bytes, 24, self.features.to_ne_bytes());
        put(&mut bytes, 32, self.mark.to_ne_bytes());
        bytes
    }

    pub fn of_bytes(bytes: &[u8; INFO_BYTES]) -> UblkInfo {
        UblkInfo {
            queues: u16::from_ne_bytes(part(bytes, 0)),
            depth: u16::from_ne_bytes(part(bytes, 2)),
            state: match u16::from_ne_bytes(part(bytes, 4)) {
                0 => UblkState::Dead,
                1 => UblkState::Live,
                2 => UblkState::Quiesced,
                other => UblkState::Other(other),
            },
            request_bytes_max: u32::from_ne_bytes(part(bytes, 8)),
            number: u32::from_ne_bytes(part(bytes, 12)),
            server: i32::from_ne_bytes(part(bytes, 16)),
            features: u64::from_ne_bytes(part(bytes, 24)),
            mark: u64::from_ne_bytes(part(bytes, 32)),
        }
    }
}

/// Properties of a block device (`ublk_params`). Lengths in bytes.
#[derive(Clone, Copy, Debug)]
pub struct UblkParameters {
    pub size: u64,
    /// The longest request.
    pub request_bytes_max: u32,
    /// The longest discard or write of zeros.
    pub zeros_bytes_max: u32,
    /// The block that is best written as a whole; a power of two.
    pub block: u32,
    /// The multiple that requests should have; a power of two.
    pub preferred: u32,
    pub is_read_only: bool,
}

impl UblkParameters {
    pub fn to_bytes(self) -> [u8; PARAMETERS_BYTES] {
        let mut bytes = [0; PARAMETERS_BYTES];
        let attributes = attribute::VOLATILE_CACHE | attribute::FUA;
        let read_only = if self.is_read_only { attribute::READ_ONLY } else { 0 };
        put(&mut bytes, 0, (PARAMETERS_BYTES as u32).to_ne_bytes());
        put(&mut bytes, 4, (BASIC | DISCARD).to_ne_bytes());
        put(&mut bytes, 8, (attributes | read_only).to_ne_bytes());
        let shift = |bytes: u32| bytes.trailing_zeros() as u8;
        put(&mut bytes, 12, [9, shift(self.block), shift(self.preferred), shift(self.block)]);
        put(&mut bytes, 16, (self.request_bytes_max >> 9).to_ne_bytes());
        put(&mut bytes, 24, (self.size >> 9).to_ne_bytes());
        let zeros_max = if self.is_read_only { 0 } else { self.zeros_bytes_max >> 9 };
        put(&mut bytes, 44, self.block.to_ne_bytes());
        put(&mut bytes, 48, zeros_max.to_ne_bytes());
        put(&mut bytes, 52, zeros_max.to_ne_bytes());
        put(&mut bytes, 56, 1u16.to_ne_bytes());
        bytes
    }
}

/// What a request does (`UBLK_IO_OP_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkVerb {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes all earlier writes durable.
    Flush,
    /// Discards bytes.
    Discard,
    /// Writes zeros.
    Zero,
    /// An operation that a device made here never receives.
    Other(u8),
}

/// One request to the device (`ublksrv_io_desc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkRequest {
    /// The operation.
    pub verb: UblkVerb,
    /// The first byte.
    pub offset: u64,
    /// Length in bytes; 0 for flushes.
    pub len: u64,
    /// Whether it must be durable before it ends (FUA).
    pub is_durable: bool,
}

impl UblkRequest {
    /// Decodes the driver's description.
    pub fn of_bytes(bytes: &[u8; REQUEST_BYTES]) -> UblkRequest {
        const FUA: u32 = 1 << 13;
        let verb_and_flags = u32::from_ne_bytes(part(bytes, 0));
        UblkRequest {
            verb: match verb_and_flags as u8 {
                0 => UblkVerb::Read,
                1 => UblkVerb::Write,
                2 => UblkVerb::Flush,
                3 => UblkVerb::Discard,
                5 => UblkVerb::Zero,
                other => UblkVerb::Other(other),
            },
            len: u64::from(u32::from_ne_bytes(part(bytes, 4))) << 9,
            offset: u64::from_ne_bytes(part(bytes, 8)) << 9,
            is_durable: verb_and_flags & FUA != 0,
        }
    }
}

/// Offset of the data of a request in the character device.
pub fn data_offset(tag: u16) -> u64 {
    const DATA: u64 = 0x8000_0000;
    const TAG_SHIFT: u32 = 25;
    DATA + (u64::from(tag) << TAG_SHIFT)
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("as many as asked for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_numbers_match_the_kernels_header() {
        // What a C compiler makes of UBLK_U_CMD_ADD_DEV, _GET_DEV_INFO, UBLK_U_IO_FETCH_REQ and _COMMIT_AND_FETCH_REQ.
        assert_eq!(
            [ADD_DEVICE, GET_DEVICE, FETCH, COMMIT_AND_FETCH],
            [0xc020_7504, 0x8020_7502, 0xc010_7520, 0xc010_7521]
        );
        assert_eq!(GET_FEATURES, 0x8020_7513);
    }

    #[test]
    fn a_description_is_decoded_as_it_was_encoded() {
        let info = UblkInfo {
            number: 7,
            state: UblkState::Dead,
            queues: 1,
            depth: 128,
            request_bytes_max: 1 << 19,
            server: -1,
            features: feature::REQUIRED,
            mark: 0x0123_4567_89ab_cdef,
        };
        let mut bytes = info.to_bytes();
        assert_eq!(UblkInfo::of_bytes(&bytes), info);
        for (number, state) in
            [(1, UblkState::Live), (2, UblkState::Quiesced), (3, UblkState::Other(3)), (0, UblkState::Dead)]
        {
            bytes[4] = number;
            assert_eq!(UblkInfo::of_bytes(&bytes).state, state);
        }
    }

    #[test]
    fn requests_are_converted_from_sectors_to_bytes() {
        let mut bytes = [0; REQUEST_BYTES];
        put(&mut bytes, 0, (1u32 | 1 << 13).to_ne_bytes());
        put(&mut bytes, 4, 8u32.to_ne_bytes());
        put(&mut bytes, 8, (1u64 << 33).to_ne_bytes());
        let write = UblkRequest { verb: UblkVerb::Write, offset: 1 << 42, len: 4096, is_durable: true };
        assert_eq!(UblkRequest::of_bytes(&bytes), write);
        let verbs = [(0, UblkVerb::Read), (2, UblkVerb::Flush), (3, UblkVerb::Discard), (5, UblkVerb::Zero)];
        for (number, verb) in verbs.into_iter().chain([(4, UblkVerb::Other(4))]) {
            bytes[0] = number;
            assert_eq!(UblkRequest::of_bytes(&bytes).verb, verb);
        }
    }

    #[test]
    fn parameters_lie_where_the_header_has_them() {
        let parameters = UblkParameters {
            size: 1 << 30,
            request_bytes_max: 1 << 19,
            zeros_bytes_max: 1 << 30,
            block: 4096,
            preferred: 65536,
            is_read_only: false,
        };
        let bytes = parameters.to_bytes();
        assert_eq!(bytes[..8], [60, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[8..16], [0b1100, 0, 0, 0, 9, 12, 16, 12]);
        assert_eq!(u32::from_ne_bytes(part(&bytes, 16)), 1024);
        assert_eq!(u64::from_ne_bytes(part(&bytes, 24)), 1 << 21);
        let read_only = UblkParameters { is_read_only: true, ..parameters }.to_bytes();
        assert_eq!((read_only[8], &read_only[48..56]), (0b1101, &[0; 8][..]));
    }
}
