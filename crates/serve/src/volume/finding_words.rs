//! A volume's findings in their JSON form, which the control socket and `--json` have.

use scrubjay_core::finding::{Finding, FindingKind, FoundChunk, FoundContent, FoundOn, Resolution};
use scrubjay_core::index::{MemberIndex, StripeIndex};
use scrubjay_core::units::{Bytes, MemberOffset, SectorRange, UnixSeconds};
use scrubjay_core::volume::finding::{FindingPlace, VolumeFinding};
use scrubjay_core::volume::format::geometry::Geometry;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A finding in its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingWords {
    /// The member index.
    member: usize,
    /// Path of the member's disk, if it has one.
    path: Option<String>,
    /// Offset on the member, in bytes.
    offset: u64,
    /// Index of the stripe; null: a block of metadata.
    stripe: Option<u64>,
    /// The chunk of the stripe (`D2`, `P0`), or the block of metadata (`superblock`, `intents 0`, `while-out 0`, `map 3`).
    chunk: String,
    /// The kind of corruption.
    kind: String,
    /// Of a misdirected write: where it belonged, as member index and offset in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    target: Option<(usize, u64)>,
    /// How it ended.
    end: String,
}

impl From<&Finding> for FindingWords {
    fn from(finding: &Finding) -> FindingWords {
        let target = match finding.kind {
            FindingKind::MisdirectedWrite { member, offset } => Some((member.get(), offset.get())),
            _ => None,
        };
        let (stripe, chunk) = match &finding.content {
            FoundContent::Stripe { stripe, chunk } => (Some(*stripe), chunk.to_string()),
            FoundContent::Metadata(block) => (None, block.clone()),
            FoundContent::Unknown | FoundContent::Extent { .. } => (None, String::new()),
        };
        FindingWords {
            member: finding.member_number(),
            path: finding.member_name().map(str::to_owned),
            offset: finding.member_offset(),
            stripe,
            chunk,
            kind: finding.kind.name().to_owned(),
            target,
            end: finding.resolution.name().to_owned(),
        }
    }
}

impl TryFrom<FindingWords> for Finding {
    type Error = String;

    fn try_from(words: FindingWords) -> Result<Finding, String> {
        let FindingWords { member, path, offset, stripe, chunk, kind, target, end } = words;
        let unknown = |word: &str| format!("`{word}` is not known here: is the server of another version?");
        let kind = match (FindingKind::named(&kind), target) {
            (Some(FindingKind::MisdirectedWrite { .. }), target) => {
                let (member, offset) = target.unwrap_or_default();
                FindingKind::MisdirectedWrite { member: MemberIndex(member), offset: MemberOffset(offset) }
            }
            (Some(kind), _) => kind,
            (None, _) => return Err(unknown(&kind)),
        };
        let content = match stripe {
            Some(stripe) => {
                FoundContent::Stripe { stripe, chunk: FoundChunk::named(&chunk).ok_or_else(|| unknown(&chunk))? }
            }
            None => FoundContent::Metadata(chunk),
        };
        Ok(Finding {
            place: SectorRange::at(0, 0),
            kind,
            resolution: Resolution::named(&end).ok_or_else(|| unknown(&end))?,
            member: Some(FoundOn { number: Some(member as u64), name: path, offset: Some(offset), bytes: Bytes(0) }),
            content,
            since: UnixSeconds(0),
        })
    }
}

/// Writes a finding in its JSON form.
pub(super) fn serialize<S: Serializer>(finding: &Finding, serializer: S) -> Result<S::Ok, S::Error> {
    FindingWords::from(finding).serialize(serializer)
}

/// Reads a finding; its place in the volume's addresses is not in it.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Finding, D::Error> {
    FindingWords::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
}

/// A volume's record as a finding. `path`: that of the member's disk.
pub fn finding_of(record: &VolumeFinding, path: Option<&str>, geometry: &Geometry) -> Finding {
    let (data, chunk_sectors) = (geometry.layout.shape().data, Bytes(geometry.chunk_bytes).sectors());
    let stripe = record.place.stripe().map(StripeIndex::get);
    let content = match record.place {
        FindingPlace::Row { stripe, position } => {
            let chunk = match position.get() {
                number if number < data => FoundChunk::Data(number),
                number => FoundChunk::Parity(number - data),
            };
            FoundContent::Stripe { stripe: stripe.get(), chunk }
        }
        FindingPlace::Superblock => FoundContent::Metadata("superblock".to_owned()),
        FindingPlace::Page { area, page } => FoundContent::Metadata(format!("{} {page}", area.name())),
    };
    Finding {
        place: stripe.map_or(SectorRange::at(0, 0), |stripe| SectorRange::at(stripe * chunk_sectors, chunk_sectors)),
        kind: record.kind,
        resolution: record.resolution,
        member: Some(FoundOn {
            number: Some(record.member.get() as u64),
            name: path.map(str::to_owned),
            offset: Some(record.offset.get()),
            bytes: Bytes(0),
        }),
        content,
        since: UnixSeconds(0),
    }
}
