//! A finding as a line of a file, and back; the findings of a pass as a file, and back.
//!
//! ```text
//! scrubjay findings 1
//! pass 1763720000                                  when the pass began, of which they are
//! found 4096+8 1763720100 unreadable:errno:5 left - -
//!       |      |          |                  |    | what lies there
//!       |      |          |                  |    member: number,offset,bytes,name; `-` where not known
//!       |      |          |                  how it ended
//!       |      |          what was wrong, and what is known of it
//!       |      since, Unix seconds
//!       start+count, 512-byte sectors of the subject
//! untold corrupt lost 5                            how many are not kept
//! checksum 1c291ca3                                CRC-32C of all lines above
//! ```
//!
//! Names are as they are, but for `%`, `,`, blanks and control characters, which are `%` and two hexadecimal digits for each byte.

use super::found::{Finding, FoundChunk, FoundContent, FoundOn};
use super::kind::{FindingKind, Judgement, Resolution};
use super::list::FoundList;
use crate::cause::Cause;
use crate::index::MemberIndex;
use crate::units::{Bytes, MemberOffset, SectorRange, UnixSeconds};
use scrubjay_code::crc32c;
use std::fmt::Write;

/// The first line: the format's version.
const MAGIC: &str = "scrubjay findings 1";
/// For what is not known.
const NONE: &str = "-";

/// Why a text is not one of findings: the line, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTextError {
    /// The line.
    pub line: usize,
}

impl std::fmt::Display for FoundTextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} is not understood, or damaged", self.line)
    }
}

impl std::error::Error for FoundTextError {}

impl FoundList {
    /// The list as the text of a file; `pass`: when the pass began, of which they are.
    pub fn to_text(&self, pass: UnixSeconds) -> String {
        let mut text = format!("{MAGIC}\npass {}\n", pass.0);
        for finding in self.all() {
            writeln!(text, "found {}", line(finding)).expect("room in memory");
        }
        for (kind, resolution, count) in self.untold_by_kind() {
            writeln!(text, "untold {kind} {resolution} {count}").expect("room in memory");
        }
        let sum = crc32c(text.as_bytes());
        writeln!(text, "checksum {sum:08x}").expect("room in memory");
        text
    }

    /// The list of a text, and when the pass began, of which it is.
    ///
    /// # Errors
    /// It is damaged, or of another version.
    pub fn of_text(text: &str) -> Result<(UnixSeconds, FoundList), FoundTextError> {
        let count = text.lines().count();
        let body_end = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let (body, last) = text.split_at(body_end);
        let sum = format!("checksum {:08x}", crc32c(body.as_bytes()));
        if last.trim_end() != sum {
            return Err(FoundTextError { line: count });
        }
        let mut list = FoundList::default();
        let mut begun = None;
        for (index, line) in body.lines().enumerate() {
            let is_read = match line.split_once(' ').unwrap_or((line, "")) {
                _ if index == 0 => line == MAGIC,
                ("pass", date) if index == 1 => {
                    begun = date.parse().ok().map(UnixSeconds);
                    begun.is_some()
                }
                ("found", rest) => finding_of(rest).map(|finding| list.add(finding)).is_some(),
                ("untold", rest) => untold_of(rest, &mut list).is_some(),
                _ => false,
            };
            if !is_read {
                return Err(FoundTextError { line: index + 1 });
            }
        }
        begun.map(|begun| (begun, list)).ok_or(FoundTextError { line: count })
    }
}

fn untold_of(rest: &str, list: &mut FoundList) -> Option<()> {
    let mut words = rest.split(' ');
    let (kind, resolution) = (FindingKind::named(words.next()?)?, Resolution::named(words.next()?)?);
    list.count_untold(kind, resolution, words.next()?.parse().ok()?);
    words.next().is_none().then_some(())
}

