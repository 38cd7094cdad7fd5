//! `scrubjay set`: changes one setting of the watch in its file, and leaves the rest as it is.

use super::ask;
use super::settings_file::{self, SettingsFile};
use crate::args::SetArgs;
use crate::columns;
use crate::exit::{Exit, Usage};
use crate::say::print_prose;
use anyhow::Result;
use scrubjay_control::{WatchAnswer, WatchRequest};
use scrubjay_daemon::channels::{AlertChannels, ChannelFault};
use scrubjay_daemon::config::WatchConfig;
use std::io;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// The hint for a key that is not valid without another one.
const SEVERAL_KEYS_HINT: &str =
    r#"; several at once: scrubjay set alert.email '{ to = ["me@example.org"], server = "smtp.example.org" }'"#;

/// Changes the setting, and has the watch read it.
pub fn run(args: &SetArgs) -> Result<Exit> {
    let file = SettingsFile::read(args.config.as_deref())?;
    let after =
        changed(&file.text, &args.key, &args.value).map_err(|error| Usage(format!("{error}: nothing was written")))?;
    let fault = fault_of(&after)?;
    // An error that was in the file before is not this key's fault.
    if let Some(fault) = fault.filter(|fault| fault_of(&file.text).ok().flatten().as_ref() != Some(fault)) {
        let is_incomplete_channel = args.key.starts_with("alert.") && fault.key() != args.key;
        let hint = if is_incomplete_channel { SEVERAL_KEYS_HINT } else { "" };
        return Err(Usage(format!("{fault}: nothing was written{hint}")).into());
    }
    file.replace(&after)?;
    let path = file.path.display();
    let print = |words: String| print_prose(&mut io::stdout().lock(), "", &words, columns::width());
    match ask(&WatchRequest::Reload) {
        Ok(WatchAnswer::Done { said }) if said.ends_with(&path.to_string()) => print(said)?,
        Ok(WatchAnswer::Done { .. }) => {
            let read = settings_file::path_in_use()?;
            print(format!("written to {path}; the watch that runs reads another file, {}", read.display()))?;
            return Ok(Exit::Found);
        }
        Err(error) if error.is::<Usage>() => {
            print(format!("written to {path}, but the watch that runs refuses it: {error}"))?;
            return Ok(Exit::Failed);
        }
        Ok(_) | Err(_) => print(format!("written to {path}; the watch reads it when it is next started"))?,
    }
    Ok(Exit::Clean)
}

/// What is wrong with the channels of these settings.
fn fault_of(text: &str) -> Result<Option<ChannelFault>> {
    let config = WatchConfig::parse(text).map_err(|error| Usage(format!("{error}: nothing was written")))?;
    Ok(AlertChannels::from_settings(&config.alert).err())
}

/// The text with one key changed; the result is valid.
fn changed(text: &str, key: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut names: Vec<&str> = key.split('.').collect();
    let last = names.pop().filter(|last| !last.is_empty()).ok_or("a key is needed, such as scrub.every")?;
    // A TOML value is used as it is; anything else is a string, or where a list is needed, a list of that string.
    let new: Value = value.parse().unwrap_or_else(|_| Value::from(value));
    let list: Array = Some(value).filter(|value| !value.is_empty()).into_iter().collect();
    let list = (!new.is_array()).then(|| Value::from(list));
    let (mut refusal, mut had_list) = (String::new(), false);
    for mut new in [Some(new), list].into_iter().flatten() {
        let table = table_of(&mut document, &names)?;
        let is_list = |item: &Item| item.as_array().is_some_and(|array| !array.is_empty());
        if !refusal.is_empty() && !value.is_empty() && had_list {
            return Err(format!("{key} is a list, and more is in it: give all of it, as '[\"a\", \"b\"]'"));
        }
        had_list = table.get(last).is_some_and(is_list);
        match table.get_mut(last) {
            // Replaced in its place: comments before the key belong to the key, those behind it to the value.
            Some(item) => {
                if let Some(old) = item.as_value() {
                    *new.decor_mut() = old.decor().clone();
                }
                *item = Item::Value(new);
            }
            None => drop(table.insert(last, Item::Value(new))),
        }
        let after = document.to_string();
        match WatchConfig::parse(&after) {
            Ok(_) => return Ok(after),
            // The line number `:LINE: ` is of a text that is not written.
            Err(error) if refusal.is_empty() => {
                refusal = error.trim_start_matches(|c: char| c == ':' || c == ' ' || c.is_ascii_digit()).to_owned();
            }
            Err(_) => {}
        }
    }
    Err(if refusal.contains(key) { refusal } else { format!("{key}: {refusal}") })
}

/// The table of a key, which is made if it is missing.
fn table_of<'d>(document: &'d mut DocumentMut, names: &[&str]) -> Result<&'d mut Table, String> {
    let mut table: &mut Table = document.as_table_mut();
    for name in names {
        let entry = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
        if let Some(inline) = entry.as_inline_table() {
            *entry = Item::Table(inline.clone().into_table());
        }
        table = entry.as_table_mut().ok_or_else(|| format!("{name} is no table in this file: edit it by hand"))?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_changes_and_all_else_stays() {
        let text = "# mine\nhost = \"nas1\" # the old one\n\n[scrub]\n# slowly\nevery = \"35d\"   # a month\n";
        let after = changed(text, "scrub.every", "60d").unwrap();
        assert_eq!(after, text.replace("\"35d\"", "\"60d\""));
        let after = changed(&after, "never", "[\"ZL2ABCDE\"]").unwrap();
        assert_eq!(WatchConfig::parse(&after).unwrap().never, ["ZL2ABCDE"]);
        assert!(
            after.contains("# slowly") && after.contains("# a month") && after.contains("# the old one"),
            "{after}"
        );
        let after = changed("", "alert.webhook.url", "https://example.org/x").unwrap();
        assert!(WatchConfig::parse(&after).unwrap().alert.webhook.is_some(), "{after}");
        let after = changed("", "scrub.at-once", "3").unwrap();
        assert_eq!(WatchConfig::parse(&after).unwrap().scrub.at_once, 3);
        let after = changed("", "alert.email.to", "you@example.org").unwrap();
        assert!(after.contains("to = [\"you@example.org\"]"), "{after}");
        assert!(changed(&after, "alert.email.to", "me@example.org").unwrap_err().contains("give all of it"));
        assert_eq!(WatchConfig::parse(&changed("never = [\"a\"]", "never", "").unwrap()).unwrap().never, [""; 0]);
        let after = changed("", "alert.email", r#"{ to = ["me@example.org"], server = "a" }"#).unwrap();
        let after = changed(&after, "alert.email.tls", "tls").unwrap();
        assert!(after.contains("tls = \"tls\"") && WatchConfig::parse(&after).is_ok(), "{after}");
        assert_eq!(changed("", "host", "007 is no number").unwrap().trim(), "host = \"007 is no number\"");
    }

    #[test]
    fn invalid_keys_and_values_are_refused() {
        for (key, value, words) in [
            ("scrub.every", "1h", "less than a day"),
            ("scrub.speed", "7", "unknown field `speed`"),
            ("scrub.", "7", "a key is needed"),
            ("host.name", "a", "host is no table"),
        ] {
            let refused = changed("host = \"nas1\"\n", key, value).unwrap_err();
            assert!(refused.contains(words), "{refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}
