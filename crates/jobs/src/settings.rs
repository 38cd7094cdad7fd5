//! Settings of a scrub: those of a file or a command line, and the options of a session that they give.

use crate::parameter::{self, PolicyChoice};
use crate::serde_words::Word;
use scrubjay_core::named::named;
use scrubjay_core::quantity;
use scrubjay_core::scrub::idle::{Goal, Parameter, ParameterValue, PolicyConfig, PolicyKind, PolicyParameters};
use scrubjay_core::scrub::tour::{OrderKind, REGION_BYTES, SEGMENT_BYTES};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_device::session::SessionOptions;
use scrubjay_device::store;
use scrubjay_device::subject::Subject;
use scrubjay_device::{detector, verify};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// How disks are scrubbed, as in the `[scrub]` table of a file. What is not given has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to send scrub requests.
    pub policy: Option<&'static PolicyKind>,
    /// The parameters of the policy that are given, each at most once.
    pub parameters: Vec<(Parameter, ParameterValue)>,
    /// Order in which to read.
    pub order: Option<OrderKind>,
    /// Region size: what is read at once around an error.
    pub region: Option<Bytes>,
    /// Segment size: the piece of each region that is read in one round.
    pub segment: Option<Bytes>,
    /// How to verify.
    pub verify: Option<verify::VerifierKind>,
    /// Folder for progress and learnt state; for root, one that only root may write to.
    pub state: Option<PathBuf>,
    /// How to see foreground requests.
    pub detector: Option<detector::DetectorKind>,
}

impl Settings {
    /// These settings, with those of `fallback` where these leave something open.
    pub fn or(self, fallback: Settings) -> Settings {
        let is_not_given =
            |(parameter, _): &(Parameter, _)| self.parameters.iter().all(|(given, _)| given != parameter);
        let added: Vec<_> = fallback.parameters.into_iter().filter(is_not_given).collect();
        Settings {
            policy: self.policy.or(fallback.policy),
            parameters: self.parameters.into_iter().chain(added).collect(),
            order: self.order.or(fallback.order),
            region: self.region.or(fallback.region),
            segment: self.segment.or(fallback.segment),
            verify: self.verify.or(fallback.verify),
            state: self.state.or(fallback.state),
            detector: self.detector.or(fallback.detector),
        }
    }

    /// The policy with its parameters; `block`: the smallest size that can be verified at once.
    pub fn policy(&self, block: Bytes) -> PolicyConfig {
        let kind = self.kind();
        let given = PolicyParameters::with(&self.parameters);
        // A volume's chunk may be larger than the policy's default.
        let request = given.request.or(Some(kind.request_size.max(block)));
        PolicyConfig::new(kind, PolicyParameters { request, ..given })
    }

    /// The policy's kind: the one that is set, or the budget.
    pub fn kind(&self) -> &'static PolicyKind {
        self.policy.unwrap_or_else(|| PolicyConfig::budget(Goal::default()).kind())
    }

    /// The folder for progress and learnt state.
    pub fn state_folder(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(store::default_folder)
    }

    /// The options of a session that scrubs one subject with these settings.
    pub fn options(&self, subject: &dyn Subject, run: &RunOptions) -> SessionOptions {
        let whole = subject.sectors() * SECTOR_BYTES;
        let range = run.range.as_ref().map(|Range { start, end }| start.unwrap_or(0)..end.unwrap_or(whole));
        SessionOptions {
            policy: self.policy(subject.block()),
            order: self.order.unwrap_or_else(|| subject.order()),
            region: self.region.unwrap_or(REGION_BYTES),
            segment: self.segment.unwrap_or(SEGMENT_BYTES),
            verify: self.verify.unwrap_or_default(),
            range,
            state_folder: self.state_folder(),
            fresh: run.fresh,
            detector: self.detector,
            record: run.record.clone(),
        }
    }
}

/// Options of one run only.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Only these bytes of each target, the end not included.
    pub range: Option<Range<Option<u64>>>,
    /// Begin a new pass, and forget the learnt state.
    pub fresh: bool,
    /// Write a recording of the run to this file.
    pub record: Option<PathBuf>,
}

/// Keys of the table that set no parameter of a policy.
const KEYS: [&str; 7] = ["policy", "order", "region", "segment", "verify", "state", "detector"];

/// What a key of the table sets.
enum Key {
    Parameter(Parameter),
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Key, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        let choice = PolicyChoice::offered();
        if let Some(parameter) = choice.parameters().find(|parameter| parameter.name() == name) {
            return Ok(Key::Parameter(parameter));
        }
        KEYS.into_iter().find(|key| *key == name).map(Key::Other).ok_or_else(|| {
            let known: Vec<String> =
                choice.parameters().map(Parameter::name).chain(KEYS).map(|key| format!("`{key}`")).collect();
            D::Error::custom(format!("unknown field `{name}`, expected one of {}", known.join(", ")))
        })
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Settings, D::Error> {
        struct SettingsTable;

        impl<'de> Visitor<'de> for SettingsTable {
            type Value = Settings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of settings")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Settings, M::Error> {
                let mut settings = Settings::default();
                while let Some(key) = map.next_key::<Key>()? {
                    match key {
                        Key::Parameter(parameter) => {
                            let value = map.next_value_seed(Word(|text: &str| parameter::parse(parameter, text)))?;
                            settings.parameters.push((parameter, value));
                        }
                        Key::Other("policy") => settings.policy = Some(map.next_value_seed(Word(named))?),
                        Key::Other("order") => settings.order = Some(map.next_value_seed(Word(named))?),
                        Key::Other("region") => settings.region = Some(map.next_value_seed(Word(quantity::bytes))?),
                        Key::Other("segment") => settings.segment = Some(map.next_value_seed(Word(quantity::bytes))?),
                        Key::Other("verify") => settings.verify = Some(map.next_value_seed(Word(named))?),
                        Key::Other("detector") => settings.detector = Some(map.next_value_seed(Word(named))?),
                        Key::Other("state") => settings.state = Some(map.next_value()?),
                        Key::Other(key) => unreachable!("{key} is no key of the table"),
                    }
                }
                Ok(settings)
            }
        }

        from.deserialize_map(SettingsTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Nanos;

    #[test]
    fn a_setting_that_is_given_first_wins() {
        let wait = |wait| (Parameter::Wait, ParameterValue::Time(wait));
        let request = (Parameter::Request, ParameterValue::Size(Bytes(1024)));
        let (first, later) = (wait(Nanos::from_millis(2)), wait(Nanos(1)));
        let given = Settings { parameters: vec![first], order: Some(OrderKind::OLDEST), ..Settings::default() };
        let file = Settings { parameters: vec![later, request], region: Some(Bytes(2)), ..Settings::default() };
        let both = given.or(file);
        assert_eq!(both.parameters, [first, request]);
        assert_eq!((both.order, both.region, both.segment), (Some(OrderKind::OLDEST), Some(Bytes(2)), None));
    }
}
