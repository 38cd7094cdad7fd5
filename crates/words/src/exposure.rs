//! What a rebuild would have to read if one more member of an array died tonight, in words.

use crate::sentence::{Count, Said, sentences};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, elapsed};
use scrubjay_watch::exposure::{ExposedMember, Exposure};

sentences! {
    pub(crate) ExposureWords: "What a rebuild would have to read if one more member of an array died" {
        Lost { dies: String = "sda", stripes: Count = Count(12, "stripe"), sectors: Count = Count(41, "sector"), disk: String = "sdb" } =>
            "if {dies} died tonight, {stripes} could not be rebuilt: {sectors} of {disk} cannot be read",
        MayBeLost { dies: String = "sda", sectors: Count = Count(41, "sector"), disk: String = "sdb" } =>
            "if {dies} died tonight, {sectors} of {disk} may be needed that cannot be read",
        Rebuilt { dies: String = "sda", sectors: Count = Count(41, "sector"), disk: String = "sdb" } =>
            "if {dies} died tonight, {sectors} of {disk} that cannot be read would have to be rebuilt from the others",
        NeverRead { dies: String = "sda", bytes: String = "1.2 TB", disk: String = "sdb" } =>
            "if {dies} died tonight, {bytes} of {disk} would have to be read that the watch has never read",
        Unread { dies: String = "sda", bytes: String = "1.2 TB", disk: String = "sdb", days: Count = Count(60, "day") } =>
            "if {dies} died tonight, {bytes} of {disk} would have to be read that the watch has not read for up to {days}",
        Read { dies: String = "sda", days: Count = Count(12, "day") } =>
            "if {dies} died tonight, all that would have to be read was read within {days}",
    }
}

/// What would have to be read, in words.
pub fn exposure(exposure: &Exposure, now: UnixSeconds) -> Said {
    let Exposure { dies, lost_stripes, left, worst } = exposure;
    let ExposedMember { disk, unreadable, never, late, oldest } = worst;
    let (dies, disk, sectors) = (dies.clone(), disk.clone(), Count(*unreadable, "sector"));
    let days = oldest.map(|oldest| Count(elapsed(now, oldest).div_ceil(DAY).max(1), "day"));
    match (*unreadable, *lost_stripes, days) {
        (1.., Some(stripes @ 1..), _) => {
            ExposureWords::Lost { dies, stripes: Count(stripes, "stripe"), sectors, disk }.into()
        }
        (1.., None, _) if *left == 0 => ExposureWords::MayBeLost { dies, sectors, disk }.into(),
        (1.., _, _) if *left > 0 => ExposureWords::Rebuilt { dies, sectors, disk }.into(),
        (_, _, None) => ExposureWords::NeverRead { dies, bytes: never.to_string(), disk }.into(),
        (_, _, Some(days)) if late.0 > 0 => ExposureWords::Unread { dies, bytes: late.to_string(), disk, days }.into(),
        (_, _, Some(days)) => ExposureWords::Read { dies, days }.into(),
    }
}
