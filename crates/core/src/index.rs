//! Index types for the parts of an array: a member is not a stripe, a row is not a position. Each counts from 0.
//!
//! Only the arithmetic that makes sense exists. In messages and test failures they are written as plain numbers.

use std::fmt;

/// A number from 0 on that sets and bitmaps are indexed by.
pub trait Index: Copy {
    /// The index with this number.
    fn of(number: u64) -> Self;

    /// Its number.
    fn number(self) -> u64;
}

impl Index for u64 {
    fn of(number: u64) -> u64 {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

impl Index for usize {
    fn of(number: u64) -> usize {
        number as usize
    }

    fn number(self) -> u64 {
        self as u64
    }
}

/// Defines an index type: a number of the given integer type that counts one kind of thing.
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

            /// The first `count` indices, ascending.
            pub fn first(count: $number) -> impl DoubleEndedIterator<Item = $name> + Clone {
                (0..count).map($name)
            }

            /// Pairs the things with their indices, beginning at 0.
            pub fn numbered<T>(items: impl IntoIterator<Item = T>) -> impl Iterator<Item = ($name, T)> {
                items.into_iter().enumerate().map(|(index, item)| ($name(index as $number), item))
            }
        }

        impl Index for $name {
            fn of(number: u64) -> $name {
                $name(number as $number)
            }

            fn number(self) -> u64 {
                self.0 as u64
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
    /// The index of a member in its array: 0 to disks - 1.
    MemberIndex(usize)
}

/// Adds the arithmetic of consecutive things: steps from one to another, and runs.
macro_rules! run {
    ($name:ident($number:ty)) => {
        impl $name {
            /// The indices of a run, ascending.
            pub fn each(run: std::ops::Range<$name>) -> impl DoubleEndedIterator<Item = $name> + Clone {
                (run.start.0..run.end.0).map($name)
            }
        }

        impl std::ops::Add<$number> for $name {
            type Output = $name;
            fn add(self, steps: $number) -> $name {
                $name(self.0 + steps)
            }
        }

        /// The number of steps from the other one.
        impl std::ops::Sub for $name {
            type Output = $number;
            fn sub(self, other: $name) -> $number {
                self.0 - other.0
            }
        }
    };
}

index! {
    /// The position of a chunk in its stripe: data chunks first, then parities.
    StripePosition(usize)
}

index! {
    /// A row of a member, from 0: a chunk and its appendix.
    RowIndex(u64)
}

index! {
    /// A stripe of an array, from 0.
    StripeIndex(u64)
}
run!(StripeIndex(u64));

index! {
    /// A region of stripes for which one bit of the intents stands, from 0.
    RegionIndex(u64)
}
run!(RegionIndex(u64));

/// Vectors and slices of these have one element per value of an index, and no other index type fits them.
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

            impl std::ops::Index<$index> for [$element] {
                type Output = $element;
                fn index(&self, at: $index) -> &$element {
                    &self[at.get()]
                }
            }

            impl std::ops::IndexMut<$index> for [$element] {
                fn index_mut(&mut self, at: $index) -> &mut $element {
                    &mut self[at.get()]
                }
            }
        )+
    };
}
pub(crate) use indexed;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_numbers_count_from_where_they_begin() {
        let run: Vec<StripeIndex> = StripeIndex::each(StripeIndex(3)..StripeIndex(3) + 2).collect();
        assert_eq!(run, [StripeIndex(3), StripeIndex(4)]);
        assert_eq!(StripeIndex(7) - StripeIndex(3), 4);
        assert_eq!(MemberIndex::first(2).collect::<Vec<_>>(), [MemberIndex(0), MemberIndex(1)]);
        let numbered: Vec<(StripePosition, char)> = StripePosition::numbered("ab".chars()).collect();
        assert_eq!(numbered, [(StripePosition(0), 'a'), (StripePosition(1), 'b')]);
    }

    #[test]
    fn an_index_is_printed_as_its_number() {
        assert_eq!(format!("{:>3} {:?}", RowIndex(7), [RegionIndex(1)]), "  7 [1]");
    }
}
