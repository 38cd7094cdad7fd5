//! QEMU as a client: qemu-img and qemu-io.

use crate::host::Host;
use crate::stranger::{outcome, run};
use scrubjay_serve::memory::MemoryArray;

#[test]
fn qemu_img_converts_to_the_server_and_back() {
    let Some(host) = Host::start(MemoryArray::new(8 << 20).shuffled(1), |_| ()) else { return };
    let (source, copied, uri) = (host.path("there"), host.path("back"), host.uri());
    let mut bytes = vec![0; 8 << 20];
    bytes[1 << 20..3 << 20].fill(5);
    bytes[5_000_000..5_000_700].fill(6);
    std::fs::write(&source, &bytes).unwrap();
    let (source, copied_path) = (source.to_str().unwrap(), copied.to_str().unwrap());
    let convert = |arguments: &[&str]| run("qemu-img", &[&["convert", "-f", "raw", "-O", "raw"], arguments].concat());
    if convert(&["-n", "-W", source, &uri]).is_none() {
        return;
    }
    convert(&[&uri, copied_path]);
    assert!(std::fs::read(&copied).unwrap() == bytes);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", source, &uri]);
    let map = run("qemu-img", &["map", "-f", "raw", "--output=json", &uri]).unwrap();
    assert!(map.contains(r#""start": 1048576, "length": 2097152"#) && map.contains(r#""zero": true"#), "{map}");
    assert!(run("qemu-img", &["info", &uri]).unwrap().contains("8 MiB"));
    host.end();
}

#[test]
fn qemu_io_writes_zeroes_discards_and_finds_its_patterns() {
    let Some(host) = Host::start(MemoryArray::new(8 << 20), |_| ()) else { return };
    let uri = host.uri();
    let commands = [
        "write -P 0x11 0 1M",
        "write -f -P 0x22 65000 700",
        "read -P 0x11 0 65000",
        "read -P 0x22 65000 700",
        "write -z 131072 65536",
        "write -z -u 262144 65536",
        "read -P 0 131072 65536",
        "read -P 0 262144 65536",
        "read -P 0x11 196608 65536",
        "discard 524288 65536",
        "aio_write -P 0x33 2M 1M",
        "aio_write -P 0x44 3M 1M",
        "aio_flush",
        "aio_read -P 0x33 2M 1M",
        "aio_read -P 0x44 3M 1M",
        "aio_flush",
        "flush",
    ];
    let arguments: Vec<&str> = commands.iter().flat_map(|command| ["-c", *command]).collect();
    if let Some(text) = run("qemu-io", &[&["-f", "raw", &uri], &arguments[..]].concat()) {
        assert!(!text.contains("failed") && !text.contains("error"), "{text}");
    }
    host.end();
}

#[test]
fn qemu_io_gets_an_error_only_for_lost_bytes() {
    let mut array = MemoryArray::new(8 << 20);
    array.bytes_mut();
    array.lose(1 << 20..(1 << 20) + 512);
    let Some(host) = Host::start(array, |_| ()) else { return };
    let uri = host.uri();
    let read = |place: &str| outcome("qemu-io", &["-f", "raw", &uri, "-c", &format!("read -P 0 {place}")]);
    let Some((_, text)) = read("1048064 1024") else { return };
    assert!(text.contains("Input/output error"), "{text}");
    let (is_well, text) = read("1049088 1024").unwrap();
    assert!(is_well && text.contains("read 1024/1024 bytes"), "{text}");
    host.end();
}
