//! The handshake, byte by byte.

use super::*;
use crate::nbd::wire::answer;

/// A reply to an option.
fn reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let head = [0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec(), option.to_be_bytes().to_vec()].concat();
    [&head, &kind.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
}

/// The kind of each reply in `bytes`.
fn kinds(mut bytes: &[u8]) -> Vec<u32> {
    let mut kinds = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<20>() {
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        kinds.push(number(12));
        bytes = &rest[number(16) as usize..];
    }
    assert!(bytes.is_empty(), "whole answers");
    kinds
}

/// A peer after the greeting.
fn greeted(tls: TlsMode) -> Peer {
    let mut peer = Peer::with(Export::new("vol", SIZE, 65536, false), tls);
    peer.send(&hello());
    peer
}

const HAS_FLAGS_AND_ALL_BUT_DF: u16 = 0b1001_0110_1101;

#[test]
fn the_greeting_and_a_short_handshake_are_these_bytes() {
    let mut peer = Peer::new();
    assert_eq!(peer.take(), b"NBDMAGICIHAVEOPT\x00\x03");
    let sent = b"\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x07\x00\x00\x00\x0b\x00\x00\x00\x03vol\x00\x01\x00\x03";
    let info = b"\x00\x03\xe8\x89\x04\x55\x65\xa9\x00\x00\x00\x07\x00\x00\x00\x03\x00\x00\x00\x0c\
                 \x00\x00\x00\x00\x00\x00\x00\x10\x02\x00\x09\x6d";
    let sizes = b"\x00\x03\xe8\x89\x04\x55\x65\xa9\x00\x00\x00\x07\x00\x00\x00\x03\x00\x00\x00\x0e\
                  \x00\x03\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00\x00\x00";
    let ack = b"\x00\x03\xe8\x89\x04\x55\x65\xa9\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x00";
    assert_eq!(peer.send(sent), [&info[..], sizes, ack].concat());
    assert!(peer.session.has_begun());
}

#[test]
fn the_reply_to_export_name_is_padded_unless_both_sides_agree_not_to() {
    let about = [&SIZE.to_be_bytes()[..], &HAS_FLAGS_AND_ALL_BUT_DF.to_be_bytes()].concat();
    for name in ["", "vol"] {
        let mut peer = greeted(TlsMode::Off);
        assert_eq!(peer.send(&opt(option::EXPORT_NAME, name.as_bytes())), about);
    }
    let mut peer = Peer::new();
    peer.send(&1u32.to_be_bytes());
    assert_eq!(peer.send(&opt(option::EXPORT_NAME, b"vol")), [&about[..], &[0; 124]].concat());
    assert!(peer.session.has_begun() && peer.session.wants_input());

    let mut peer = greeted(TlsMode::Off);
    assert_eq!(peer.send(&opt(option::EXPORT_NAME, b"other")), b"");
    assert!(peer.session.is_over());
}

