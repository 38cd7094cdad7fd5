//! What udev wrote down about a device: lines `E:KEY=VALUE` in `/run/udev/data`.

/// Udev's records about one device.
pub struct UdevNotes(String);

impl UdevNotes {
    /// The records in the text of such a file; none in an empty one.
    pub fn new(text: String) -> UdevNotes {
        UdevNotes(text)
    }

    /// The value of a key, unless it is empty.
    pub fn get(&self, key: &str) -> Option<String> {
        let value = |line: &str| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('=').map(str::to_owned);
        self.0.lines().find_map(value).filter(|value| !value.is_empty())
    }
}
