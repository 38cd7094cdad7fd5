//! The name of the processor, from the text of `/proc/cpuinfo`.

/// Cores of 64-bit Arm by implementer and part, as in the kernel's `asm/cputype.h`: there is no `model name`.
const ARM_CORES: [(&str, &str, &str); 24] = [
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd04", "Cortex-A35"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd09", "Cortex-A73"),
    ("0x41", "0xd0a", "Cortex-A75"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse N1"),
    ("0x41", "0xd0d", "Cortex-A77"),
    ("0x41", "0xd40", "Neoverse V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd44", "Cortex-X1"),
    ("0x41", "0xd46", "Cortex-A510"),
    ("0x41", "0xd47", "Cortex-A710"),
    ("0x41", "0xd49", "Neoverse N2"),
    ("0x41", "0xd4b", "Cortex-A78C"),
    ("0x41", "0xd4f", "Neoverse V2"),
    ("0x41", "0xd80", "Cortex-A520"),
    ("0x41", "0xd81", "Cortex-A720"),
    ("0x43", "0x0af", "ThunderX2"),
    ("0x46", "0x001", "A64FX"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1A"),
];

/// The processor's name, and that of the board if it has one: `Cortex-A76 + Cortex-A55 (Radxa ROCK 5B)`.
pub(super) fn name(info: &str, board: &str) -> String {
    let name = values(info, "model name").first().map_or_else(|| arm_cores(info), |name| (*name).to_owned());
    match board {
        "" => name,
        board => format!("{name} ({board})"),
    }
}

/// The kinds of cores, each once, those with the highest number first: big ones come last.
fn arm_cores(info: &str) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for (implementer, part) in values(info, "CPU implementer").into_iter().zip(values(info, "CPU part")).rev() {
        let known = ARM_CORES.iter().find(|(by, of, _)| (*by, *of) == (implementer, part));
        let kind = known.map_or_else(|| format!("Arm core {implementer}/{part}"), |(.., name)| (*name).to_owned());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.is_empty() { "unknown processor".to_owned() } else { kinds.join(" + ") }
}

/// The values of all lines `key : value`.
fn values<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_kernels_where_it_gives_one() {
        assert_eq!(name("processor : 0\nmodel name\t: AMD EPYC\n", ""), "AMD EPYC");
        assert_eq!(name("", ""), "unknown processor");
    }

    #[test]
    fn cores_of_arm_are_named_by_their_numbers() {
        let core = |part: &str| format!("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
        let pi = core("0xd08").repeat(4);
        assert_eq!(name(&pi, "Raspberry Pi 4 Model B Rev 1.4"), "Cortex-A72 (Raspberry Pi 4 Model B Rev 1.4)");
        assert_eq!(name(&[core("0xd05"), core("0xd0b")].concat(), ""), "Cortex-A76 + Cortex-A55");
        assert_eq!(name(&core("0xfff"), ""), "Arm core 0x41/0xfff");
    }
}
