//! `bench-budget --sensitivity [WORD]`: each constant of the idle policies halved and doubled, and what the budget then reads of eight
//! loads. It builds the files that git knows, with one number changed, in a folder of its own.

use crate::place::{root, target_folder};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the constants are.
const FOLDER: &str = "crates/core/src/scrub/idle";

/// A constant that is a plain number.
struct PolicyConstant {
    file: PathBuf,
    line: usize,
    name: String,
    kind: String,
    value: f64,
}

/// What the budget reads of one load, in MB/s, and its greatest mean so far, as a share of the goal.
struct Played {
    load: String,
    read: f64,
    so_far: f64,
}

/// Prints a row for each constant whose file and name contain `word`: what is read as a share of what is read with the shipped one, over all
/// loads and of the load that changes most; and the greatest mean so far.
///
/// # Errors
/// The shipped program cannot be built or run.
pub fn print(word: &str) -> Result<()> {
    let home = target_folder().join("sensitivity");
    let tree = home.join("tree");
    fs::create_dir_all(&tree)?;
    let prefix = format!("--prefix={}/", tree.display());
    ensure!(
        Command::new("git").current_dir(root()).args(["checkout-index", "-a", "-f", &prefix]).status()?.success(),
        "git"
    );
    let shipped = play(&home)?.context("the shipped program")?;
    println!("| constant | value | halved: all, one load; so far | doubled |\n|---|---|---|---|");
    let worst = |all: &[Played]| all.iter().map(|played| played.so_far).fold(0.0, f64::max);
    println!("| (as shipped) | | 1, 1; {:.2} | |", worst(&shipped));
    for constant in constants(&tree.join(FOLDER))? {
        let place = constant.file.strip_prefix(tree.join(FOLDER)).unwrap_or(&constant.file).display().to_string();
        let title = format!("{} {}", place.trim_end_matches(".rs"), constant.name);
        if !title.contains(word) {
            continue;
        }
        let mut cells = Vec::new();
        for factor in [0.5, 2.0] {
            let text = fs::read_to_string(&constant.file)?;
            fs::write(&constant.file, changed(&text, &constant, factor))?;
            let played = play(&home);
            fs::write(&constant.file, text)?;
            cells.push(played?.map_or("does not build, or fails".to_owned(), |played| {
                let [all, one] = shares(&played, &shipped);
                format!("{all:.3}, {one:.2}; {:.2}", worst(&played))
            }));
        }
        println!("| {title} | {} | {} |", constant.value, cells.join(" | "));
    }
    Ok(())
}

/// The geometric mean of what is read as a share of what the shipped one reads, and the share of the load that differs most.
fn shares(played: &[Played], shipped: &[Played]) -> [f64; 2] {
    let (mut all, mut most) = (0.0, 0.0f64);
    for load in shipped.chunk_by(|one, two| one.load == two.load).map(|goals| &goals[0].load) {
        let sum =
            |of: &[Played]| of.iter().filter(|played| played.load == *load).map(|played| played.read).sum::<f64>();
        let share = (sum(played) / sum(shipped)).ln();
        all += share;
        most = if share.abs() > most.abs() { share } else { most };
    }
    let loads = shipped.chunk_by(|one, two| one.load == two.load).count() as f64;
    [(all / loads).exp(), most.exp()]
}

/// All plain numbers among the constants of a folder, without those of tests.
fn constants(folder: &Path) -> Result<Vec<PolicyConstant>> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(constants(&path)?);
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let own = text.lines().take_while(|line| *line != "mod tests {").enumerate();
        found.extend(own.filter_map(|(line, text)| constant(&path, line, text)));
    }
    Ok(found)
}

/// The constant that a line declares, if it is a plain number.
fn constant(file: &Path, line: usize, text: &str) -> Option<PolicyConstant> {
    let (_, declared) = text.split_once("const ")?;
    let (name, rest) = declared.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    let value = value.strip_suffix(';')?.replace('_', "").parse().ok()?;
    let is_number = matches!(kind, "f64" | "u64" | "u32" | "usize");
    is_number.then(|| PolicyConstant {
        file: file.to_owned(),
        line,
        name: name.to_owned(),
        kind: kind.to_owned(),
        value,
    })
}

/// The text of a file in which one constant is multiplied.
fn changed(text: &str, constant: &PolicyConstant, factor: f64) -> String {
    let value = constant.value * factor;
    let value = if constant.kind == "f64" { format!("{value:?}") } else { format!("{}", value.round().max(1.0)) };
    let changed = |(line, old): (usize, &str)| match old.split_once(" = ") {
        Some((declared, _)) if line == constant.line => format!("{declared} = {value};\n"),
        _ => format!("{old}\n"),
    };
    text.lines().enumerate().map(changed).collect()
}

/// Builds the tree and plays the loads; `None` if it does not build, or fails.
fn play(home: &Path) -> Result<Option<Vec<Played>>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(home.join("tree"))
        .env("CARGO_TARGET_DIR", home.join("target"))
        .args([
            "run",
            "--quiet",
            "--release",
            "-p",
            "scrubjay-sim",
            "--example",
            "budget_trials",
            "--",
            "--sensitivity",
        ])
        .output()?;
    if !output.status.success() {
        return Ok(None);
    }
    let played = String::from_utf8(output.stdout)?;
    let row = |line: &str| {
        let [load, _, read, so_far] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
        Some(Played { load: load.to_owned(), read: read.parse().ok()?, so_far: so_far.parse().ok()? })
    };
    Ok(Some(played.lines().filter_map(row).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_a_plain_number_and_is_changed_alone() {
        let text = "const ONE: f64 = 0.25;\npub(super) const MANY: u64 = 8_000;\nconst OTHER: f64 = 1.0 / 64.0;\n";
        let found: Vec<PolicyConstant> =
            text.lines().enumerate().filter_map(|(line, text)| constant(Path::new("x.rs"), line, text)).collect();
        assert_eq!(found.iter().map(|constant| constant.value).collect::<Vec<_>>(), [0.25, 8000.0]);
        assert_eq!(
            changed(text, &found[1], 0.5),
            "const ONE: f64 = 0.25;\npub(super) const MANY: u64 = 4000;\nconst OTHER: f64 = 1.0 / 64.0;\n"
        );
    }
}
