//! What an ATA drive's attributes mean: by smartctl's name for them, never by their number alone.
//!
//! A number means what the drive's maker wants: 197 is pending sectors on a hard disk, a counter that flips without a fault on
//! Crucial's MX500, and lost reads on Indilinx's. smartctl's `drivedb.h` knows, and names them accordingly.

use crate::counter_kind::CounterKind;

/// The meaning of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeMeaning {
    /// The raw value is this counter.
    Counter(CounterKind),
    /// The normalized value is the percentage of a flash drive's endurance that is left.
    LifeLeft,
}

/// What is known by name. A new name is one line.
const MEANINGS: [(&str, AttributeMeaning); 27] = [
    ("Reallocated_Sector_Ct", AttributeMeaning::Counter(CounterKind::Reallocated)),
    ("Reallocate_NAND_Blk_Cnt", AttributeMeaning::Counter(CounterKind::Reallocated)),
    ("Retired_Block_Count", AttributeMeaning::Counter(CounterKind::Reallocated)),
    ("Grown_Failing_Block_Ct", AttributeMeaning::Counter(CounterKind::Reallocated)),
    ("Reported_Uncorrect", AttributeMeaning::Counter(CounterKind::Reported)),
    ("Uncorrectable_Error_Cnt", AttributeMeaning::Counter(CounterKind::Reported)),
    ("Total_Unc_Read_Failures", AttributeMeaning::Counter(CounterKind::Reported)),
    ("Current_Pending_Sector", AttributeMeaning::Counter(CounterKind::Pending)),
    ("Pending_Sector_Count", AttributeMeaning::Counter(CounterKind::Pending)),
    ("Total_Pending_Sectors", AttributeMeaning::Counter(CounterKind::Pending)),
    ("Offline_Uncorrectable", AttributeMeaning::Counter(CounterKind::Uncorrectable)),
    ("Offline_Scan_UNC_SectCt", AttributeMeaning::Counter(CounterKind::Uncorrectable)),
    ("Total_Offl_Uncorrectabl", AttributeMeaning::Counter(CounterKind::Uncorrectable)),
    ("Command_Timeout", AttributeMeaning::Counter(CounterKind::TimedOut)),
    ("UDMA_CRC_Error_Count", AttributeMeaning::Counter(CounterKind::CableErrors)),
    ("CRC_Error_Count", AttributeMeaning::Counter(CounterKind::CableErrors)),
    ("SATA_CRC_Error_Count", AttributeMeaning::Counter(CounterKind::CableErrors)),
    ("SATA_CRC_Error", AttributeMeaning::Counter(CounterKind::CableErrors)),
    ("Percent_Lifetime_Remain", AttributeMeaning::LifeLeft),
    ("Percent_Life_Remaining", AttributeMeaning::LifeLeft),
    ("Remaining_Lifetime_Perc", AttributeMeaning::LifeLeft),
    ("Lifetime_Left", AttributeMeaning::LifeLeft),
    ("Lifetime_Remaining%", AttributeMeaning::LifeLeft),
    ("SSD_Life_Left", AttributeMeaning::LifeLeft),
    ("SSD_Life_Left_Perc", AttributeMeaning::LifeLeft),
    ("Media_Wearout_Indicator", AttributeMeaning::LifeLeft),
    ("Wear_Leveling_Count", AttributeMeaning::LifeLeft),
];

/// smartctl's names for attributes of drives that it does not know; they have the usual meaning.
const USUAL: [(u8, &str); 6] = [
    (5, "Reallocated_Sector_Ct"),
    (187, "Reported_Uncorrect"),
    (188, "Command_Timeout"),
    (197, "Current_Pending_Sector"),
    (198, "Offline_Uncorrectable"),
    (199, "UDMA_CRC_Error_Count"),
];

/// The meaning of an attribute by its name; `None`: it is not known, or nothing is judged by it.
pub fn meaning(name: &str) -> Option<AttributeMeaning> {
    MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
}

/// The usual name of an attribute; empty: none is judged by.
pub fn usual_name(id: u8) -> &'static str {
    USUAL.iter().find(|(known, _)| *known == id).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_decides_and_not_the_number() {
        for name in ["Current_Pending_ECC_Cnt", "Not_In_Use", "Host_Reads_GiB", "Bad_Blk_Ct_Lat/Erl", ""] {
            assert_eq!(meaning(name), None, "{name}");
        }
        assert_eq!(meaning("Total_Unc_Read_Failures"), Some(AttributeMeaning::Counter(CounterKind::Reported)));
        assert!(USUAL.iter().all(|(_, name)| meaning(name).is_some()));
        let names: std::collections::BTreeSet<&str> = MEANINGS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), MEANINGS.len(), "each once");
    }
}
