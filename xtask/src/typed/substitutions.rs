//! What is typed differently from what is printed: one table, for all documents and examples.

/// What is printed, and what is typed in its place. The names in capitals are variables that a scene sets (tests/typed). Of several that
/// fit the longest is taken; a replaced text is not replaced again.
const TABLE: &[(&str, &str)] = &[
    // Root types it all.
    ("sudo", ""),
    // Disks are loop devices, or disks of a virtual machine.
    ("/dev/sdOLD1", "/dev/${OLD}1"),
    ("/dev/sdOLD", "/dev/$OLD"),
    ("/dev/sdNEW1", "/dev/${NEW}1"),
    ("/dev/sdNEW", "/dev/$NEW"),
    ("sdOLD", "$OLD"),
    ("sdNEW", "$NEW"),
    ("/dev/sd[a-d]", "/dev/$A /dev/$B"),
    ("/dev/sd[b-g]", "$MEMBERS"),
    ("/dev/sd[b-e]", "$MEMBERS"),
    ("/dev/sda1", "/dev/$A"),
    ("/dev/sda", "/dev/$A"),
    ("/sys/block/sda", "/sys/block/$A"),
    ("/dev/sdb", "/dev/$B"),
    ("/dev/sdc", "/dev/$C"),
    ("/dev/sdh", "/dev/$SPARE"),
    ("/dev/nvme0n1", "/dev/$B"),
    ("--disk sda", "--disk $A"),
    ("explain sda", "explain $A"),
    ("explain sdb", "explain $B"),
    ("accept sda", "accept $A"),
    ("scrub-now sda", "scrub-now $A"),
    ("ZL2ABCDE", "$SERIAL"),
    ("/mnt/pool", "$POOL"),
    ("/mnt", "$MOUNT"),
    ("scrubjay scrub /dev/md0 --repair", "at_terminal yes scrubjay scrub /dev/md0 --repair"),
    // Minutes and hours are seconds.
    ("--for 1h", "--for 4s"),
    ("--for 10m", "--for 2s"),
    ("--hours 24", "--hours 1"),
    ("--hours 168", "--hours 1"),
    ("--disks 60", "--disks 9"),
    ("--days 365", "--days 40"),
    ("--requests 100 --repeats", "--requests 20 --repeats"),
    ("--repeats 5", "--repeats 1"),
    ("--repeats 3", "--repeats 1"),
    ("--trials 40", "--trials 2"),
    ("--trials 100", "--trials 1"),
    ("--seconds 20", "--seconds 0.2"),
    ("bench disk /dev/sda", "bench disk /dev/$A --seconds 0.2"),
    ("bench disk ZL2ABCDE", "bench disk $SERIAL --seconds 0.2"),
    ("probe /dev/sdb", "probe /dev/$B --budget 5s"),
    ("probe /dev/sdb --budget 60s", "probe /dev/$B --budget 5s"),
    // Models are smaller.
    ("study mlet", "study mlet --disks 1000"),
    ("study integrity", "study integrity --no-speed --requests 5000"),
    ("study shear --out shear", "study shear --out shear --requests 50 --repeats 1"),
    ("bench code", "bench code --quick"),
    ("bench code --quick", "bench code --quick"),
    // A disk that is smaller.
    ("explain sda 1953000", "explain $A 15000"),
    ("--range 1TB..", "--range 1MiB.."),
    // Settings and ports of a scene of its own.
    ("scrubjay web --print-link", "scrubjay web --print-link $WEB"),
    ("scrubjay web --listen 0.0.0.0:8600", "scrubjay web --listen 127.0.0.1:0 $WEB"),
    ("scrubjay web --recorded nas.json", "scrubjay web --recorded nas.json --listen 127.0.0.1:0"),
    ("scrubjay web", "scrubjay web --listen 127.0.0.1:0 $WEB"),
    ("0.0.0.0:10809", "127.0.0.1:10810"),
    ("events tank", "events photos"),
    ("004711", "$(code)"),
    // The package was built before.
    ("cargo xtask deb", "true"),
    ("git pull", "true"),
    ("./target/debian/scrubjay_*.deb", "/lab/new.deb"),
    ("./target/debian/scrubjay-lab_*.deb", "/lab/lab.deb"),
    ("./scrubjay_0.1.0-1_amd64.deb", "/lab/old.deb"),
    // Where root writes on a whole machine, a scene has a folder.
    ("/usr/local/bin/", "$PREFIX/"),
    ("/usr/local/share/man/man1", "man1"),
    ("/var/lib/prometheus/node-exporter/", "./"),
];

