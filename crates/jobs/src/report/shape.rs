//! What is personal by how it looks: addresses, paths, identifiers.

use super::pseudonym::{Pseudonyms, SecretKind};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Folders of the system, whose names say nothing about a person.
const OF_THE_SYSTEM: [&str; 14] = [
    "/dev",
    "/sys",
    "/proc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/etc/scrubjay",
    "/etc/mdadm",
    "/etc/cron.d",
    "/var/lib/scrubjay",
    "/run/scrubjay",
    "/var/log",
    "/boot",
];
/// Folders whose files are people's own.
const NAMED: [&str; 1] = ["/usr/local/"];
/// Hexadecimal digits from which on a word is taken for an identifier.
const ID_DIGITS: usize = 16;

/// Is this a path of the system itself, such as a device by the kernel's name?
pub(super) fn is_of_the_system(path: &str) -> bool {
    let is_below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // A device is the kernel's if it lies in /dev itself: /dev/VG/LV is named by people.
    let is_device = path.strip_prefix("/dev/").is_none_or(|rest| !rest.trim_end_matches('/').contains('/'));
    OF_THE_SYSTEM.iter().any(|folder| is_below(folder))
        && is_device
        && !NAMED.iter().any(|folder| path.starts_with(folder))
        && (!path.starts_with("/etc/scrubjay/") || path == "/etc/scrubjay/config.toml")
}

/// How the kernel names disks and what it makes of them; letters or digits follow.
const KERNEL_NAMES: [&str; 11] = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "loop", "zd", "sr"];

/// What we ourselves call a channel, or the watch's history, where a subject is named.
const OUR_WORDS: [&str; 8] = ["email", "ntfy", "gotify", "webhook", "exec", "heartbeat", "history", "nobody"];

/// Is this one of our words, one of the kernel's names for a disk, or a path of the system itself, `/` among them?
pub fn is_harmless(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let is_kernels = KERNEL_NAMES.iter().filter_map(|begin| text.strip_prefix(begin)).any(|rest| {
        let letters = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
        // sda, sda1; nvme0n1p2, md127: no word may have more than two letters in a row.
        rest.len() - letters.len() <= 2 && letters.split(['n', 'p']).all(is_number) && !letters.is_empty()
            || letters.is_empty() && (1..=2).contains(&rest.len())
    });
    let is_ours = OUR_WORDS.contains(&text);
    text.is_empty() || text == "/" || is_ours || is_kernels || is_of_the_system(text)
}

