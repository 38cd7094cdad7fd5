//! `cargo xtask typed`: what documents, help pages and the Makefile tell people to type is typed, as printed but for a table of
//! substitutions, and what they show is compared with what is printed.

mod commands;
mod examples;
mod fences;
mod judge;
mod script;
mod substitutions;
mod table;

use crate::place;
use crate::test::{PROFILE, step_names};
use crate::tidy::finding::TidyFinding;
use crate::tree::{SourceFile, Tree};
use anyhow::{Context, Result, bail, ensure};
use commands::TypedCommand;
use rustix::process::{Pid, Signal, kill_process_group};
use script::{Answer, Piece};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use table::{By, EXAMPLES, HELP, MAKE, Row, Scene, TABLE};

/// At most so many rows in a hundred may be exempt.
const EXEMPT_MAX_PERCENT: usize = 15;

/// A scene that prints nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// Commands that take longer are listed.
const SLOW_MILLIS: u64 = 3000;

/// Something that people are told to type.
struct Told {
    /// The document, [`HELP`], [`MAKE`] or [`EXAMPLES`].
    place: String,
    /// Where, for people.
    at: String,
    /// Line in the document.
    line: usize,
    /// Its commands.
    commands: Vec<TypedCommand>,
}

impl Told {
    fn row(&self) -> Option<&'static Row> {
        let first = self.commands.first().map_or("", |command| command.line.as_str());
        TABLE.iter().find(|row| row.place == self.place && first.starts_with(row.begins))
    }
}

/// Types what one scene has, or all scenes that need no virtual machine. `--list`: prints the table instead.
///
/// # Errors
/// When there is no such scene, or the program is not built.
pub fn run(arguments: &[String]) -> Result<bool> {
    // A virtual machine has these files, and no git.
    let tree = Tree::of_git().or_else(|_| Tree::of_folder(&["README.md", "docs"]))?;
    let program = program();
    ensure!(program.exists(), "{} is not there: cargo xtask test {}", program.display(), crate::test::BUILD);
    let mut told = told(&tree);
    told.extend(told_by_help(&program)?);
    match arguments {
        [option] if option == "--list" => {
            print_list(&told);
            Ok(true)
        }
        [] => {
            let mut is_good = is_complete(&told);
            for scene in Scene::ALL.into_iter().filter(|scene| !scene.is_in_guest()) {
                is_good &= play(scene, &told, &program)?;
            }
            print_summary(&told);
            Ok(is_good)
        }
        [name] => match Scene::ALL.into_iter().find(|scene| scene.name() == name) {
            Some(scene) => play(scene, &told, &program),
            None => bail!("no scene {name}; there are: {}", Scene::ALL.map(Scene::name).join(", ")),
        },
        _ => bail!("what is {}? A scene, or --list", arguments.join(" ")),
    }
}

/// The built program: that of the tests, unless SCRUBJAY names another.
fn program() -> PathBuf {
    std::env::var_os("SCRUBJAY").map_or_else(|| place::target_folder().join(PROFILE).join("scrubjay"), PathBuf::from)
}

/// Rule of `tidy`: every block of a document has a row, every row has something that is told, and few are exempt.
pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    const PATH: &str = "xtask/src/typed/table.rs";
    let told = told(tree);
    let mut findings: Vec<TidyFinding> = told
        .iter()
        .filter(|told| told.row().is_none())
        .map(|told| {
            TidyFinding::at(&told.place, told.line, format!("no row in {PATH} says who types this: {}", told.at))
        })
        .collect();
    if !tree.files.iter().any(|file| file.path == PATH) {
        return findings; // a tree of another test
    }
    let steps = step_names();
    for row in TABLE {
        let is_used =
            row.place == HELP || told.iter().any(|told| told.row().is_some_and(|used| std::ptr::eq(used, row)));
        if !is_used {
            findings.push(TidyFinding::at(PATH, 1, format!("nothing in {} begins with `{}`", row.place, row.begins)));
        }
        if let By::Step(name) = row.by
            && !steps.contains(&name)
        {
            findings.push(TidyFinding::at(PATH, 1, format!("no step is called \"{name}\"")));
        }
    }
    findings
}

