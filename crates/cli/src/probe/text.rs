//! The result of `probe` for people.

use super::advice::{self, FormatPlace};
use super::facts::{KernelLimit, doubt, facts, limits};
use super::kernel::Kernel;
use super::words;
use crate::columns;
use crate::say::{print_line, print_prose, shown};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::{Claim, DeviceClass, KnownArray, ProbeStage};
use scrubjay_core::quantity::show_time;
use scrubjay_core::units::Bytes;
use std::io::{self, Write};

/// Classes in one line of text, at most.
const CLASSES_A_LINE: usize = 32;
/// Classes that are printed if no layout fits, at most; the JSON has all.
const CLASSES_MAX: usize = 512;

/// Prints the result of a probe that was allowed to write, or was not.
pub fn print(
    known: &KnownArray,
    spent: ProbeBudget,
    allows_writes: bool,
    kernel: Option<&Kernel>,
    device: &str,
    bytes: Option<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    let size = bytes.map_or(String::new(), |bytes| format!(" ({})", Bytes(bytes)));
    print_line(out, format_args!("{device}{size}: {}", headline(known)))?;
    statements(known, allows_writes, out)?;
    findings(known).iter().try_for_each(|finding| print_line(out, format_args!("! {finding}")))?;
    remarks(known, spent).iter().try_for_each(|remark| print_line(out, format_args!("  {remark}")))?;
    kernel.map_or(Ok(()), |kernel| claims(known, kernel, out))
}

/// What is wrong with the device, or could not be found out, in a line each.
pub fn findings(known: &KnownArray) -> Vec<String> {
    known.findings.iter().map(|finding| format!("{}{}", words::finding(&finding.value), confidence(finding))).collect()
}

/// Why the probe ended early, if it did, and what it took.
pub fn remarks(known: &KnownArray, spent: ProbeBudget) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(why) = known.unmeasurable.as_ref().filter(|_| known.disks.is_some()) {
        remarks.push(format!("(it ended early, because {})", words::unmeasurable(why)));
    } else if known.stage != ProbeStage::Done && known.unmeasurable.is_none() {
        remarks.push(format!("(it ended early, before it knew: {})", known.stage));
    }
    remarks.push(format!("{} in {}", words::requests(spent.requests), show_time(spent.time)));
    remarks
}

/// Prints the advice.
pub fn advise(known: &KnownArray, place: &FormatPlace, out: &mut impl Write) -> io::Result<()> {
    let advice = advice::lines(known, place);
    if !advice.is_empty() {
        writeln!(out, "suggested commands:")?;
    }
    advice.iter().try_for_each(|line| writeln!(out, "  {}", shown(line)))
}

/// What the device is.
pub fn headline(known: &KnownArray) -> String {
    if let Some(why) = known.unmeasurable.as_ref().filter(|_| known.disks.is_none()) {
        return format!("not measurable here, because {}", words::unmeasurable(why));
    }
    let Some(disks) = &known.disks else {
        return match (known.stage, &known.pattern_bytes) {
            (ProbeStage::Done, Some(_)) => "an array whose chunks could not be told apart".to_owned(),
            (ProbeStage::Done, None) => "no pattern was found".to_owned(),
            _ => "not known yet".to_owned(),
        };
    };
    let perhaps = if disks.confidence < advice::SURE_MIN { "perhaps " } else { "" };
    let is_flash =
        matches!(known.device_class.as_ref().map(|device_class| device_class.value), Some(DeviceClass::Flash { .. }));
    if known.joined.is_some() {
        return format!("{perhaps}{} disks, one behind the other", disks.value);
    }
    match (disks.value, is_flash) {
        (1, false) => format!("{perhaps}one disk"),
        (1, true) => format!("{perhaps}one drive that does many requests at once (flash, or memory)"),
        (count, false) => format!("{perhaps}an array of {count} disks"),
        (count, true) => format!("{perhaps}an array of {count} flash drives"),
    }
}

fn statements(known: &KnownArray, allows_writes: bool, out: &mut impl Write) -> io::Result<()> {
    for fact in facts(known, allows_writes) {
        let doubt = fact.confidence.and_then(doubt).map_or(String::new(), |doubt| format!("  ({doubt})"));
        print_prose(out, &format!("  {:<8} ", fact.name), &format!("{}{doubt}", fact.value), columns::width())?;
        if !fact.remark.is_empty() {
            print_prose(out, "           ", &format!("({})", fact.remark), columns::width())?;
        }
    }
    let is_free = known.fits.as_ref().is_some_and(|fits| fits.value.is_empty());
    if let Some(classes) = known.classes.as_ref().filter(|_| is_free) {
        let shown = &classes.value[..classes.value.len().min(CLASSES_MAX)];
        for (index, line) in shown.chunks(CLASSES_A_LINE).enumerate() {
            let line: Vec<String> = line.iter().map(usize::to_string).collect();
            writeln!(out, "  {}  {}", if index == 0 { "classes" } else { "       " }, line.join(" "))?;
        }
        if shown.len() < classes.value.len() {
            writeln!(out, "           ... {} chunks in all (--json shows them)", classes.value.len())?;
        }
    }
    Ok(())
}

