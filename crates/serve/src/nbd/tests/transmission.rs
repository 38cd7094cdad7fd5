//! Requests and replies, byte by byte.

use super::*;
use crate::nbd::wire::{chunk as kind, flag};
use crate::nbd::{IN_FLIGHT_MAX, PAYLOAD_MAX};
use command::*;
use scrubjay_core::volume::block::{BlockFailure, BlockReply};

/// A chunk of data at `offset`.
fn data_chunk(flags: u16, offset: u64, data: &[u8]) -> Vec<u8> {
    chunk(READ, flags, kind::OFFSET_DATA, &[&offset.to_be_bytes(), data])
}

fn hole_chunk(flags: u16, offset: u64, len: u32) -> Vec<u8> {
    chunk(READ, flags, kind::OFFSET_HOLE, &[&offset.to_be_bytes(), &len.to_be_bytes()])
}

fn lost_chunk(flags: u16, offset: u64) -> Vec<u8> {
    let why = b"\x00\x00\x00\x05\x00\x14these bytes are lost";
    chunk(READ, flags, kind::ERROR_OFFSET, &[why, &offset.to_be_bytes()])
}

fn error_chunk(number: u16, errno: u32) -> Vec<u8> {
    chunk(number, 1, kind::ERROR, &[&errno.to_be_bytes(), &[0, 0]])
}

#[test]
fn written_data_are_read_back_at_any_alignment() {
    let data: Vec<u8> = (0..3000u32).map(|at| at as u8 ^ 0x5a).collect();
    let mut peer = Peer::simple();
    assert_eq!(peer.send(&write(1001, &data)), simple(WRITE, 0));
    let expected = [&[0; 10], &data[..], &[0; 10]].concat();
    let read = request(READ, 0, 991, 3020);
    assert_eq!(peer.send(&read), [simple(READ, 0), expected].concat());
    assert_eq!(peer.send(&request(FLUSH, 0, 0, 0)), simple(FLUSH, 0));
    assert_eq!(peer.send(&request(TRIM, 0, 0, 4096)), simple(TRIM, 0));
    assert_eq!(peer.send(&request(READ, 0, 1001, 10)), [simple(READ, 0), vec![0; 10]].concat());
    assert_eq!(peer.session.in_flight(), 0);
    assert_eq!(peer.session.bytes(), 0);
}

#[test]
fn a_structured_read_distinguishes_data_holes_and_lost_bytes() {
    let mut peer = Peer::structured();
    peer.send(&write(512, &[7; 512]));
    peer.send(&write(1536, &[8; 1024]));
    peer.array.lose(1536..2048);
    peer.array.lose(4096..5120);
    let expected = [
        hole_chunk(0, 100, 412),
        data_chunk(0, 512, &[7; 512]),
        hole_chunk(0, 1024, 512),
        lost_chunk(0, 1536),
        data_chunk(0, 2048, &[8; 512]),
        hole_chunk(0, 2560, 1536),
        lost_chunk(1, 4096),
    ];
    assert_eq!(peer.send(&request(READ, 0, 100, 4900)), expected.concat());
    assert_eq!(peer.send(&request(READ, 0, 600, 10)), data_chunk(1, 600, &[7; 10]));
    assert_eq!(peer.send(&request(READ, 0, 0, 0)), chunk(READ, 1, kind::NONE, &[]));
}

#[test]
fn a_read_in_one_piece_is_all_or_nothing() {
    let mut peer = Peer::structured();
    peer.send(&write(512, &[7; 512]));
    let whole = data_chunk(1, 0, &[[0; 512], [7; 512], [0; 512]].concat());
    assert_eq!(peer.send(&request(READ, flag::DF, 0, 1536)), whole);
    peer.array.lose(1024..1025);
    assert_eq!(peer.send(&request(READ, flag::DF, 0, 1536)), lost_chunk(1, 0));
    let mut peer = Peer::simple();
    assert_eq!(peer.send(&request(READ, flag::DF, 0, 1536)), simple(READ, 22), "not agreed on");
}