/// What documents, the Makefile and programs in `examples/` tell people to type.
fn told(tree: &Tree) -> Vec<Told> {
    let mut told = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for block in fences::blocks(file) {
            let commands = commands::commands(&block);
            let Some(first) = commands.first() else { continue };
            told.push(Told {
                place: block.document.clone(),
                at: format!("{}:{}: {}", block.document, block.line, first.line),
                line: block.line,
                commands,
            });
        }
    }
    let named = |place: &str, path: &str, line: usize, name: &str| Told {
        place: place.to_owned(),
        at: format!("{path}: {name}"),
        line,
        commands: vec![TypedCommand { line: name.to_owned(), shown: Vec::new() }],
    };
    for file in &tree.files {
        if file.path.ends_with(".ipynb") {
            told.push(named(&file.path, &file.path, 1, "its cells"));
        } else if file.path == "Makefile" {
            told.extend(targets(file).into_iter().map(|(line, target)| named(MAKE, MAKE, line, &target)));
        } else if let Some(example) = example_of(&file.path) {
            told.push(named(EXAMPLES, EXAMPLES, 1, example));
        }
    }
    told
}

/// The targets of the Makefile that `make help` lists.
fn targets(file: &SourceFile) -> Vec<(usize, String)> {
    let targets = file.lines().filter(|(_, line)| line.contains("## ")).filter_map(|(number, line)| {
        let (name, _) = line.split_once(':')?;
        name.chars().all(|char| char.is_ascii_lowercase()).then(|| (number, name.to_owned()))
    });
    targets.collect()
}

/// The path of an example, without what lies below it and without its extension.
fn example_of(path: &str) -> Option<&str> {
    let (folder, name) = path.split_once("/examples/")?;
    if !folder.starts_with("crates/") || folder.matches('/').count() != 1 {
        return None;
    }
    match name.split_once('/') {
        None => path.strip_suffix(".rs"),
        Some((below, "main.rs")) => Some(&path[..folder.len() + "/examples/".len() + below.len()]),
        Some(_) => None,
    }
}

/// The examples of `--help`.
fn told_by_help(program: &Path) -> Result<Vec<Told>> {
    let examples = examples::examples(program)?;
    let told = examples.into_iter().map(|example| Told {
        place: HELP.to_owned(),
        at: format!("{} --help: {}", example.verb, example.line),
        line: 0,
        commands: vec![TypedCommand { line: example.line, shown: Vec::new() }],
    });
    Ok(told.collect())
}

/// Is every example covered, and are few exempt? Says what is not.
fn is_complete(told: &[Told]) -> bool {
    let without: Vec<&Told> = told.iter().filter(|told| told.row().is_none()).collect();
    for told in &without {
        println!("FAILED no row in xtask/src/typed/table.rs says who types this: {}", told.at);
    }
    let unused: Vec<&Row> = TABLE
        .iter()
        .filter(|row| {
            row.place == HELP && !told.iter().any(|told| told.row().is_some_and(|used| std::ptr::eq(used, *row)))
        })
        .collect();
    for row in &unused {
        println!("FAILED nothing in {} begins with `{}`", row.place, row.begins);
    }
    let exempt = told.iter().filter(|told| matches!(told.row().map(|row| row.by), Some(By::Exempt(_)))).count();
    let is_few = exempt * 100 <= told.len() * EXEMPT_MAX_PERCENT;
    if !is_few {
        println!("FAILED {exempt} of {} are exempt: more than {EXEMPT_MAX_PERCENT} %", told.len());
    }
    without.is_empty() && unused.is_empty() && is_few
}

fn print_list(told: &[Told]) {
    for told in told {
        let by = match told.row().map(|row| row.by) {
            Some(By::Scene(scene)) => format!("scene {}", scene.name()),
            Some(By::Step(step)) => format!("step \"{step}\""),
            Some(By::Exempt(why)) => format!("EXEMPT: {why}"),
            None => "NO ROW".to_owned(),
        };
        println!("{}\n    {by}", told.at);
    }
}

