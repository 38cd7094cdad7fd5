//! Whether the machine runs on battery.

use super::root::SystemRoot;
use std::path::Path;

/// True when no charger or mains is on and a battery, or an uninterruptible power supply, is discharging. Batteries of
/// mice and headsets do not count.
pub fn is_on_battery(root: &SystemRoot) -> bool {
    let folder = Path::new("/sys/class/power_supply");
    let mut is_discharging = false;
    for supply in root.names(folder) {
        let text = |name: &str| root.text(&folder.join(&supply).join(name)).unwrap_or_default();
        if text("scope") == "Device" {
            continue;
        }
        match text("type").as_str() {
            "Battery" | "UPS" => is_discharging |= text("status") == "Discharging",
            _ if root.number(&folder.join(&supply).join("online")).unwrap_or(0) > 0 => return false,
            _ => {}
        }
    }
    is_discharging
}