#[test]
fn a_simple_read_fails_as_a_whole() {
    let mut peer = Peer::simple();
    peer.array.lose(1024..1025);
    assert_eq!(peer.send(&request(READ, 0, 0, 2048)), simple(READ, 5));
    assert_eq!(peer.send(&request(READ, 0, 0, 1024)), [simple(READ, 0), vec![0; 1024]].concat());
}

#[test]
fn allocation_is_reported_in_all_runs_or_only_the_first() {
    let mut peer = Peer::structured();
    peer.send(&write(1024, &[7; 1024]));
    let runs = |runs: &[(u32, u32)]| {
        let runs: Vec<u8> =
            runs.iter().flat_map(|(len, flags)| [len.to_be_bytes(), flags.to_be_bytes()].concat()).collect();
        chunk(BLOCK_STATUS, 1, kind::BLOCK_STATUS, &[&[0, 0, 0, 1], &runs])
    };
    let all = SIZE as u32;
    assert_eq!(peer.send(&request(BLOCK_STATUS, 0, 0, all)), runs(&[(1024, 3), (1024, 0), (all - 2048, 3)]));
    assert_eq!(peer.send(&request(BLOCK_STATUS, flag::REQ_ONE, 1500, 1000)), runs(&[(548, 0)]));
    peer.array.lose(0..512);
    assert_eq!(peer.send(&request(BLOCK_STATUS, 0, 0, 1024)), runs(&[(512, 0), (512, 3)]), "lost is not empty");
}

#[test]
fn too_many_runs_are_reported_in_part() {
    let mut peer = Peer::with(Export::new("vol", 16 << 20, 65536, false), TlsMode::Off);
    peer.send(&[&hello(), &structured_go("vol")[..]].concat());
    for block in (0..32768).step_by(2) {
        peer.send(&write(block * 512, &[1]));
    }
    let reply = peer.send(&request(BLOCK_STATUS, 0, 0, 16 << 20));
    assert_eq!(reply.len(), 20 + 4 + 8 * 8192);
    assert_eq!(reply[24..40], [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]);
}

#[test]
fn invalid_requests_are_refused_with_the_errors_of_the_document() {
    const ALL: u16 = 0xffff;
    let table: &[(u16, u16, u64, u32, u32)] = &[
        (READ, 0, SIZE, 1, 22),
        (READ, 0, u64::MAX, 2, 22),
        (READ, 0, 0, PAYLOAD_MAX + 1, 22),
        (READ, flag::NO_HOLE, 0, 1, 22),
        (FLUSH, 0, 1, 0, 22),
        (FLUSH, 0, 0, 1, 22),
        (FLUSH, flag::DF, 0, 0, 22),
        (TRIM, 0, SIZE - 1, 2, 22),
        (TRIM, flag::REQ_ONE, 0, 1, 22),
        (WRITE_ZEROES, 0, SIZE - 1, 2, 28),
        (WRITE_ZEROES, 0, u64::MAX, u32::MAX, 28),
        (WRITE_ZEROES, flag::FAST_ZERO, 0, 512, 95),
        (WRITE_ZEROES, flag::DF, 0, 512, 22),
        (BLOCK_STATUS, 0, 0, 0, 22),
        (BLOCK_STATUS, 0, SIZE, 1, 22),
        (BLOCK_STATUS, flag::FAST_ZERO, 0, 1, 22),
        (5, 0, 0, 512, 22),
        (8, 0, 0, 0, 22),
        (99, ALL, 5, 5, 22),
    ];
    for &(number, flags, offset, len, errno) in table {
        let bytes = request(number, flags, offset, len);
        assert_eq!(Peer::simple().send(&bytes), simple(number, errno), "{number} {flags} {offset} {len}");
        let expected =
            if matches!(number, READ | BLOCK_STATUS) { error_chunk(number, errno) } else { simple(number, errno) };
        assert_eq!(Peer::structured().send(&bytes), expected, "{number} {flags} {offset} {len}");
    }
}

