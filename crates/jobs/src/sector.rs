//! A sector of a disk as people name it, and what its loss means to them. Pure.

use scrubjay_core::units::SectorRange;
use scrubjay_device::above::{EndKind, SectorEnd};

/// The most sectors (1 MiB) in one question: each of them may have an answer of its own.
pub const SECTORS_MAX: u64 = 2048;

/// Parses `SECTOR` or `SECTOR+COUNT`, as results of scrubs print them.
///
/// # Errors
/// It is neither; the text says so.
pub fn parse(text: &str) -> Result<SectorRange, String> {
    let (start, count) = text.split_once('+').unwrap_or((text, "1"));
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_plain)
    };
    let range = number(start).zip(number(count)).and_then(|(start, count)| Some((start, start.checked_add(count)?)));
    match range {
        None => Err(format!("`{text}` is no sector: write a number, such as 2048, or 2048+8 for eight of them")),
        Some((start, end)) if end == start => Err(format!("`{text}` is no sector at all")),
        Some((start, end)) if end - start > SECTORS_MAX => {
            Err(format!("`{text}` are too many sectors: ask about {SECTORS_MAX} of them at a time"))
        }
        Some((start, end)) => Ok(SectorRange::new(start, end)),
    }
}

/// What it means for people when these sectors cannot be read, and what to do.
pub fn meaning(end: &SectorEnd) -> String {
    if let Some(keeper) = end.keepers.iter().find(|keeper| keeper.is_able) {
        let (name, what, command) = (&keeper.name, &keeper.what, &keeper.command);
        let prefix = match end.kind {
            EndKind::Free => "nothing is stored there; besides, ",
            EndKind::Parity => "no file has these bytes; ",
            _ => "",
        };
        return format!(
            "{prefix}{name} ({what}) can make these bytes again, if they can be read elsewhere: have it read this sector, and write it again: {command}"
        );
    }
    let cannot_help: Vec<String> =
        end.keepers.iter().map(|keeper| format!("; {} cannot help: {}", keeper.name, keeper.why_not)).collect();
    let cannot_help = cannot_help.concat();
    match end.kind {
        EndKind::File if end.files.is_empty() => {
            format!("a part of that file is lost where it cannot be read{cannot_help}")
        }
        EndKind::File => format!(
            "a part of that file is lost where it cannot be read{cannot_help}: restore {} from a backup (writing there has the drive put a good sector in its place)",
            end.files.join(", ")
        ),
        EndKind::Metadata => {
            let check = match end.file_system {
                Some("ext4") => {
                    format!(": copy the disk first (ddrescue); what is wrong then: e2fsck -fn /dev/{}", end.device)
                }
                Some("xfs") => {
                    format!(": copy the disk first (ddrescue); what is wrong then: xfs_repair -n /dev/{}", end.device)
                }
                Some("btrfs") => ": copy what can be read from it, mounted read-only".to_owned(),
                _ => String::new(),
            };
            format!("the file system is damaged where it cannot be read{cannot_help}{check}")
        }
        EndKind::Free => {
            "nothing is lost: nothing is stored there, and the drive puts a good sector in its place when it is written"
                .to_owned()
        }
        EndKind::Parity => format!("no file has these bytes{cannot_help}"),
        EndKind::Outside => format!("no file lies there{cannot_help}"),
        EndKind::VolumeData => {
            format!(
                "that part of the volume is lost where it cannot be read{cannot_help}: restore what lies there from a backup"
            )
        }
        EndKind::Unknown => format!("what would be lost is not known{cannot_help}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_device::above::Keeper;

    #[test]
    fn sectors_as_results_have_them() {
        assert_eq!(parse("2048"), Ok(SectorRange::at(2048, 1)));
        assert_eq!(parse("2048+8"), Ok(SectorRange::at(2048, 8)));
        for wrong in ["", "x", "+8", "8+", "-1", "1+-1", "0x10", "1+2+3", "1 ", "1+0", "18446744073709551616"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("18446744073709551615+1").is_err(), "behind the last that there can be");
        assert!(parse("0+2049").unwrap_err().contains("2048 of them at a time"));
    }

    fn end(kind: EndKind, is_able: Option<bool>) -> SectorEnd {
        let keeper = |is_able: bool| Keeper {
            name: "/dev/md0".into(),
            what: "RAID5".into(),
            is_able,
            why_not: if is_able { String::new() } else { "it is degraded".into() },
            command: "scrubjay scrub /dev/md0".into(),
        };
        let mut end = SectorEnd::of("md0", SectorRange::at(8, 1), kind, "words").said_by("ext4");
        end.keepers = is_able.map(keeper).into_iter().collect();
        end.files = if kind == EndKind::File { vec!["/mnt/a".into()] } else { Vec::new() };
        end
    }

    #[test]
    fn only_a_keeper_that_is_able_is_promised_to_help() {
        let kinds = [
            EndKind::File,
            EndKind::Metadata,
            EndKind::Free,
            EndKind::Parity,
            EndKind::Outside,
            EndKind::VolumeData,
            EndKind::Unknown,
        ];
        for kind in kinds {
            let able_text = meaning(&end(kind, Some(true)));
            assert!(able_text.contains("scrubjay scrub /dev/md0") && !able_text.contains("lost"), "{able_text}");
            for unable_text in [meaning(&end(kind, Some(false))), meaning(&end(kind, None))] {
                assert!(!unable_text.contains("scrubjay scrub"), "{unable_text}");
            }
            let gives_reason = kind != EndKind::Free;
            assert_eq!(meaning(&end(kind, Some(false))).contains("it is degraded"), gives_reason, "{kind:?}");
        }
        assert!(meaning(&end(EndKind::File, None)).contains("restore /mnt/a from a backup"));
        assert!(meaning(&end(EndKind::Metadata, None)).ends_with("e2fsck -fn /dev/md0"));
        assert!(meaning(&end(EndKind::Free, None)).starts_with("nothing is lost"));
        assert_eq!(meaning(&end(EndKind::Unknown, None)), "what would be lost is not known");
    }
}
