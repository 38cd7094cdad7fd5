//! Configuration files: TOML, a table `scrub` with the settings of a scrub.

use crate::JobError;
use crate::settings::Settings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;

/// All tables of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfigFile {
    scrub: Settings,
}

/// Reads the `[scrub]` table of a file.
///
/// # Errors
/// The file cannot be read or understood; the text has file, line and key.
pub fn read(path: &Path) -> Result<Settings, JobError> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| JobError::Input(format!("{name}: {error}")))?;
    parse(&text).map_err(|error| JobError::Input(format!("{name}{error}")))
}

/// Parses the `[scrub]` table of a text.
///
/// # Errors
/// `:LINE: KEY: WHAT`, in one line.
pub fn parse(text: &str) -> Result<Settings, String> {
    Ok(parse_as::<ConfigFile>(text)?.scrub)
}

/// Parses a text into a type of the caller's.
///
/// # Errors
/// `:LINE: KEY: WHAT`, in one line.
pub fn parse_as<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', "; ");
        let Some(span) = error.span() else { return format!(": {message}") };
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        match key_before(before) {
            Some(key) => format!(":{line}: {key}: {message}"),
            None => format!(":{line}: {message}"),
        }
    })
}

/// The key whose value begins where `text` ends, if one does.
fn key_before(text: &str) -> Option<&str> {
    let line = text.rsplit('\n').next()?.trim_end().strip_suffix('=')?.trim_end();
    line.rsplit([' ', '{', ',']).next().filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{self, PolicyChoice};
    use scrubjay_core::scrub::idle::{Goal, PolicyConfig, PolicyKind};
    use scrubjay_core::scrub::tour::OrderKind;
    use scrubjay_core::units::Bytes;

    #[test]
    fn keys_are_the_long_options() {
        // A value for each parameter: its default, or a time if it has none.
        let default_policy = PolicyConfig::budget(Goal::default());
        let value = |parameter| default_policy.parameters().get(parameter).map_or("9ms".to_owned(), parameter::write);
        let set: String = (PolicyChoice::offered().parameters())
            .map(|parameter| format!("{} = \"{}\"\n", parameter.name(), value(parameter)))
            .collect();
        let text = format!(
            "[scrub]\n{set}policy = 'waiting'\norder = \"oldest\"\nregion = 1048576\nsegment = \"1MiB\"\n\
             verify = \"ata\"\ndetector = \"stat\"\nstate = \"/tmp/x\"\n"
        );
        let settings = parse(&text).unwrap();
        let set =
            |parameter| settings.parameters.iter().find(|(given, _)| *given == parameter).map(|(_, value)| *value);
        for parameter in PolicyChoice::offered()
            .parameters()
            .filter(|parameter| default_policy.parameters().get(*parameter).is_some())
        {
            assert_eq!(set(parameter), default_policy.parameters().get(parameter));
        }
        assert_eq!(settings.parameters.len(), PolicyChoice::offered().parameters().count());
        assert_eq!((settings.policy, settings.order), (PolicyKind::named("waiting"), Some(OrderKind::OLDEST)));
        assert_eq!(settings.region, Some(Bytes::mib(1)));
        assert_eq!(settings.clone().or(Settings::default()), settings);
        assert!(!format!("{settings:?}").contains("None"), "{settings:?}");
        assert_eq!(parse("").unwrap(), Settings::default());
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, expected) in [
            ("[scrub]\n\nwait = \"5\"\n", ":3: wait: `5`: a time needs a unit"),
            ("[scrub]\nwait = 5", ":2: wait: `5`: a time needs a unit"),
            ("scrub = { order = \"oldest\", request = \"big\" }", ":1: request: `big` is no size"),
            ("[scrub]\npolicy = \"nice\"", ":2: policy: `nice` is not one of budget, waiting, "),
            ("[scrub]\nwait = 1.5", ":2: wait: `1.5`: a time needs a unit"),
            ("[scrub]\nslowdown = true", ":2: slowdown: invalid type: boolean `true`, expected a string such as"),
            ("[scrub]\nslow = \"1ms\"", ":2: unknown field `slow`, expected one of `slowdown`, `max-slowdown`"),
            ("[scrum]\nwait = \"1ms\"", ":1: unknown field `scrum`, expected `scrub`"),
            ("[scrub]\nwait = \"1ms\"\nwait = \"2ms\"", ":3: duplicate key"),
            ("[scrub\n", ":1: "),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(expected), "{found}");
            assert!(!found.contains('\n'), "{found}");
        }
    }
}