#[test]
fn clients_may_set_fua_on_anything_and_lengths_may_be_zero() {
    let mut peer = Peer::simple();
    for (number, len) in
        [(READ, 0), (FLUSH, 0), (TRIM, 512), (WRITE_ZEROES, 512), (TRIM, 0), (WRITE_ZEROES, 0), (WRITE, 0)]
    {
        assert_eq!(peer.send(&request(number, flag::FUA, 0, len)), simple(number, 0), "{number}");
    }
    assert_eq!(peer.send(&request(WRITE_ZEROES, flag::NO_HOLE, 0, 512)), simple(WRITE_ZEROES, 0));
    // These requests are longer than a payload may be: the limit does not apply to them.
    let mut peer = Peer::with(Export::new("vol", 1 << 28, 65536, false), TlsMode::Off);
    peer.send(&[&hello(), &go("vol")[..]].concat());
    assert_eq!(peer.send(&request(WRITE_ZEROES, 0, 0, 1 << 28)), simple(WRITE_ZEROES, 0));
    assert_eq!(peer.send(&request(TRIM, 0, 0, 1 << 28)), simple(TRIM, 0));
}

#[test]
fn a_refused_write_is_read_to_its_end() {
    let flush = request(FLUSH, 0, 0, 0);
    let too_long = [request(WRITE, 0, 0, PAYLOAD_MAX + 1), vec![9; PAYLOAD_MAX as usize + 1]].concat();
    let outside = write(SIZE - 99, &[9; 100]);
    let mut strange = write(0, &[9; 100]);
    strange[4..6].copy_from_slice(&flag::DF.to_be_bytes());
    for (bytes, errno) in [(too_long, 22), (outside, 28), (strange, 22)] {
        let mut peer = Peer::simple();
        let answered = peer.send(&[&bytes[..], &flush].concat());
        assert_eq!(answered, [simple(WRITE, errno), simple(FLUSH, 0)].concat());
        assert!(peer.array.bytes_mut().iter().all(|&byte| byte == 0));
    }
}

#[test]
fn each_failure_of_the_volume_gets_its_own_error_number() {
    for (failure, read, write) in [
        (BlockFailure::Io, 5, 5),
        (BlockFailure::OutOfRange, 22, 28),
        (BlockFailure::ReadOnly, 1, 1),
        (BlockFailure::Stopping, 108, 108),
    ] {
        let mut peer = Peer::structured();
        for (bytes, expected) in [
            (request(READ, 0, 0, 512), error_chunk(READ, read)),
            (request(BLOCK_STATUS, 0, 0, 512), error_chunk(BLOCK_STATUS, read)),
            (super::write(0, &[1; 512]), simple(WRITE, write)),
            (request(FLUSH, 0, 0, 0), simple(FLUSH, read)),
        ] {
            let (ticket, _) = peer.session.advance(&mut &bytes[..], used_buffer).expect("a request");
            peer.session.reply(ticket, BlockReply::Failed(failure));
            assert_eq!(peer.take(), expected);
        }
    }
}

#[test]
fn no_more_requests_are_taken_than_may_be_under_way() {
    let mut peer = Peer::simple();
    let flushes = request(FLUSH, 0, 0, 0).repeat(IN_FLIGHT_MAX + 1);
    let mut bytes = &flushes[..];
    let mut tickets = Vec::new();
    while let Some((ticket, _)) = peer.session.advance(&mut bytes, used_buffer) {
        tickets.push(ticket);
    }
    assert_eq!((tickets.len(), bytes.len()), (IN_FLIGHT_MAX, 28));
    assert!(!peer.session.wants_input() && tickets.iter().all(|&ticket| ticket < IN_FLIGHT_MAX));
    peer.session.reply(tickets[7], BlockReply::Done);
    assert_eq!(peer.session.advance(&mut bytes, used_buffer), Some((tickets[7], BlockRequest::Flush)));
}

