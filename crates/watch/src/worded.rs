//! Kinds that have one word each, in documents, in stored rows and for people: the only table of these words.

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

/// Gives an enumeration its words: [`Worded`], `ALL`, `word` and `of_word`. A value without a word does not compile.
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
    };
}