#[test]
fn each_option_is_answered_as_the_protocol_document_requires() {
    use answer::{ACK, ERR_INVALID, ERR_POLICY, ERR_TOO_BIG, ERR_UNKNOWN, ERR_UNSUP, META_CONTEXT, SERVER};
    use option::*;
    let long_name = "x".repeat(4097);
    let table: &[(Vec<u8>, &[u32])] = &[
        (opt(LIST, &[]), &[SERVER, ACK]),
        (opt(LIST, b"x"), &[ERR_INVALID]),
        (info_option(INFO, "", &[]), &[answer::INFO, ACK]),
        (info_option(INFO, "vol", &[0, 1, 2, 3, 99]), &[answer::INFO, answer::INFO, answer::INFO, ACK]),
        (info_option(INFO, "other", &[]), &[ERR_UNKNOWN]),
        (info_option(INFO, &long_name, &[]), &[ERR_INVALID]),
        (opt(INFO, &[]), &[ERR_INVALID]),
        (opt(INFO, &[0, 0, 0, 9, b'v', 0, 0]), &[ERR_INVALID]),
        (opt(GO, &[0, 0, 0, 0, 0, 1]), &[ERR_INVALID]),
        (contexts(LIST_META_CONTEXT, "", &[]), &[ERR_INVALID]),
        (contexts(SET_META_CONTEXT, "", &["base:allocation"]), &[ERR_INVALID]),
        (opt(STRUCTURED_REPLY, b"x"), &[ERR_INVALID]),
        (opt(STRUCTURED_REPLY, &[]), &[ACK]),
        (contexts(LIST_META_CONTEXT, "", &[]), &[META_CONTEXT, ACK]),
        (contexts(LIST_META_CONTEXT, "vol", &["base:"]), &[META_CONTEXT, ACK]),
        (contexts(LIST_META_CONTEXT, "vol", &["qemu:"]), &[ACK]),
        (contexts(LIST_META_CONTEXT, "other", &[]), &[ERR_UNKNOWN]),
        (contexts(SET_META_CONTEXT, "vol", &[]), &[ACK]),
        (contexts(SET_META_CONTEXT, "vol", &["base:"]), &[ACK]),
        (contexts(SET_META_CONTEXT, "vol", &["x:y", "base:allocation"]), &[META_CONTEXT, ACK]),
        (opt(SET_META_CONTEXT, &[0, 0, 0, 0, 255, 255, 255, 255]), &[ERR_INVALID]),
        (opt(STARTTLS, &[]), &[ERR_POLICY]),
        (opt(STARTTLS, b"x"), &[ERR_INVALID]),
        (opt(4, &[]), &[ERR_UNSUP]),
        (opt(11, &[]), &[ERR_UNSUP]),
        (opt(77, b"data"), &[ERR_UNSUP]),
        (opt(77, &vec![0; 100_000]), &[ERR_TOO_BIG]),
        (opt(LIST, &[]), &[SERVER, ACK]),
        (opt(ABORT, b"x"), &[ACK]),
    ];
    let mut peer = greeted(TlsMode::Off);
    for (bytes, expected) in table {
        assert_eq!(kinds(&peer.send(bytes)), *expected, "{:?}", &bytes[..bytes.len().min(40)]);
        assert!(!peer.session.has_begun());
    }
    assert!(peer.session.is_over());
}

#[test]
fn invalid_bytes_end_the_connection() {
    let mut peer = Peer::new();
    peer.send(&4u32.to_be_bytes());
    assert!(peer.session.is_over(), "flags that nobody knows");
    let mut peer = greeted(TlsMode::Off);
    peer.send(b"IHAVEOPS\x00\x00\x00\x01\x00\x00\x00\x00");
    assert!(peer.session.is_over() && !peer.session.wants_input());
    let mut peer = Peer::simple();
    peer.send(&[0; 28]);
    assert!(peer.session.is_over());
}

#[test]
fn replies_with_names_and_contexts_are_these_bytes() {
    let mut peer = greeted(TlsMode::Off);
    let listed = peer.send(&opt(option::LIST, &[]));
    assert_eq!(listed, [reply(3, 2, b"\x00\x00\x00\x03vol"), reply(3, 1, b"")].concat());
    peer.send(&opt(option::STRUCTURED_REPLY, &[]));
    let set = peer.send(&contexts(option::SET_META_CONTEXT, "vol", &["base:allocation"]));
    assert_eq!(set, [reply(10, 4, b"\x00\x00\x00\x01base:allocation"), reply(10, 1, b"")].concat());
    let flags = HAS_FLAGS_AND_ALL_BUT_DF | 1 << 7;
    let about = [&[0, 0][..], &SIZE.to_be_bytes(), &flags.to_be_bytes()].concat();
    assert_eq!(peer.send(&info_option(option::GO, "vol", &[1])), {
        [reply(7, 3, &about), reply(7, 3, b"\x00\x01vol"), reply(7, 1, b"")].concat()
    });
}

