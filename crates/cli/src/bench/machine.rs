//! What a measurement depends on: the processor, and the other load on it.

use super::processor;
use serde::Serialize;
use std::fs;
use std::thread;

/// This machine at one time.
#[derive(Clone, Debug, Serialize)]
pub struct HostMachine {
    /// Its name; `unknown processor` without one.
    processor: String,
    cores: usize,
    /// Running or runnable processes, on average over the last minute.
    load_average: Option<f64>,
}

impl HostMachine {
    /// Reads the present state.
    pub fn read() -> HostMachine {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let board = fs::read_to_string("/proc/device-tree/model").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        HostMachine {
            processor: processor::name(&info, board.trim_matches(['\0', '\n'])),
            cores: thread::available_parallelism().map_or(1, usize::from),
            load_average: load.split(' ').next().and_then(|first| first.parse().ok()),
        }
    }

    /// In words: `AMD EPYC, 4 cores, load average 0.12`.
    pub fn describe(&self) -> String {
        let cores = if self.cores == 1 { "1 core".to_owned() } else { format!("{} cores", self.cores) };
        let load = self.load_average.map_or_else(String::new, |load| format!(", load average {load:.2}"));
        format!("{}, {cores}{load}", self.processor)
    }

    /// Is the other load so high that figures are not reliable? Half a core of load can delay every other turn.
    pub fn is_busy(&self) -> bool {
        self.load_average.is_some_and(|load| load > 0.5)
    }
}

/// Bytes of memory that are available; `None`: not known.
pub fn available_memory() -> Option<u64> {
    memory("MemAvailable")
}

/// Bytes of memory; `None`: not known.
pub fn total_memory() -> Option<u64> {
    memory("MemTotal")
}

fn memory(what: &str) -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = value_of(&info, what)?.split(' ').next()?.parse().ok()?;
    Some(kib << 10)
}

/// The value of the first line `key : value`.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_behind_their_keys() {
        let text = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD: EPYC\nMemAvailable:   20964088 kB\n";
        assert_eq!((value_of(text, "model name"), value_of(text, "model")), (Some("AMD: EPYC"), Some("17")));
        assert_eq!((value_of(text, "MemAvailable"), value_of(text, "name")), (Some("20964088 kB"), None));
    }

    #[test]
    fn a_machine_is_described_in_one_line() {
        let machine = HostMachine { processor: "AMD EPYC".into(), cores: 4, load_average: Some(8.7) };
        assert_eq!((machine.describe().as_str(), machine.is_busy()), ("AMD EPYC, 4 cores, load average 8.70", true));
        let machine = HostMachine { processor: "X".into(), cores: 1, load_average: None };
        assert_eq!((machine.describe().as_str(), machine.is_busy()), ("X, 1 core", false));
    }
}
