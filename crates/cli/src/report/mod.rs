//! `scrubjay report`: one bundle for a bug report or a first success, without what is personal. It is shown, and never sent.

mod host;
mod programs;

use crate::args::ReportArgs;
use crate::exit::{Exit, Usage};
use crate::say::{say, shown_path};
use crate::unwritable::unwritable;
use crate::verbs::state_folder;
use anyhow::{Context, Result};
use scrubjay_device::output::{Existing, OutputFile};
use scrubjay_jobs::report::pseudonym::new_key;
use scrubjay_jobs::report::{BYTES_MAX, Pseudonyms, bundle};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

/// The file of the key, in the folder of the watch.
const KEY_FILE: &str = "report.key";

/// Bytes of a file that is taken along, at most.
const WITH_MAX: u64 = 2 << 20;

/// Collects, replaces, shows, and writes if that is wanted.
pub fn run(args: &ReportArgs) -> Result<Exit> {
    let is_asked = args.out.is_some() && !args.yes;
    // Answers may come from a program, but there must be some.
    if is_asked && !io::stdin().is_terminal() && io::stdin().lock().fill_buf()?.is_empty() {
        return Err(Usage("there is nobody to ask here: --yes writes without a question".to_owned()).into());
    }
    let existing = if args.force { Existing::Replaced } else { Existing::Kept };
    let file = args.out.as_deref().map(|path| OutputFile::create(path, existing)).transpose();
    let file = file.map_err(unwritable)?;
    let taken = args.with.iter().map(|path| taken_along(path)).collect::<Result<Vec<_>>>()?;

    let mut names = Pseudonyms::new(key(&state_folder(args.state.as_ref()))?);
    host::note_names(&mut names);
    let mut parts = vec![("machine".to_owned(), host::machine()), ("controllers".to_owned(), host::controllers())];
    parts.push(("blocks".to_owned(), host::blocks()));
    let (ours, missing) = programs::ask(args.state.as_deref(), &mut names);
    parts.extend(ours);
    parts.extend(taken.into_iter().map(|value| ("with".to_owned(), value)).enumerate().map(numbered));
    let (parts, left_out) = bundle(parts, &mut names, BYTES_MAX);

    let document = document(parts, &missing, &left_out);
    let text = serde_json::to_string_pretty(&document).context("the report as JSON")? + "\n";
    if !args.yes {
        io::stdout().lock().write_all(text.as_bytes())?;
    }
    say(format_args!(
        "{} KiB; pseudonyms stand for {} names, numbers, paths and addresses. Read it before you give it to anybody; nothing was sent.",
        text.len().div_ceil(1024),
        names.count(),
    ));
    for (what, why) in &missing {
        say(format_args!("Not in it: {what}: {why}"));
    }
    for what in &left_out {
        say(format_args!("Not in it: {what}: a report has no more than {} MiB", BYTES_MAX >> 20));
    }
    if let (Some(mut file), Some(path)) = (file, &args.out) {
        if is_asked && !is_wanted(path)? {
            say(format_args!("Not written."));
            return Ok(Exit::Clean);
        }
        file.write_all(text.as_bytes())?;
        file.commit().map_err(unwritable)?;
        say(format_args!("Written: {}", shown_path(path)));
    }
    Ok(if missing.is_empty() && left_out.is_empty() { Exit::Clean } else { Exit::Found })
}

/// The report, with what it is first.
fn document(parts: Map<String, Value>, missing: &[(String, String)], left_out: &[String]) -> Value {
    let names: Vec<&str> =
        missing.iter().map(|(what, _)| what.as_str()).chain(left_out.iter().map(String::as_str)).collect();
    let mut document = Map::new();
    document.insert("schema".to_owned(), json!(1));
    document.insert("version".to_owned(), json!(scrubjay_control::version::version()));
    document.insert("missing".to_owned(), json!(names));
    document.extend(parts);
    Value::Object(document)
}

/// The files that are taken along get numbers: a name of a part may stand once.
fn numbered((index, (name, value)): (usize, (String, Value))) -> (String, Value) {
    (format!("{name} {}", index + 1), value)
}

/// A JSON file that somebody wants in the report.
fn taken_along(path: &Path) -> Result<Value> {
    let fault = |why: String| Usage(format!("--with {}: {why}", shown_path(path)));
    let about = fs::metadata(path).map_err(|error| fault(error.to_string()))?;
    if about.len() > WITH_MAX {
        return Err(fault(format!("{} bytes; {WITH_MAX} fit into a report", about.len())).into());
    }
    let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    Ok(serde_json::from_str(&text).map_err(|error| fault(format!("it is no JSON: {error}")))?)
}

/// The machine's key: kept in the folder of the watch; where that cannot be, one for this report alone.
fn key(folder: &Path) -> Result<[u8; 32]> {
    let path = folder.join(KEY_FILE);
    let kept = fs::read(&path).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let new = || -> Result<[u8; 32]> {
        let key = new_key()?;
        let mut file = OutputFile::create_private(&path, Existing::Replaced)?;
        file.write_all(&key)?;
        file.commit()?;
        Ok(key)
    };
    if let Some(key) = kept.or_else(|| new().ok()) {
        return Ok(key);
    }
    say(format_args!("{}: cannot be kept here: pseudonyms will be others in the next report", shown_path(&path)));
    Ok(new_key()?)
}

/// Asks whether it is to be written.
fn is_wanted(path: &Path) -> Result<bool> {
    let mut out = io::stderr().lock();
    write!(out, "Write it to {}? [y/N] ", shown_path(path))?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_kept_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = key(folder.path()).unwrap();
        assert_eq!(key(folder.path()).unwrap(), first);
        assert_ne!(first, [0; 32]);
        let mode = fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(key(&folder.path().join("absent")).unwrap(), first, "one for this report alone");
    }

    #[test]
    fn what_is_taken_along_is_json_and_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "{\"a\": 1}").unwrap();
        assert_eq!(taken_along(&path).unwrap(), json!({"a": 1}));
        fs::write(&path, "no").unwrap();
        assert!(taken_along(&path).unwrap_err().to_string().contains("it is no JSON"));
        fs::File::create(&path).unwrap().set_len(WITH_MAX + 1).unwrap();
        assert!(taken_along(&path).unwrap_err().to_string().contains("fit into a report"));
    }
}
