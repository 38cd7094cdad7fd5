//! Streams of bytes: valid ones, cut anywhere, and arbitrary ones.

use super::*;
use crate::nbd::{BYTES_IN_FLIGHT_MAX, PAYLOAD_MAX};
use proptest::prelude::*;

/// A client's stream: a handshake and requests, most of them valid.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let handshake = prop_oneof![
        Just(go("vol")),
        Just(structured_go("")),
        Just([opt(77, &[1; 300]), opt(option::LIST, &[]), structured_go("vol")].concat()),
        Just(opt(option::EXPORT_NAME, b"vol")),
    ];
    (handshake, prop::collection::vec(one_request(), 0..12))
        .prop_map(|(handshake, requests)| [hello().to_vec(), handshake, requests.concat()].concat())
}

fn one_request() -> impl Strategy<Value = Vec<u8>> {
    let place = (0..SIZE + 1000, 0..40_000u32);
    (0..9u16, prop_oneof![3 => Just(0u16), 1 => 0..32u16], place).prop_map(|(number, flags, (offset, len))| {
        let payload = if number == command::WRITE { vec![number as u8 + 1; len as usize] } else { Vec::new() };
        match number {
            command::DISC => Vec::new(),
            _ => [request(number, flags, offset, len), payload].concat(),
        }
    })
}

/// The server's replies to a stream that comes in pieces. `lends`: long payloads are received straight into their buffers.
fn answered(stream: &[u8], cuts: &[usize], lends: bool) -> Vec<u8> {
    let mut peer = Peer::new();
    let mut answered = Vec::new();
    let mut rest = stream;
    let mut cuts = cuts.iter().copied().cycle();
    while !rest.is_empty() && !peer.session.is_over() {
        let (piece, remaining) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
        rest = remaining;
        if lends && let Some((mut buffer, range)) = peer.session.lend_payload() {
            let count = piece.len().min(range.len());
            buffer[range.start..range.start + count].copy_from_slice(&piece[..count]);
            if let Some((ticket, request)) = peer.session.return_payload(buffer, count) {
                peer.serve(ticket, request);
            }
            answered.extend(peer.send(&piece[count..]));
        } else {
            answered.extend(peer.send(piece));
        }
    }
    answered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_of_a_stream_is_answered_the_same(
        stream in stream(),
        cuts in prop::collection::vec(prop_oneof![1usize..40, 1usize..30_000], 1..20),
        lends in any::<bool>(),
    ) {
        prop_assert_eq!(answered(&stream, &cuts, lends), answered(&stream, &[usize::MAX], false));
    }

    #[test]
    fn arbitrary_bytes_stay_within_the_limits_of_a_session(
        stream in stream(),
        spoils in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut stream = stream;
        for (at, byte) in spoils {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        stream.extend(tail);
        let mut peer = Peer::new();
        let mut bytes = &stream[..];
        loop {
            let before = bytes.len();
            if let Some((ticket, request)) = peer.session.advance(&mut bytes, used_buffer) {
                peer.serve(ticket, request);
            }
            prop_assert!(peer.session.bytes() <= BYTES_IN_FLIGHT_MAX + PAYLOAD_MAX as usize);
            prop_assert!(peer.session.in_flight() == 0);
            peer.take();
            if bytes.len() == before {
                break;
            }
        }
    }
}
