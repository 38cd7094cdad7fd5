//! A bundle about a machine that may be shown to strangers: documents go in as JSON, and come out without what is personal.
//!
//! Names, serial numbers, addresses, paths and labels become pseudonyms ([`pseudonym`]): what is known to be personal by its key or by its
//! place (`secrets`), wherever its text stands; and what looks like it (`shape`), wherever it stands. What is left is figures, models,
//! states and our own words.

pub mod pseudonym;
mod secrets;
mod shape;

pub use pseudonym::{Pseudonyms, SecretKind};
pub use shape::is_harmless;

use serde_json::{Map, Value};

/// Bytes of a bundle, at most. What does not fit is left out, and named.
pub const BYTES_MAX: usize = 8 << 20;

/// The parts of a bundle, each with its name: all that is personal in any of them is replaced in all of them. Parts that do not fit into
/// `bytes_max` are left out, the last ones first; the second value names them.
pub fn bundle(
    parts: Vec<(String, Value)>,
    names: &mut Pseudonyms,
    bytes_max: usize,
) -> (Map<String, Value>, Vec<String>) {
    parts.iter().for_each(|(_, part)| secrets::note(part, names));
    let (mut bundle, mut left_out, mut bytes) = (Map::new(), Vec::new(), 0);
    for (name, part) in parts {
        let part = clean(part, names);
        let size = part.to_string().len() + name.len();
        if bytes + size > bytes_max {
            left_out.push(name);
        } else {
            bytes += size;
            bundle.insert(name, part);
        }
    }
    (bundle, left_out)
}

/// The value with pseudonyms in the place of what is personal.
fn clean(value: Value, names: &mut Pseudonyms) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(&text, names)),
        Value::Array(values) => Value::Array(values.into_iter().map(|value| clean(value, names)).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                // What is a secret as a whole may be an object of numbers, as smartctl writes a WWN.
                let value = match secrets::kind_of(&key) {
                    Some(kind) => hide(kind, value, names),
                    None => clean(value, names),
                };
                (clean_text(&key, names), value)
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// A value that is a secret as a whole, or a list of such. What is harmless stays: the kernel's names, and figures, but for identifiers.
fn hide(kind: SecretKind, value: Value, names: &mut Pseudonyms) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.into_iter().map(|value| hide(kind, value, names)).collect()),
        Value::String(text) if !shape::is_harmless(&text) => Value::String(names.of(kind, &text)),
        Value::Number(number) if kind == SecretKind::Id => Value::String(names.of(kind, &number.to_string())),
        Value::Object(fields) if kind == SecretKind::Id => {
            Value::String(names.of(kind, &Value::Object(fields).to_string()))
        }
        other => clean(other, names),
    }
}

fn clean_text(text: &str, names: &mut Pseudonyms) -> String {
    // By shape first: of a path with a known beginning nothing may be left.
    let text = shape::replace(text, names);
    names.replace_known(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What must not be left, in parts as they come.
    const PLANTED: [&str; 21] = [
        "anna",
        "vault",
        "ZL2SECRET7",
        "5000c500a1b2c3d4",
        "a1b2c3d4",
        "192.168.77.13",
        "fe80::1234",
        "52:54:00:ab:cd:ef",
        "7d444840-9dc0-11d1-b245-5ffdce74fad2",
        "holiday",
        "ntfy.sh",
        "hunter2",
        "example.org",
        "/home",
        "tax 2025",
        "2712344012",
        "annapool",
        "ANNAS-DISK",
        "WD-WCC4E1234567",
        "t0psecret",
        "SN850X-77",
    ];

    fn parts() -> Vec<(String, Value)> {
        let parts = json!({
            "machine": {"host": "vault-of-anna", "kernel": "6.12.41-amd64"},
            "settings": "to = [\"anna@example.org\"]\nurl = \"https://ntfy.sh/t0psecret\"\npassword-file = \"/home/anna/hunter2\"\n",
            "disks": [{
                "name": "sda", "model": "ST16000NM001G", "serial": "ZL2SECRET7", "label": "ANNAS-DISK", "size": 16_000_900_661_248_u64,
                "smart": {"serial_number": "ZL2SECRET7", "wwn": {"naa": 5, "oui": 3152, "id": 2_712_344_012_u64},
                    "logical_unit_id": "0x5000c500a1b2c3d4", "power_on_time": {"hours": 41_233}},
                "mounts": ["/srv/anna/holiday pictures"], "pool": "annapool",
            }],
            "messages": ["[vault-of-anna] REPLACE bay 4 (ZL2SECRET7): 3 unreadable sectors in /srv/anna/holiday pictures/tax 2025.ods",
                "VAULT-OF-ANNA answered 192.168.77.13:25 and fe80::1234 (52:54:00:ab:cd:ef)",
                "array 7d444840-9dc0-11d1-b245-5ffdce74fad2, disk ata-WDC_WD40EFRX-68N32N0_WD-WCC4E1234567, naa.5000c500a1b2c3d4"],
            "by key": {"ZL2SECRET7": 1, "/srv/anna": 2, "/dev/disk/by-id/nvme-WD_BLACK_SN850X-77": 3},
            "udev": {"ID_SERIAL_SHORT": "WD-WCC4E1234567", "ID_SERIAL": "WDC_WD40EFRX-68N32N0_WD-WCC4E1234567"},
        });
        let Value::Object(parts) = parts else { unreachable!() };
        parts.into_iter().collect()
    }

    #[test]
    fn nothing_that_was_planted_is_left() {
        let mut names = Pseudonyms::new([7; 32]);
        names.note(SecretKind::Host, "vault-of-anna");
        let (bundle, left_out) = bundle(parts(), &mut names, BYTES_MAX);
        let text = Value::Object(bundle).to_string();
        for planted in PLANTED {
            assert!(!text.to_lowercase().contains(&planted.to_lowercase()), "{planted} is left in {text}");
        }
        for kept in [
            "ST16000NM001G",
            "6.12.41-amd64",
            "16000900661248",
            "41233",
            "sda",
            "REPLACE bay 4",
            "3 unreadable sectors",
        ] {
            assert!(text.contains(kept), "{kept} is gone from {text}");
        }
        assert!(left_out.is_empty());
    }

    #[test]
    fn one_thing_has_one_pseudonym_in_all_parts_and_in_later_bundles_of_the_machine() {
        let of = |key: u8| {
            let (bundle, _) = bundle(parts(), &mut Pseudonyms::new([key; 32]), BYTES_MAX);
            (
                bundle["disks"][0]["serial"].clone(),
                bundle["disks"][0]["smart"]["serial_number"].clone(),
                bundle["messages"][0].to_string(),
            )
        };
        let (serial, again, message) = of(7);
        assert_eq!(serial, again);
        assert!(message.contains(serial.as_str().unwrap()), "{serial} in {message}");
        assert_eq!(of(7).0, serial);
        assert_ne!(of(8).0, serial, "another machine");
    }

    #[test]
    fn a_bundle_is_bounded_and_names_what_is_left_out() {
        let parts = vec![("small".to_owned(), json!(1)), ("large".to_owned(), json!("x".repeat(1000)))];
        let (bundle, left_out) = bundle(parts, &mut Pseudonyms::new([7; 32]), 500);
        assert_eq!((bundle.len(), left_out), (1, vec!["large".to_owned()]));
    }
}
