//! What md's members do not agree on, in words.

use scrubjay_core::finding::{Finding, FindingKind, Judgement, Resolution};
use scrubjay_core::units::SECTOR_BYTES;
use scrubjay_device::md::MdLevel;

/// A place where members do not, or did not, agree: what it means at this level, what is known of it, and what was done.
pub fn disagreement(level: MdLevel, found: &Finding) -> String {
    let judgement = match found.kind {
        FindingKind::Mismatch(judgement) => judgement,
        _ => Judgement::NotCompared,
    };
    let known = match (judgement, &found.member) {
        (Judgement::OneMember, Some(on)) => {
            let (name, sector) = (on.name.as_deref().unwrap_or_default(), on.offset.unwrap_or(0) / SECTOR_BYTES);
            let reason = match level.is_mirror() {
                true => "all the others are the same",
                false => "every byte that does not fit is explained by this member, and by no other",
            };
            let count = on.bytes.sectors();
            format!("; if it is one alone, it is {name} (from its sector {sector} on, {count} sectors): {reason}")
        }
        (Judgement::NoSingleMember, _) => "; no single member explains it".to_owned(),
        _ => String::new(),
    };
    let done = match found.resolution {
        Resolution::MadeToAgree => "; md has made them agree",
        Resolution::StillDiffers => {
            "; md's repair ran there, and may have overwritten one side, but they still differ: it is being written, or a \
             member does not keep what it is given"
        }
        Resolution::DiffersAgain => "; md's repair ran there before, and may have overwritten one side",
        Resolution::Unchecked => {
            "; md's repair ran there, and may have overwritten one side; what came of it was not seen"
        }
        Resolution::Spared if judgement == Judgement::NotCompared => {
            "; left as it is: its members could not be compared here, or agreed when they were"
        }
        Resolution::Spared => "; left as it is: md's repair would not make it right",
        _ => "",
    };
    format!("{}{known}{done}", of_level(level))
}

/// The meaning of a mismatch at this level, for people.
fn of_level(level: MdLevel) -> &'static str {
    match level {
        MdLevel::Raid1 | MdLevel::Raid10 => {
            "copies differ: may be harmless where swap or a memory-mapped file was being written (nothing reads that again), else one \
             of them is wrong, and md cannot tell which"
        }
        MdLevel::Raid4 | MdLevel::Raid5 => {
            "the parity does not fit the data: one of the members is wrong, and one parity cannot tell which"
        }
        MdLevel::Raid6 => "the parities do not fit the data: at least one of the members is wrong",
    }
}
