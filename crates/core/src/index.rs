//! Numbers of things in an array: a member is not a stripe, a row is not a position. Each counts from 0.
//!
//! Only the arithmetic that makes sense exists. They are written as plain numbers, in messages and in tests that failed.

use std::fmt;

/// A number with a meaning: what it counts, its kind of integer.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl $name {
            /// The number.
            pub const fn get(self) -> $number {
                self.0
            }

            /// The first `count` of them, ascending.
            pub fn first(count: $number) -> impl DoubleEndedIterator<Item = $name> + Clone {
                (0..count).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

index! {
    /// The place of a member in its array: 0 to disks - 1.
    MemberIndex(usize)
}

index! {
    /// A row of a member, from 0: a chunk and its appendix.
    RowIndex(u64)
}

/// Vectors of these have one element for each of the things that an index counts, and no other index fits them.
macro_rules! indexed {
    ($index:ty: $($element:ty),+ $(,)?) => {
        $(
            impl std::ops::Index<$index> for Vec<$element> {
                type Output = $element;
                fn index(&self, at: $index) -> &$element {
                    &self.as_slice()[at.get()]
                }
            }

            impl std::ops::IndexMut<$index> for Vec<$element> {
                fn index_mut(&mut self, at: $index) -> &mut $element {
                    &mut self.as_mut_slice()[at.get()]
                }
            }
        )+
    };
}
pub(crate) use indexed;