fn print_summary(told: &[Told]) {
    let count =
        |wanted: fn(By) -> bool| told.iter().filter(|told| told.row().is_some_and(|row| wanted(row.by))).count();
    let here = count(|by| matches!(by, By::Scene(scene) if !scene.is_in_guest()));
    let guests = count(|by| matches!(by, By::Scene(scene) if scene.is_in_guest()));
    let steps = count(|by| matches!(by, By::Step(_)));
    let exempt: Vec<(&str, &str)> = told
        .iter()
        .filter_map(|told| match told.row()?.by {
            By::Exempt(why) => Some((told.at.as_str(), why)),
            _ => None,
        })
        .collect();
    println!("\nexempt:");
    for (at, why) in &exempt {
        println!("  {at}\n    {why}");
    }
    println!(
        "typed: of {} blocks, examples, targets and programs {here} here, {guests} in virtual machines, {steps} by other steps, {} by nobody ({:.0} %)",
        told.len(),
        exempt.len(),
        100.0 * exempt.len() as f64 / told.len().max(1) as f64
    );
}

/// Types all that belongs to a scene; prints each failure. True when there is none.
fn play(scene: Scene, told: &[Told], program: &Path) -> Result<bool> {
    let mut pieces = Vec::new();
    for told in told {
        let Some(row) = told.row().filter(|row| row.by == By::Scene(scene)) else { continue };
        let mut commands = told.commands.clone();
        if !row.instead.is_empty() {
            commands = vec![TypedCommand { line: row.instead.to_owned(), shown: Vec::new() }];
        }
        // What stands in the help of two verbs is typed once.
        let is_same = |piece: &Piece| piece.before == row.before && piece.commands == commands && told.place == HELP;
        if pieces.iter().any(is_same) {
            continue;
        }
        pieces.push(Piece { place: told.at.clone(), before: row.before, commands, statuses: row.statuses });
    }
    if pieces.is_empty() {
        return Ok(true);
    }
    let begun = Instant::now();
    let script = script::script(scene, &pieces);
    let printed = scene_output(&script, program)?;
    let mut failed = 0;
    for (piece, answers) in pieces.iter().zip(script::answers(&pieces, &printed)) {
        for (command, answer) in piece.commands.iter().zip(&answers) {
            if answer.millis >= SLOW_MILLIS {
                println!("# {:.1} s: {}", answer.millis as f64 / 1e3, command.line);
            }
            if let Some(why) = fault(piece, command, answer) {
                failed += 1;
                println!("FAILED {}\n    $ {}\n    {why}", piece.place, command.line);
                answer.printed.lines().take(30).for_each(|line| println!("    | {line}"));
            }
        }
    }
    let count: usize = pieces.iter().map(|piece| piece.commands.len()).sum();
    let took = begun.elapsed().as_secs_f64();
    println!("# scene {}: {count} commands typed in {took:.0} s, {failed} failed", scene.name());
    Ok(failed == 0)
}

/// What the script of a scene prints, in a mount namespace of its own: what it mounts over root's folders, nobody else sees. A scene
/// that prints nothing for too long is ended.
fn scene_output(script: &str, program: &Path) -> Result<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "bash", "-c", script]).env("SCRUBJAY", program);
    let mut scene =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().context("cannot run unshare")?;
    let mut output = scene.stdout.take().context("no pipe")?;
    let (sender, pieces) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = output.read(&mut buffer)
            && sender.send(buffer[..count].to_vec()).is_ok()
        {}
    });
    let mut printed = Vec::new();
    let group = Pid::from_child(&scene);
    loop {
        match pieces.recv_timeout(SILENCE_MAX) {
            Ok(piece) => printed.extend(piece),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                println!("FAILED nothing was printed for {} s: the scene is ended", SILENCE_MAX.as_secs());
                let _ = kill_process_group(group, Signal::TERM);
                thread::sleep(Duration::from_secs(2));
                let _ = kill_process_group(group, Signal::KILL);
                break;
            }
        }
    }
    scene.wait().context("cannot await unshare")?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

/// What is wrong with what a command did.
fn fault(piece: &Piece, command: &TypedCommand, answer: &Answer) -> Option<String> {
    match answer.status {
        None => return Some("it never ended".to_owned()),
        Some(status) if !piece.statuses.contains(&status) => return Some(format!("exit status {status}")),
        Some(_) => {}
    }
    judge::missing(&command.shown, &answer.printed)
        .map(|line| format!("the document shows, and nothing printed: {line}"))
}