fn line(finding: &Finding) -> String {
    let Finding { place, kind, resolution, member, content, since } = finding;
    let kind = match kind {
        FindingKind::Unreadable(Some(cause)) => format!("{kind}:{}", cause.code()),
        FindingKind::MisdirectedWrite { member, offset } => format!("{kind}:{}@{}", member.get(), offset.get()),
        FindingKind::Mismatch(judgement) => format!("{kind}:{}", judgement.name()),
        kind => kind.name().to_owned(),
    };
    let number = |number: Option<u64>| number.map_or_else(|| NONE.to_owned(), |number| number.to_string());
    let member = member.as_ref().map_or_else(
        || NONE.to_owned(),
        |on| {
            let name = on.name.as_deref().map_or_else(|| NONE.to_owned(), escaped);
            format!("{},{},{},{name}", number(on.number), number(on.offset), on.bytes.0)
        },
    );
    let content = match content {
        FoundContent::Unknown => NONE.to_owned(),
        FoundContent::Stripe { stripe, chunk } => format!("stripe,{stripe},{chunk}"),
        FoundContent::Metadata(block) => format!("metadata,{}", escaped(block)),
        FoundContent::Extent { logical, files, files_untold } => {
            let files: String = files.iter().map(|file| format!(",{}", escaped(file))).collect();
            format!("extent,{},{files_untold}{files}", number(*logical))
        }
    };
    format!("{}+{} {} {kind} {resolution} {member} {content}", place.start.0, place.count(), since.0)
}

fn finding_of(line: &str) -> Option<Finding> {
    let words: Vec<&str> = line.split(' ').collect();
    let [place, since, kind, resolution, member, content] = words[..] else { return None };
    let (start, count) = place.split_once('+')?;
    let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
    start.checked_add(count)?;
    Some(Finding {
        place: SectorRange::at(start, count),
        kind: kind_of(kind)?,
        resolution: Resolution::named(resolution)?,
        member: if member == NONE { None } else { Some(member_of(member)?) },
        content: content_of(content)?,
        since: UnixSeconds(since.parse().ok()?),
    })
}

fn kind_of(word: &str) -> Option<FindingKind> {
    let (name, rest) = word.split_once(':').map_or((word, None), |(name, rest)| (name, Some(rest)));
    match (FindingKind::named(name)?, rest) {
        (FindingKind::Unreadable(_), Some(code)) => {
            Cause::of_code(code).map(|cause| FindingKind::Unreadable(Some(cause)))
        }
        (FindingKind::MisdirectedWrite { .. }, Some(target)) => {
            let (member, offset) = target.split_once('@')?;
            let (member, offset) = (MemberIndex(member.parse().ok()?), MemberOffset(offset.parse().ok()?));
            Some(FindingKind::MisdirectedWrite { member, offset })
        }
        (FindingKind::Mismatch(_), Some(name)) => {
            let judgement = Judgement::ALL.into_iter().find(|judgement| judgement.name() == name)?;
            Some(FindingKind::Mismatch(judgement))
        }
        (FindingKind::MisdirectedWrite { .. } | FindingKind::Mismatch(_), None) | (_, Some(_)) => None,
        (kind, None) => Some(kind),
    }
}

fn member_of(word: &str) -> Option<FoundOn> {
    let parts: Vec<&str> = word.split(',').collect();
    let [number, offset, bytes, name] = parts[..] else { return None };
    Some(FoundOn {
        number: number_of(number)?,
        offset: number_of(offset)?,
        bytes: Bytes(bytes.parse().ok()?),
        name: if name == NONE { None } else { Some(unescaped(name)?) },
    })
}

fn content_of(word: &str) -> Option<FoundContent> {
    let mut parts = word.split(',');
    Some(match parts.next()? {
        NONE => FoundContent::Unknown,
        "stripe" => {
            FoundContent::Stripe { stripe: parts.next()?.parse().ok()?, chunk: FoundChunk::named(parts.next()?)? }
        }
        "metadata" => FoundContent::Metadata(unescaped(parts.next()?)?),
        "extent" => FoundContent::Extent {
            logical: number_of(parts.next()?)?,
            files_untold: parts.next()?.parse().ok()?,
            files: parts.map(unescaped).collect::<Option<_>>()?,
        },
        _ => return None,
    })
}

/// A number, or none; the outer `None`: it is neither.
fn number_of(word: &str) -> Option<Option<u64>> {
    if word == NONE { Some(None) } else { word.parse().ok().map(Some) }
}

