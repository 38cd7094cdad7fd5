//! The conditions of a volume and its members, one word each: the same at both ends of the control socket.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The condition of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeCondition {
    /// It is being opened: its maps are read.
    Opening,
    /// It serves, with all its members.
    Open,
    /// It serves; a member is failed or missing.
    Degraded,
    /// It serves; a member that is new or was away is being rebuilt.
    Rebuilding,
    /// It serves nothing any more: too many members failed.
    Broken,
}

impl VolumeCondition {
    /// Is its redundancy reduced, or is it broken?
    pub fn is_reduced(self) -> bool {
        matches!(self, VolumeCondition::Degraded | VolumeCondition::Rebuilding | VolumeCondition::Broken)
    }
}

impl fmt::Display for VolumeCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            VolumeCondition::Opening => "opening",
            VolumeCondition::Open => "open",
            VolumeCondition::Degraded => "degraded",
            VolumeCondition::Rebuilding => "rebuilding",
            VolumeCondition::Broken => "broken",
        })
    }
}

/// The condition of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberCondition {
    /// It is in use.
    Active,
    /// It is being rebuilt.
    Rebuilding,
    /// It is out of use: it did not answer, refused a write, or was taken out.
    Failed,
    /// It was absent when the volume was opened.
    Missing,
}

impl MemberCondition {
    /// The condition after "is": a member that an administrator has taken out has not failed.
    pub const fn predicate(self) -> &'static str {
        match self {
            MemberCondition::Active => "active",
            MemberCondition::Rebuilding => "rebuilding",
            MemberCondition::Failed => "out of use",
            MemberCondition::Missing => "missing",
        }
    }
}

impl fmt::Display for MemberCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemberCondition::Active => "active",
            MemberCondition::Rebuilding => "rebuilding",
            MemberCondition::Failed => "failed",
            MemberCondition::Missing => "missing",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_the_same_words_in_texts_and_in_json() {
        use VolumeCondition::*;
        for condition in [Opening, Open, Degraded, Rebuilding, Broken] {
            assert_eq!(serde_json::to_string(&condition).unwrap(), format!("\"{condition}\""));
        }
        for condition in
            [MemberCondition::Active, MemberCondition::Rebuilding, MemberCondition::Failed, MemberCondition::Missing]
        {
            assert_eq!(serde_json::to_string(&condition).unwrap(), format!("\"{condition}\""));
        }
    }
}
