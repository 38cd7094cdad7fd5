//! What is personal by the key that it stands under, in our own documents, smartctl's, and udev's.

use super::pseudonym::{Pseudonyms, SecretKind};
use serde_json::Value;

/// Keys whose value is personal as a whole. A key counts in whatever case, with `-` and `_` alike.
const KEYS: [(&str, SecretKind); 65] = [
    ("host", SecretKind::Host),
    ("hostname", SecretKind::Host),
    ("host_name", SecretKind::Host),
    ("machine_name", SecretKind::Host),
    ("serial", SecretKind::Id),
    ("serial_number", SecretKind::Id),
    ("id_serial", SecretKind::Id),
    ("id_serial_short", SecretKind::Id),
    ("id_scsi_serial", SecretKind::Id),
    ("wwn", SecretKind::Id),
    ("wwid", SecretKind::Id),
    ("id_wwn", SecretKind::Id),
    ("id_wwn_with_extension", SecretKind::Id),
    ("logical_unit_id", SecretKind::Id),
    ("eui64", SecretKind::Id),
    ("nguid", SecretKind::Id),
    ("uuid", SecretKind::Id),
    ("guid", SecretKind::Id),
    ("pool_guid", SecretKind::Id),
    ("ptuuid", SecretKind::Id),
    ("partuuid", SecretKind::Id),
    ("id_fs_uuid", SecretKind::Id),
    ("key", SecretKind::Id),
    ("instance", SecretKind::Id),
    ("of", SecretKind::Id),
    ("by_id", SecretKind::Path),
    ("by_path", SecretKind::Path),
    ("label", SecretKind::Name),
    ("partlabel", SecretKind::Name),
    ("id_fs_label", SecretKind::Name),
    ("id_part_entry_name", SecretKind::Name),
    ("bay", SecretKind::Name),
    ("pool", SecretKind::Name),
    ("volume", SecretKind::Name),
    ("vg", SecretKind::Name),
    ("lv", SecretKind::Name),
    ("dm_name", SecretKind::Name),
    ("user", SecretKind::Name),
    ("mount", SecretKind::Path),
    ("mounts", SecretKind::Path),
    ("mounted", SecretKind::Path),
    ("mountpoint", SecretKind::Path),
    ("mountpoints", SecretKind::Path),
    ("backing_file", SecretKind::Path),
    ("file", SecretKind::Path),
    ("files", SecretKind::Path),
    ("password", SecretKind::Address),
    ("token", SecretKind::Address),
    ("to", SecretKind::Address),
    ("url", SecretKind::Address),
    ("recipient", SecretKind::Address),
    ("recipients", SecretKind::Address),
    ("server", SecretKind::Address),
    ("proxy", SecretKind::Address),
    ("topic", SecretKind::Address),
    ("subject", SecretKind::Id),
    ("disk", SecretKind::Id),
    ("never", SecretKind::Id),
    ("also", SecretKind::Path),
    ("password_file", SecretKind::Path),
    ("token_file", SecretKind::Path),
    ("program", SecretKind::Path),
    ("damaged_files", SecretKind::Path),
    ("folder", SecretKind::Path),
    ("said", SecretKind::Address),
];

/// What kind of secret stands under this key, if one does.
pub(super) fn kind_of(key: &str) -> Option<SecretKind> {
    let key = key.to_lowercase().replace('-', "_");
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, kind)| *kind)
}

/// Notes all secrets that stand under their keys, so that they are replaced in other texts, too.
pub(super) fn note(value: &Value, names: &mut Pseudonyms) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| note(value, names)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match kind_of(key) {
                    Some(kind) => note_all(kind, value, names),
                    None => note(value, names),
                }
            }
        }
        _ => {}
    }
}

/// Notes the texts of a value that is a secret as a whole.
fn note_all(kind: SecretKind, value: &Value, names: &mut Pseudonyms) {
    match value {
        // The system's paths and the kernel's names say nothing, and are in our own words.
        Value::String(text) if !super::shape::is_harmless(text) => names.note(kind, text),
        Value::Array(values) => values.iter().for_each(|value| note_all(kind, value, names)),
        Value::Object(fields) => fields.values().for_each(|value| note(value, names)),
        _ => {}
    }
}
