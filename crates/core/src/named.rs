//! Rows of the libraries' tables, chosen by name: each with a line that describes it.

/// One row of a table.
pub trait NamedRow: Copy + Send + Sync + 'static {
    /// The rows that can be chosen, in the order of the help; a table may have more.
    fn choices() -> Vec<Self>;

    /// The row's name.
    fn name(self) -> &'static str;

    /// The row's line of help.
    fn about(self) -> &'static str;
}

/// Finds the row of this name.
///
/// # Errors
/// No row has this name; the text lists the names in one line.
pub fn named<T: NamedRow>(name: &str) -> Result<T, String> {
    T::choices().into_iter().find(|row| row.name() == name).ok_or_else(|| {
        let known: Vec<&str> = T::choices().into_iter().map(T::name).collect();
        format!("`{name}` is not one of {}", known.join(", "))
    })
}

/// Implements [`NamedRow`] by the type's own `name` and `about`.
#[macro_export]
macro_rules! named_row {
    ($type:ty, $all:expr) => {
        impl $crate::named::NamedRow for $type {
            fn choices() -> Vec<$type> {
                $all
            }

            fn name(self) -> &'static str {
                <$type>::name(self)
            }

            fn about(self) -> &'static str {
                <$type>::about(self)
            }
        }
    };
}
