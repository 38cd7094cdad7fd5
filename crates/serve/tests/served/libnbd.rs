//! libnbd as a client: nbdinfo, nbdcopy, and its library in Python.

use crate::host::Host;
use crate::stranger::{python, run};
use scrubjay_core::rng::Rng;
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::server::Address;
use std::sync::mpsc;

/// The size of the devices in bytes: 16 MiB.
const SIZE: usize = 16 << 20;

/// 16 MiB of random bytes and holes.
pub fn pattern(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = vec![0; SIZE];
    for chunk in bytes.chunks_mut(128 << 10) {
        if rng.below(3) > 0 {
            chunk.chunks_mut(8).for_each(|word| word.copy_from_slice(&rng.bits().to_be_bytes()));
        }
    }
    bytes
}

#[test]
fn nbdinfo_shows_the_export_as_it_is() {
    let (send, receive) = mpsc::channel();
    let mut array = MemoryArray::new(SIZE as u64);
    array.bytes_mut();
    let Some(host) = Host::start(array, |server| {
        let address = server.listen(&Address::Tcp("127.0.0.1:0".into())).unwrap();
        send.send(address.to_string()).unwrap();
    }) else {
        return;
    };
    for uri in [host.uri(), format!("nbd://{}", receive.recv().unwrap())] {
        let Some(text) = run("nbdinfo", &["--json", &uri]) else { return };
        for expected in [
            r#""structured": true"#,
            r#""export-size": 16777216"#,
            r#""can_multi_conn": true"#,
            r#""can_df": true"#,
            r#""block_size_minimum": 1"#,
            r#""block_size_preferred": 65536"#,
            r#""block_size_maximum": 33554432"#,
            r#""base:allocation""#,
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(run("nbdinfo", &["--list", &uri]).unwrap().contains(r#"export="vol""#));
    }
    host.end();
}

#[test]
fn nbdcopy_copies_to_the_server_and_back() {
    let Some(host) = Host::start(MemoryArray::new(SIZE as u64).shuffled(3), |_| ()) else { return };
    let (source, copied, uri) = (host.path("there"), host.path("back"), host.uri());
    std::fs::write(&source, pattern(1)).unwrap();
    for (options, keeps_holes) in [
        (&["--connections=4", "--requests=64"][..], true),
        (&["--synchronous"], false),
        (&["--no-extents", "--request-size=1048576"], true),
    ] {
        let copy = |from: &str, to: &str| run("nbdcopy", &[options, &["--flush", from, to]].concat());
        if copy(source.to_str().unwrap(), &uri).is_none() {
            return;
        }
        copy(&uri, copied.to_str().unwrap());
        assert!(std::fs::read(&copied).unwrap() == pattern(1), "{options:?}");
        let map = run("nbdinfo", &["--map", "--totals", &uri]).unwrap();
        assert_eq!(map.contains("hole,zero"), keeps_holes, "{options:?}: {map}");
    }
    let mut array = host.end();
    assert!(array.bytes_mut() == pattern(1));
}

#[test]
fn a_reader_loses_only_what_is_lost() {
    let mut array = MemoryArray::new(SIZE as u64);
    array.bytes_mut().fill(9);
    array.lose((1 << 20) + 4096..(1 << 20) + 8192);
    let Some(host) = Host::start(array, |_| ()) else { return };
    let script = r#"
import nbd, errno, sys
MiB = 1 << 20
h = nbd.NBD()
h.add_meta_context("base:allocation")
h.connect_uri(sys.argv[1])
assert h.get_structured_replies_negotiated()
good, bad = [], []
def chunk(data, offset, status, error):
    (bad if status == nbd.READ_ERROR else good).append((offset, len(data)))
    if status != nbd.READ_ERROR: assert bytes(data) == b"\x09" * len(data)
try:
    h.pread_structured(MiB, MiB, chunk)
    raise SystemExit("no error")
except nbd.Error as e:
    assert e.errnum == errno.EIO, e
assert good == [(MiB, 4096), (MiB + 8192, MiB - 8192)], good
assert [offset for offset, _ in bad] == [MiB + 4096], bad
try:
    h.pread_structured(MiB, MiB, lambda *a: None, nbd.CMD_FLAG_DF)
    raise SystemExit("no error")
except nbd.Error as e:
    assert e.errnum == errno.EIO, e

plain = nbd.NBD()
plain.set_request_structured_replies(False)
plain.connect_uri(sys.argv[1])
assert not plain.get_structured_replies_negotiated()
assert plain.pread(4096, 0) == b"\x09" * 4096
try:
    plain.pread(MiB, MiB)
    raise SystemExit("no error")
except nbd.Error as e:
    assert e.errnum == errno.EIO, e

h.pwrite(b"\x09" * 4096, MiB + 4096, nbd.CMD_FLAG_FUA)
assert plain.pread(MiB, MiB) == b"\x09" * MiB
h.shutdown(); plain.shutdown()
"#;
    python(script, &[&host.uri()]);
    host.end();
}

#[test]
fn invalid_requests_of_libnbd_are_refused() {
    let Some(host) = Host::start(MemoryArray::new(SIZE as u64), |_| ()) else { return };
    let script = r#"
import nbd, errno, sys
h = nbd.NBD()
h.set_strict_mode(0)
h.connect_uri(sys.argv[1])
size = h.get_size()
def refused(number, f, *arguments):
    try:
        f(*arguments)
    except nbd.Error as e:
        assert e.errnum == number, (e, f, arguments)
        return
    raise SystemExit("no error: %s %s" % (f, arguments))
refused(errno.EINVAL, h.pread, 512, size)
refused(errno.EINVAL, h.pread, 512, size - 511)
refused(errno.ENOSPC, h.pwrite, b"x" * 512, size - 511)
refused(errno.ENOSPC, h.zero, 512, size)
refused(errno.EINVAL, h.trim, 512, size)
refused(errno.EINVAL, h.pread, (32 << 20) + 1, 0)
refused(errno.EINVAL, h.pwrite, b"x" * ((32 << 20) + 1), 0)
refused(errno.ENOTSUP, h.zero, 512, 0, nbd.CMD_FLAG_FAST_ZERO)
refused(errno.EINVAL, h.cache, 512, 0)
h.pwrite(b"fine", 511)
assert h.pread(6, 510) == b"\0fine\0"
h.trim(512, 0, nbd.CMD_FLAG_FUA); h.flush(nbd.CMD_FLAG_FUA); h.zero(512, 0, nbd.CMD_FLAG_NO_HOLE)
h.shutdown()
"#;
    python(script, &[&host.uri()]);
    host.end();
}

#[test]
fn many_requests_at_a_time_at_any_alignment_agree_with_a_model() {
    let Some(host) = Host::start(MemoryArray::new(SIZE as u64).shuffled(7), |_| ()) else { return };
    let script = r#"
import nbd, random, sys
random.seed(5)
connections = []
for _ in range(4):
    h = nbd.NBD()
    h.connect_uri(sys.argv[1])
    connections.append(h)
size = connections[0].get_size()
model = bytearray(size)
def wait(h, cookies):
    while cookies:
        h.poll(-1)
        cookies = [c for c in cookies if not h.aio_command_completed(c)]
for round in range(12):
    # Every connection writes in a quarter of its own; nothing overlaps.
    pieces, slots = [], 64
    step = size // slots
    for slot in range(slots):
        offset = slot * step + random.randrange(step // 2)
        length = random.choice([1, 511, 4096, 4097, 65536, random.randrange(1, step // 2)])
        pieces.append((offset, length))
    for h, part in zip(connections, range(4)):
        cookies = []
        for offset, length in pieces[part::4]:
            kind = random.randrange(4)
            if kind == 0:
                model[offset:offset + length] = bytes(length)
                cookies.append(h.aio_zero(length, offset))
            else:
                data = random.randbytes(length)
                model[offset:offset + length] = data
                cookies.append(h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), offset))
        wait(h, cookies)
    for h in connections:
        buffers, cookies = [], []
        for offset, length in random.sample(pieces, 32):
            offset, length = max(0, offset - 700), min(size - offset, length + 1400)
            buffer = nbd.Buffer(length)
            buffers.append((buffer, offset, length))
            cookies.append(h.aio_pread(buffer, offset))
        wait(h, cookies)
        for buffer, offset, length in buffers:
            assert buffer.to_bytearray() == model[offset:offset + length], (round, offset, length)
for h in connections: h.shutdown()
sys.stdout.write("agreed")
"#;
    if let Some(text) = python(script, &[&host.uri()]) {
        assert_eq!(text, "agreed");
    }
    host.end();
}