#[test]
fn no_more_bytes_are_held_than_the_limit() {
    let mut peer = Peer::with(Export::new("vol", 1 << 28, 65536, false), TlsMode::Off);
    peer.send(&[&hello(), &go("vol")[..]].concat());
    let reads = request(READ, 0, 0, PAYLOAD_MAX).repeat(9);
    let mut bytes = &reads[..];
    let mut tickets = Vec::new();
    while let Some((ticket, _)) = peer.session.advance(&mut bytes, used_buffer) {
        tickets.push(ticket);
    }
    assert_eq!(tickets.len(), 2, "64 MiB");
    for ticket in tickets {
        peer.session.reply(
            ticket,
            BlockReply::Read(vec![scrubjay_core::volume::block::ReadPart::Zeros(u64::from(PAYLOAD_MAX))]),
        );
    }
    assert_eq!(peer.session.advance(&mut bytes, used_buffer), None, "they have not been sent yet");
    peer.take();
    assert!(peer.session.advance(&mut bytes, used_buffer).is_some());
}

#[test]
fn nothing_is_answered_after_a_disconnect() {
    let mut peer = Peer::simple();
    let bytes = [request(READ, 0, 0, 1), request(DISC, 0, 0, 0), request(FLUSH, 0, 0, 0)].concat();
    assert_eq!(peer.send(&bytes), [simple(READ, 0), vec![0]].concat());
    assert!(peer.session.is_over() && !peer.session.wants_input());
}

#[test]
fn a_request_over_the_memory_limit_waits_and_so_do_those_after_it() {
    let mut peer = Peer::with(Export::new("vol", SIZE, 512, false), TlsMode::Off);
    peer.send(&[&hello(), &go("vol")[..]].concat());
    let mut session = peer.session;
    session.set_limit(8192);
    let bytes = [request(READ, 0, 0, 8192), request(READ, 0, 0, 512), request(FLUSH, 0, 0, 0)].concat();
    let mut input = &bytes[..];
    let next = |session: &mut NbdSession, input: &mut &[u8]| session.advance(input, Buffer::zeroed);
    let (first, _) = next(&mut session, &mut input).expect("it fits");
    assert!(next(&mut session, &mut input).is_none() && session.is_held() && !session.wants_input());
    assert_eq!((input.len(), session.held()), (28, 8192));
    assert!(next(&mut session, &mut input).is_none() && input.len() == 28, "it waits still");
    session.reply(first, BlockReply::Failed(BlockFailure::Io));
    assert!(matches!(next(&mut session, &mut input), Some((_, BlockRequest::Read { len: 512, .. }))));
    assert!(matches!(next(&mut session, &mut input), Some((_, BlockRequest::Flush))));

    let write = [&request(WRITE, 0, 0, 4096)[..], &[7; 4096]].concat();
    let held = session.held();
    session.set_limit(held);
    input = &write;
    assert!(next(&mut session, &mut input).is_none() && input.len() == 4096, "no buffer for it yet");
    session.set_limit(16384);
    assert!(matches!(next(&mut session, &mut input), Some((_, BlockRequest::Write { .. }))));
}

#[test]
fn a_read_of_one_byte_is_charged_for_its_whole_block() {
    let mut peer = Peer::structured();
    peer.session.set_limit(100_000);
    let bytes = [request(READ, 0, 5, 1), request(READ, 0, 65536, 1)].concat();
    let mut bytes = &bytes[..];
    assert!(peer.session.advance(&mut bytes, used_buffer).is_some());
    assert!(peer.session.advance(&mut bytes, used_buffer).is_none() && peer.session.is_held());
}