fn escaped(name: &str) -> String {
    let mut text = String::new();
    let is_alone = name == NONE || name.is_empty();
    for char in name.chars() {
        if is_alone || matches!(char, '%' | ',') || char.is_whitespace() || char.is_control() {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                write!(text, "%{byte:02x}").expect("room in memory");
            }
        } else {
            text.push(char);
        }
    }
    // An empty name is a lone `%`.
    if name.is_empty() { "%".to_owned() } else { text }
}

fn unescaped(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::new(), word.as_bytes());
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_finding() -> impl Strategy<Value = Finding> {
        let name = || prop::option::of("[ -~é\\n]{0,12}");
        let kinds = prop_oneof![
            (0..FindingKind::ALL.len()).prop_map(|at| FindingKind::ALL[at]),
            any::<i32>().prop_map(|errno| FindingKind::Unreadable(Some(Cause::Errno(errno)))),
            (0usize..9, any::<u64>()).prop_map(|(member, offset)| FindingKind::MisdirectedWrite {
                member: MemberIndex(member),
                offset: MemberOffset(offset)
            }),
            (0..Judgement::ALL.len()).prop_map(|at| FindingKind::Mismatch(Judgement::ALL[at])),
        ];
        let member =
            prop::option::of((prop::option::of(0u64..9), name(), prop::option::of(any::<u64>()), 0u64..1 << 40));
        let content = prop_oneof![
            Just(FoundContent::Unknown),
            (any::<u64>(), 0usize..9)
                .prop_map(|(stripe, n)| FoundContent::Stripe { stripe, chunk: FoundChunk::Data(n) }),
            (any::<u64>(), 0usize..9)
                .prop_map(|(stripe, n)| FoundContent::Stripe { stripe, chunk: FoundChunk::Parity(n) }),
            "[a-z 0-9]{0,9}".prop_map(FoundContent::Metadata),
            (prop::option::of(any::<u64>()), prop::collection::vec("[ -~,%é]{0,9}", 0..3), 0u64..5)
                .prop_map(|(logical, files, files_untold)| FoundContent::Extent { logical, files, files_untold }),
        ];
        let place = (0u64..1 << 40, 0u64..1 << 20);
        (place, kinds, 0..Resolution::ALL.len(), member, content, 0u64..1 << 33).prop_map(
            |((start, count), kind, end, member, content, since)| Finding {
                place: SectorRange::at(start, count),
                kind,
                resolution: Resolution::ALL[end],
                member: member.map(|(number, name, offset, bytes)| FoundOn {
                    number,
                    name,
                    offset,
                    bytes: Bytes(bytes),
                }),
                content,
                since: UnixSeconds(since),
            },
        )
    }

    proptest! {
        #[test]
        fn a_finding_is_read_as_it_was_written(finding in any_finding()) {
            prop_assert_eq!(finding_of(&line(&finding)), Some(finding));
        }

        #[test]
        fn nonsense_is_refused_and_does_not_panic(text in "(found|untold|pass)?[ -~\n]{0,80}") {
            let body = format!("{MAGIC}\npass 5\n{text}\n");
            let _ = FoundList::of_text(&format!("{body}checksum {:08x}\n", crc32c(body.as_bytes())));
            prop_assert!(FoundList::of_text(&text).is_err());
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_damage_is_noticed() {
        let mut list = FoundList::default();
        let finding = finding_of("70000+8 1763720100 unreadable:sense:3/11/0@77 left - -").unwrap();
        list.add(finding);
        list.add(finding_of("0+8 5 checksum lost 2,4096,4096,/dev/sd%20b extent,7,1,a%2cb,c").unwrap());
        list.count_untold(FindingKind::Corrupt, Resolution::Lost, 5);
        let text = list.to_text(UnixSeconds(9));
        assert_eq!(FoundList::of_text(&text), Ok((UnixSeconds(9), list)));
        assert_eq!(FoundList::of_text(&text.replace("lost 5", "lost 6")), Err(FoundTextError { line: 6 }));
        assert!(FoundList::of_text(&text[..text.len() - 30]).is_err() && FoundList::of_text("").is_err());
    }
}