/// The text with a pseudonym in the place of each word that looks personal. A text that is a path is one word.
pub(super) fn replace(text: &str, names: &mut Pseudonyms) -> String {
    if text.starts_with('/') && !text.contains(['\n', '"']) && !is_of_the_system(text) && text.len() > 1 {
        return names.of(SecretKind::Path, text);
    }
    let is_of_word = |c: char| c.is_alphanumeric() || "._-+:@/~%=?&#\\".contains(c);
    let (mut result, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find(is_of_word) {
        result.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        // In a sentence a path ends where its quotation or the sentence does; one with spaces is one to its end.
        // `x=/srv/y`, `tank:/srv/y`: what is behind the sign is a path.
        let sign =
            rest[..end].find("=/").or_else(|| rest[..end].find(":/").filter(|at| !rest[*at..].starts_with("://")));
        let end = sign.map_or(end, |at| at + 1);
        let end =
            if rest.starts_with('/') && !is_of_the_system(&rest[..end]) && end > 1 { end_of_path(rest) } else { end };
        result.push_str(&word(&rest[..end], names));
        rest = &rest[end..];
    }
    result + rest
}

/// Where a path ends that begins here: at a quote, a bracket, a line's end, or punctuation before a space; spaces may be in its name.
fn end_of_path(text: &str) -> usize {
    let is_end = |(at, c): &(usize, char)| match c {
        '"' | '\'' | '`' | ']' | '>' | '\n' | '\t' | '|' => true,
        // In a name they are followed by more of it.
        ',' | ';' | ':' | ')' => text[at + 1..].chars().next().is_none_or(char::is_whitespace),
        _ => false,
    };
    text.char_indices().find(is_end).map_or(text.len(), |(at, _)| at)
}

fn word(word: &str, names: &mut Pseudonyms) -> String {
    // The full stop of a sentence is none of it.
    let kept = word.trim_end_matches(['.', ':', '?']);
    let (text, after) = word.split_at(kept.len());
    match kind(text) {
        Some(kind) => names.of(kind, text) + after,
        None => word.to_owned(),
    }
}

fn kind(word: &str) -> Option<SecretKind> {
    if word.starts_with('/') && word.len() > 1 {
        return (!is_of_the_system(word)).then_some(SecretKind::Path);
    }
    let is_address =
        word.contains("://") || word.split_once('@').is_some_and(|(a, b)| !a.is_empty() && b.contains('.'));
    if is_address || is_network(word) {
        return Some(SecretKind::Address);
    }
    let is_by_id =
        ["ata-", "scsi-", "nvme-", "wwn-", "usb-", "md-uuid-", "dm-uuid-"].iter().any(|begin| word.starts_with(begin));
    (is_by_id || is_id(word)).then_some(SecretKind::Id)
}

/// An IP address, with or without a port, or a network card's.
fn is_network(word: &str) -> bool {
    let host = word.rsplit_once(':').map_or(word, |(host, _)| host);
    let is_card = word.split(':').count() == 6 && word.split(':').all(|part| part.len() == 2 && is_hex(part));
    let is_v6 = word.contains(':') && word.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok();
    is_card || is_v6 || word.parse::<Ipv4Addr>().is_ok() || host.parse::<Ipv4Addr>().is_ok()
}

/// A UUID, or a World Wide Name, or another long row of hexadecimal digits that is no decimal number.
fn is_id(word: &str) -> bool {
    let bare =
        ["0x", "naa.", "eui.", "nvme."].iter().fold(word, |word, begin| word.strip_prefix(begin).unwrap_or(word));
    let digits: String = bare.chars().filter(|c| !"-:.".contains(*c)).collect();
    let is_long = digits.len() >= ID_DIGITS && is_hex(&digits);
    let is_number = digits.bytes().all(|c| c.is_ascii_digit()) && bare == word && !word.contains('-');
    let is_name = digits.len() == ID_DIGITS && digits.starts_with(['5', '6']);
    is_long && (!is_number || is_name)
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_personal_is_replaced_and_nothing_else() {
        for personal in [
            "anna@example.org",
            "https://ntfy.sh/x",
            "10.0.0.7",
            "10.0.0.7:25",
            "fe80::1",
            "52:54:00:12:34:56",
            "7d444840-9dc0-11d1-b245-5ffdce74fad2",
            "0x5000c500a1b2c3d4",
            "naa.6000c500a1b2c3d45000c500a1b2c3d4",
            "5000039512345678",
            "/home/anna",
            "/dev/disk/by-id/ata-X",
            "/dev/mapper/anna-crypt",
            "7d444840:9dc011d1:b2455ffd:ce74fad2",
        ] {
            assert_ne!(replace(personal, &mut Pseudonyms::new([1; 32])), personal);
        }
        for kept in [
            "6.12.41+deb13-amd64",
            "0000:00:17.0",
            "12:30:45",
            "16000900661248",
            "1785347924000000000",
            "/dev/sda1",
            "/sys/block/sda",
            "ST16000NM001G-2KK103",
            "0.5 ms",
            "a/b",
            "/",
            "2026-11-28 20:07",
            "scrubjay explain /dev/sda 2048+8",
            "raid5:4",
        ] {
            assert_eq!(replace(kept, &mut Pseudonyms::new([1; 32])), kept);
        }
    }

    #[test]
    fn paths_are_found_behind_signs_and_to_their_end() {
        let cleaned = |text: &str| replace(text, &mut Pseudonyms::new([1; 32]));
        for text in [
            "x=/srv/anna",
            "tank:/holiday/x, and more",
            "/dev/anna-vg/anna-lv",
            "/usr/local/bin/notify-anna",
            "/etc/scrubjay/anna.password",
            "in /srv/x/anna,berta (1).jpg, of ext4",
        ] {
            let text = cleaned(text);
            assert!(!["anna", "holiday", "berta", "jpg"].iter().any(|left| text.contains(left)), "{text}");
        }
        assert!(cleaned("in /srv/x/anna,berta (1).jpg, of ext4").ends_with(", of ext4"));
        assert_eq!(cleaned("/etc/scrubjay/config.toml"), "/etc/scrubjay/config.toml");
    }

    #[test]
    fn names_of_the_kernel_are_harmless() {
        for kernels in
            ["sda", "sdab", "sda1", "nvme0n1", "nvme0n1p2", "mmcblk0", "md127", "dm-3", "/dev/sda", "/", "zd16"]
        {
            assert!(is_harmless(kernels), "{kernels}");
        }
        for personal in ["sdstorage", "mdanna", "loop", "tank", "/dev/mapper/anna", "/home", "nvme-WD_1", "vd1x"] {
            assert!(!is_harmless(personal), "{personal}");
        }
    }

    #[test]
    fn a_path_in_a_sentence_may_have_spaces() {
        let mut names = Pseudonyms::new([1; 32]);
        assert!(!replace("sector 5 is of /srv/our files/tax 2025.ods, in ext4", &mut names).contains("tax"));
        assert!(replace("sector 5 is of /srv/our files/tax 2025.ods, in ext4", &mut names).ends_with(", in ext4"));
    }
}