fn claims(known: &KnownArray, kernel: &Kernel, out: &mut impl Write) -> io::Result<()> {
    let limits = limits(known, kernel)
        .map(|KernelLimit { file, value, judgement }| format!("{file} {value} ({})", judgement.words()));
    print_line(out, format_args!("the kernel says: {}", limits.join(", ")))
}

/// The confidence of a claim; empty if it is as high as the prober's last check can make it, or higher.
fn confidence<T>(claim: &Claim<T>) -> String {
    doubt(claim.confidence).map_or(String::new(), |doubt| format!("  ({doubt})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::known::{RedundancyLevel, Unmeasurable};
    use scrubjay_core::probe::library;
    use scrubjay_core::units::Nanos;

    fn printed(known: &KnownArray, kernel: Option<&Kernel>) -> String {
        printed_of(known, kernel, false)
    }

    fn printed_of(known: &KnownArray, kernel: Option<&Kernel>, allows_writes: bool) -> String {
        let spent = ProbeBudget { requests: 1234, time: Nanos::from_secs(5) };
        let mut out = Vec::new();
        print(known, spent, allows_writes, kernel, "sdb", Some(1 << 30), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn array() -> KnownArray {
        let classes = vec![0, 1, 2, 3];
        KnownArray {
            stage: ProbeStage::Done,
            pattern_bytes: Some(Claim::new(1280 << 10, 1.0)),
            chunk_bytes: Some(Claim::new(320 << 10, 0.98)),
            phase_bytes: Some(Claim::new(11_264, 0.98)),
            fits: Some(Claim::new(library::fits(&classes, Some(1)), 1.0)),
            classes: Some(Claim::new(classes, 1.0)),
            disks: Some(Claim::new(4, 1.0)),
            ..KnownArray::default()
        }
    }

    #[test]
    fn sizes_are_exact_and_the_kernel_claims_are_checked_against_them() {
        let kernel = Kernel {
            minimum_io_size: 320 << 10,
            optimal_io_size: 1280 << 10,
            alignment_offset: 0,
            physical_block_size: 4096,
        };
        let text = printed(&array(), Some(&kernel));
        for line in [
            "sdb (1.1 GB): an array of 4 disks\n",
            "  pattern  1280 KiB\n",
            "  chunk    320 KiB  (98.0 %)\n",
            "  phase    a chunk begins at byte 11264  (98.0 %)\n",
            "  1,234 requests in 5.0 s\n",
            "minimum_io_size 327680 (correct), optimal_io_size 1310720 (correct), alignment_offset 0 (wrong)\n",
        ] {
            assert!(text.contains(line), "`{line}` in {text}");
        }
    }

    #[test]
    fn an_unsure_number_of_disks_is_marked_in_the_headline() {
        let unsure = KnownArray { disks: Some(Claim::new(3, 0.54)), ..array() };
        assert!(printed(&unsure, None).starts_with("sdb (1.1 GB): perhaps an array of 3 disks\n"));
    }

    #[test]
    fn writes_are_suggested_only_while_the_level_is_unknown_and_they_were_not_allowed() {
        let hint = "--allow-writes can";
        assert!(printed(&array(), None).contains(hint));
        let allowed = printed_of(&array(), None, true);
        assert!(allowed.contains("(reads cannot tell them apart)") && !allowed.contains(hint), "{allowed}");
        let level = Some(Claim::new(RedundancyLevel::Raid0, 1.0));
        assert!(!printed(&KnownArray { level, ..array() }, None).contains(hint));
    }

    #[test]
    fn a_probe_that_ends_early_still_shows_its_results() {
        let text = printed(&KnownArray { unmeasurable: Some(Unmeasurable::Errors), ..array() }, None);
        assert!(text.contains("an array of 4 disks") && text.contains("because it answers with errors"), "{text}");
        let text = printed(&KnownArray { unmeasurable: Some(Unmeasurable::Errors), ..KnownArray::default() }, None);
        assert!(text.starts_with("sdb (1.1 GB): not measurable here, because it answers with errors\n"), "{text}");
        let text = printed(&KnownArray { stage: ProbeStage::Copies, ..KnownArray::default() }, None);
        assert!(text.contains("(it ended early, before it knew: copies)"), "{text}");
    }
}
