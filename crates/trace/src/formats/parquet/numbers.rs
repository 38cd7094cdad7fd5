//! Reads a column of numbers.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::Int64Type;
use parquet::errors::{ParquetError, Result};

/// Stands for a missing number.
pub(super) const NULL: i64 = i64::MIN;

/// One column of one row group.
pub(super) struct Numbers {
    column: ColumnReaderImpl<Int64Type>,
    levels: Vec<i16>,
}

impl Numbers {
    /// The numbers in `column`; `None`: it has another type.
    pub(super) fn new(column: ColumnReader) -> Option<Numbers> {
        match column {
            ColumnReader::Int64ColumnReader(column) => Some(Numbers { column, levels: Vec::new() }),
            _ => None,
        }
    }

    /// Replaces the contents of `out` by the next `rows` rows, with [`NULL`] where there is no number.
    pub(super) fn read(&mut self, rows: usize, out: &mut Vec<i64>) -> Result<()> {
        out.clear();
        self.levels.clear();
        let (read, values, _) = self.column.read_records(rows, Some(&mut self.levels), None, out)?;
        if read < rows {
            return Err(ParquetError::EOF("numbers end early".to_owned()));
        }
        if values < rows {
            self.spread(values, out);
        }
        Ok(())
    }

    /// Moves the values to the rows that have one, by their definition levels.
    fn spread(&self, values: usize, out: &mut Vec<i64>) {
        let mut value = values;
        out.resize(self.levels.len(), NULL);
        for row in (0..self.levels.len()).rev() {
            out[row] = if self.levels[row] == 1 {
                value -= 1;
                out[value]
            } else {
                NULL
            };
        }
    }
}