/// Commands that go on until they are stopped.
const ENDLESS: [&str; 6] = [
    "scrubjay watch",
    "scrubjay web",
    "scrubjay volume serve",
    "scrubjay volume events photos --follow",
    "scrubjay volume events --follow",
    "scrubjay simulate watch --disks 9 --page nas.json && scrubjay web",
];

/// The command with every row of the table applied, and stopped after a moment where it would go on for ever.
pub fn typed(command: &str) -> String {
    let typed = substituted(command);
    let is_endless = ENDLESS.iter().any(|endless| typed.starts_with(endless))
        && !typed.contains(" --print-")
        && !typed.ends_with('&');
    // The last of several commands is the one that goes on.
    match typed.rsplit_once("&& ").filter(|_| is_endless) {
        Some((before, last)) => format!("{before}&& stopped {last}"),
        None if is_endless => format!("stopped {typed}"),
        None => typed,
    }
}

/// The command with every row of the table applied, at words only.
fn substituted(command: &str) -> String {
    let mut typed = String::new();
    let mut rest = command;
    while !rest.is_empty() {
        let is_at_word = typed_ends_a_word(command, rest);
        let fits = TABLE.iter().filter(|(printed, _)| is_at_word && begins_with_word(rest, printed));
        match fits.max_by_key(|(printed, _)| printed.len()) {
            Some((printed, instead)) => {
                typed.push_str(instead);
                rest = &rest[printed.len()..];
                if instead.is_empty() {
                    rest = rest.trim_start();
                }
            }
            None => {
                let char = rest.chars().next().expect("it is not empty");
                typed.push(char);
                rest = &rest[char.len_utf8()..];
            }
        }
    }
    typed
}

/// Can a word begin here, in front of `rest`?
fn typed_ends_a_word(command: &str, rest: &str) -> bool {
    let before = &command[..command.len() - rest.len()];
    !before.ends_with(|char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '/' | '.'))
}

/// Does the text begin with `word`, and end or go on with something else behind it?
fn begins_with_word(text: &str, word: &str) -> bool {
    let is_open = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    text.strip_prefix(word).is_some_and(|rest| !word.ends_with(is_open) || !rest.starts_with(is_open))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_whole_words_are_replaced_and_each_once() {
        for (printed, typed) in [
            ("sudo scrubjay scrub /dev/sda", "scrubjay scrub /dev/$A"),
            ("scrubjay scrub sda.toml /dev/sda10", "scrubjay scrub sda.toml /dev/sda10"),
            ("scrubjay explain sda 1+3", "scrubjay explain $A 1+3"),
            ("echo 180 | sudo tee /sys/block/sda/device/timeout", "echo 180 | tee /sys/block/$A/device/timeout"),
            ("scrubjay watch --print-config >x", "scrubjay watch --print-config >x"),
            (
                "scrubjay trace capture /dev/sda --for 1h sda.parquet",
                "scrubjay trace capture /dev/$A --for 4s sda.parquet",
            ),
            ("sudo scrubjay watch", "stopped scrubjay watch"),
            ("scrubjay volume serve a.img &", "scrubjay volume serve a.img &"),
            ("mdadm --replace /dev/sdOLD --with /dev/sdNEW", "mdadm --replace /dev/$OLD --with /dev/$NEW"),
        ] {
            assert_eq!(super::typed(printed), typed);
        }
    }
}
