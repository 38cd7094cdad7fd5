//! Kinds that have one word each, in documents, in stored rows and for people: the table of these words.

/// A kind with a word for each of its values. Words never change: files of earlier versions and programs of other people have them.
pub trait Worded: Copy + 'static {
    /// All values, in their order.
    const VALUES: &'static [Self];

    /// Its word.
    fn as_word(self) -> &'static str;

    /// The value that has this word.
    fn of_word(word: &str) -> Option<Self> {
        Self::VALUES.iter().copied().find(|value| value.as_word() == word)
    }
}

/// Gives an enumeration its words: [`Worded`], `ALL`, `word` and `of_word`, and serde's form: its word. A value without a word does not compile.
#[macro_export]
macro_rules! worded {
    ($kind:ident { $($variant:ident = $word:literal,)+ }) => {
        impl $kind {
            /// All of them, in their order.
            pub const ALL: [$kind; [$($word),+].len()] = [$($kind::$variant),+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self {
                    $($kind::$variant => $word,)+
                }
            }

            /// The one that has this word.
            pub fn of_word(word: &str) -> Option<$kind> {
                <$kind as $crate::worded::Worded>::of_word(word)
            }
        }

        impl $crate::worded::Worded for $kind {
            const VALUES: &'static [$kind] = &$kind::ALL;

            fn as_word(self) -> &'static str {
                self.word()
            }
        }

        $crate::worded::worded_serde!($kind);
    };
}

#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! worded_serde {
    ($kind:ident) => {};
}

#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;

#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! worded_serde {
    ($kind:ident) => {
        impl $crate::worded::serde::Serialize for $kind {
            fn serialize<S: $crate::worded::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> $crate::worded::serde::Deserialize<'de> for $kind {
            fn deserialize<D: $crate::worded::serde::Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                use $crate::worded::serde::de::Error;
                let word = <String as $crate::worded::serde::Deserialize>::deserialize(deserializer)?;
                $kind::of_word(&word).ok_or_else(|| D::Error::custom(format!("\"{word}\" is no {}", stringify!($kind))))
            }
        }
    };
}

#[doc(hidden)]
pub use worded_serde;
