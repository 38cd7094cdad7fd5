//! Which serial numbers and World Wide Names may be one disk's own, and which its maker, or that of a bridge, forgot to change.

/// Serial numbers that makers of bridges forget to change; letters and digits only.
const PLACEHOLDERS: [&str; 14] = [
    "0123456789ABCDEF",
    "0123456789ABCDE",
    "0123456789",
    "123456789",
    "1234567890",
    "1234567890ABCDEF",
    "123456789ABC",
    "123456789ABCDEF",
    "123456789012",
    "DEADBEEF",
    "NONE",
    "NA",
    "UNKNOWN",
    "SERIALNUMBER",
];

/// A plausible serial number, its white space normalised: not empty, not one repeated character, none of those that
/// whole series of bridges have.
pub fn plausible_serial(text: &str) -> Option<String> {
    let bare: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let is_one_character = bare.chars().all(|c| bare.starts_with(c));
    if bare.len() < 3 || is_one_character || PLACEHOLDERS.contains(&bare.as_str()) {
        return None;
    }
    let normalised = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(normalised.chars().filter(|c| !c.is_control()).collect())
}

/// A plausible World Wide Name. In an NAA name the parts of the maker and of the drive must not be zero.
pub fn plausible_wwn(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let bare = text.strip_prefix("naa.").or_else(|| text.strip_prefix("0x")).unwrap_or(&text);
    let digits = bare.strip_prefix("eui.").unwrap_or(bare);
    if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return (!digits.is_empty()).then(|| bare.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let own = digits.get(1..).unwrap_or_default();
    let is_one_character = own.chars().all(|c| own.starts_with(c));
    let drive = digits.get(digits.len().saturating_sub(9)..).unwrap_or_default(); // behind the maker's 24 bits
    let is_blank = digits.len() >= 16 && drive.chars().all(|c| c == '0');
    (digits.len() >= 8 && !is_one_character && !is_blank && !PLACEHOLDERS.contains(&bare.to_ascii_uppercase().as_str()))
        .then(|| bare.to_owned())
}

/// Whether the kernel's name for a disk (`wwid`) may be its own. If it is made of the serial number, that decides: behind
/// `t10.` it is the last word, in `nvme.VENDOR-SERIAL-MODEL-NUMBER` it is in hexadecimal digits.
pub fn is_plausible_wwid(wwid: &str) -> bool {
    if let Some(words) = wwid.strip_prefix("t10.") {
        return words.split_whitespace().next_back().and_then(plausible_serial).is_some();
    }
    if let Some(parts) = wwid.strip_prefix("nvme.") {
        return parts.split('-').nth(1).is_some_and(|digits| plausible_serial(&spelled(digits)).is_some());
    }
    plausible_wwn(wwid).is_some()
}

/// The text whose bytes these hexadecimal digits are.
fn spelled(digits: &str) -> String {
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    (0..digits.len() / 2).filter_map(byte).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_serial_numbers_are_refused() {
        for text in
            ["", " ", "000000000000", "0000:0000", "0123456789ABCDEF", "0123456789abcdef", "DEADBEEF", "--", "N/A"]
        {
            assert_eq!(plausible_serial(text), None, "{text:?}");
        }
        assert_eq!(plausible_serial("     WD-WCC4N0000001 ").as_deref(), Some("WD-WCC4N0000001"));
        assert_eq!(plausible_serial("S3Z8 NB0K").as_deref(), Some("S3Z8 NB0K"));
        assert_eq!(plausible_serial("lab-0").as_deref(), Some("lab-0"));
    }

    #[test]
    fn world_wide_names_of_zeros_are_refused() {
        for text in
            ["naa.0000000000000000", "0x5000000000000000", "naa.5000c50000000000", "eui.0000000000000000", "", "0x"]
        {
            assert_eq!(plausible_wwn(text), None, "{text:?}");
        }
        assert_eq!(plausible_wwn("naa.5000C500A1B2C3D4").as_deref(), Some("5000c500a1b2c3d4"));
        assert_eq!(plausible_wwn("0x5000c500a1b2c3d4").as_deref(), Some("5000c500a1b2c3d4"));
        assert_eq!(plausible_wwn("eui.002538b511b0d0c7").as_deref(), Some("eui.002538b511b0d0c7"));
        assert!(plausible_wwn("nvme.8086-6c61622d36-51454d55204e564d65204374726c-00000001").is_some());
        assert!(plausible_wwn("uuid.0b0e0f10-1111-4222-8333-444455556666").is_some());
    }

    #[test]
    fn a_name_that_is_made_of_the_serial_number_is_as_plausible_as_that() {
        for wwid in [
            "t10.ATA     QEMU HARDDISK                           QM00003",
            "nvme.8086-6c61622d36-51454d55204e564d65204374726c-00000001",
            "naa.5000c500a1b2c3d4",
            "eui.002538b511b0d0c7",
        ] {
            assert!(is_plausible_wwid(wwid), "{wwid}");
        }
        for wwid in [
            "t10.ASMT    2115            0123456789ABCDEF",
            "t10.",
            "nvme.1e4b-3030303030303030-51454d55-00000001",
            "nvme.1e4b",
            "naa.5000000000000000",
            "",
        ] {
            assert!(!is_plausible_wwid(wwid), "{wwid}");
        }
    }
}