#[test]
fn contexts_hold_for_the_name_they_were_set_for() {
    let status = request(command::BLOCK_STATUS, 0, 0, 512);
    let error = chunk(command::BLOCK_STATUS, 1, wire::chunk::ERROR, &[&22u32.to_be_bytes(), &[0, 0]]);
    for (set_name, go_name, expected) in [("vol", "vol", false), ("", "", false), ("vol", "", true)] {
        let mut peer = greeted(TlsMode::Off);
        peer.send(&opt(option::STRUCTURED_REPLY, &[]));
        peer.send(&contexts(option::SET_META_CONTEXT, set_name, &["base:allocation"]));
        peer.send(&go(go_name));
        assert_eq!(peer.send(&status) == error, expected, "{set_name:?} {go_name:?}");
    }
}

#[test]
fn a_read_only_device_is_flagged_and_refuses_writes() {
    let mut peer = Peer::with(Export::new("", SIZE, 512, true), TlsMode::Off);
    peer.send(&hello());
    let flags = peer.send(&opt(option::EXPORT_NAME, b""));
    assert_eq!(flags[8..], 0b1_0000_0111u16.to_be_bytes());
    for (bytes, number) in [
        (write(0, &[1; 100]), command::WRITE),
        (request(command::TRIM, 0, 0, 512), command::TRIM),
        (request(command::WRITE_ZEROES, 0, 0, 512), command::WRITE_ZEROES),
    ] {
        assert_eq!(peer.send(&bytes), simple(number, 1));
    }
    assert_eq!(peer.send(&request(command::READ, 0, 0, 2)), [simple(command::READ, 0), vec![0; 2]].concat());
}

#[test]
fn without_tls_a_server_that_requires_it_refuses_all_but_starttls() {
    use option::*;
    let mut peer = greeted(TlsMode::Require);
    for bytes in [opt(LIST, &[]), go("vol"), opt(STRUCTURED_REPLY, &[]), opt(77, &[]), info_option(INFO, "", &[])] {
        assert_eq!(kinds(&peer.send(&bytes)), [answer::ERR_TLS_REQD]);
    }
    assert_eq!(kinds(&peer.send(&opt(STARTTLS, &[]))), [answer::ACK]);
    assert!(peer.session.wants_tls() && !peer.session.wants_input());
    assert_eq!(peer.send(&go("vol")), b"", "these bytes are for TLS");
    peer.session.secure();
    assert_eq!(kinds(&peer.send(&opt(STARTTLS, &[]))), [answer::ERR_INVALID]);
    assert_eq!(kinds(&peer.send(&go("vol"))), [answer::INFO, answer::ACK]);

    let mut peer = greeted(TlsMode::Require);
    assert_eq!(peer.send(&opt(EXPORT_NAME, b"vol")), b"");
    assert!(peer.session.is_over());
    let mut peer = greeted(TlsMode::Allow);
    assert_eq!(kinds(&peer.send(&go("vol"))), [answer::INFO, answer::ACK]);
}

#[test]
fn terms_agreed_in_clear_text_are_forgotten_when_tls_starts() {
    let mut peer = greeted(TlsMode::Allow);
    peer.send(&opt(option::STRUCTURED_REPLY, &[]));
    peer.send(&contexts(option::SET_META_CONTEXT, "vol", &["base:allocation"]));
    peer.send(&opt(option::STARTTLS, &[]));
    peer.session.secure();
    peer.send(&go("vol"));
    let read = peer.send(&request(command::READ, 0, 0, 4));
    assert_eq!(read, [simple(command::READ, 0), vec![0; 4]].concat(), "no structured reply");
    let status = peer.send(&request(command::BLOCK_STATUS, 0, 0, 512));
    assert_eq!(status, simple(command::BLOCK_STATUS, 22));
}

#[test]
fn a_peer_that_never_ends_its_handshake_holds_little_and_is_no_client() {
    let mut peer = greeted(TlsMode::Off);
    let list = opt(option::LIST, &[]);
    while peer.session.wants_input() {
        let mut bytes = &list[..];
        assert!(peer.session.advance(&mut bytes, used_buffer).is_none());
        assert!(peer.session.output_len() < 200 << 10, "it asks and does not read");
    }
    peer.take();
    peer.send(&[0xff; 64]);
    assert!(peer.session.is_over() && !peer.session.has_begun());
}
