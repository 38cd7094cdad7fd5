//! Parses the list of mounts: the parts of proc_pid_mountinfo(5) that are used here. Pure.

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// Major and minor number: of the device below, or (for btrfs) of the mount alone.
    pub numbers: (u32, u32),
    /// The folder of the file system that is mounted, from its top: `/`, `/@home`.
    pub root: String,
    /// The mount point.
    pub point: String,
    /// The type of the file system.
    pub kind: String,
    /// Whether it is mounted for rescue: without replay of its journal, or with damaged parts left out.
    pub is_for_rescue: bool,
    /// Whether it is mounted read-only, whatever the file system itself would allow.
    pub is_read_only: bool,
}

/// Options of ext4, XFS and btrfs with which the tables on disk may not be the valid ones.
fn is_of_rescue(option: &str) -> bool {
    ["noload", "norecovery", "nologreplay"].contains(&option) || option.starts_with("rescue=")
}

/// The mounts, in the order in which they were made.
pub(crate) fn mounts(text: &str) -> Vec<MountEntry> {
    let mount = |line: &str| {
        let (head, tail) = line.split_once(" - ")?;
        let [_, _, numbers, root, point, ..] = head.split(' ').collect::<Vec<_>>()[..] else { return None };
        let mut words = tail.split(' ');
        let (kind, options) = (words.next()?, words.nth(1)?);
        let (major, minor) = numbers.split_once(':')?;
        Some(MountEntry {
            numbers: (major.parse().ok()?, minor.parse().ok()?),
            root: unescaped(root),
            point: unescaped(point),
            kind: kind.to_owned(),
            is_for_rescue: options.split(',').any(is_of_rescue),
            is_read_only: options.split(',').any(|option| option == "ro"),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// The mount in which `path` lies, if any: the last one with the longest mount point.
pub(super) fn mount_of<'a>(mounts: &'a [MountEntry], path: &str) -> Option<&'a MountEntry> {
    let is_above = |point: &str| {
        point == "/" || path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    mounts.iter().filter(|mount| is_above(&mount.point)).max_by_key(|mount| mount.point.len())
}

/// Decodes white space and backslashes, which are written as three octal digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, remainder)) = rest.split_first() {
        let code = remainder.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()).filter(|_| first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &remainder[3..];
            }
            None => {
                bytes.push(first);
                rest = remainder;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:40 /@home /home rw,relatime shared:2 master:1 - btrfs /dev/sdb rw,space_cache=v2,subvol=/@home\n\
        31 22 0:41 / /mnt/my\\040pool rw - btrfs /dev/loop0 ro,subvolid=5\n\
        32 31 0:42 / /mnt/my\\040pool/in rw - tmpfs none rw\nnonsense\n";

    #[test]
    fn mounts_are_read_with_their_white_space() {
        let all = mounts(TEXT);
        assert_eq!(all.len(), 4);
        assert_eq!((all[0].numbers, all[3].numbers), ((0, 21), (0, 42)));
        assert_eq!((all[1].root.as_str(), all[1].kind.as_str(), all[1].is_read_only), ("/@home", "btrfs", false));
        assert_eq!((all[2].point.as_str(), all[2].is_read_only), ("/mnt/my pool", true));
    }

    #[test]
    fn the_nearest_mount_is_found() {
        let all = mounts(TEXT);
        let point = |path| mount_of(&all, path).map(|mount| mount.point.as_str());
        assert_eq!((point("/home"), point("/home/a"), point("/homes")), (Some("/home"), Some("/home"), Some("/")));
        assert_eq!(point("/mnt/my pool/in/x"), Some("/mnt/my pool/in"));
        assert_eq!(mount_of(&[], "/"), None);
    }
}
