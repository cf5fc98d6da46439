//! The rows that were appended here, not read from the file: what a file that takes the place of ours must not lack.

use crate::core::tree::tree::RowNo;

/// A set of rows, as runs: the first of each and the one behind its last.
#[derive(Debug, Default)]
pub(super) struct AppendedRows(Vec<(RowNo, RowNo)>);

impl AppendedRows {
    /// Adds a row behind all others.
    pub fn push(&mut self, row: RowNo) {
        match self.0.last_mut().filter(|(_, end)| *end == row) {
            Some((_, end)) => *end += 1,
            None => self.0.push((row, row + 1)),
        }
    }

    pub fn contains(&self, row: RowNo) -> bool {
        let behind = self.0.partition_point(|&(first, _)| first <= row);
        behind.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|&(_, end)| row < end)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = RowNo> + '_ {
        self.0.iter().flat_map(|&(first, end)| first..end)
    }
}

/// From rows in ascending order.
impl FromIterator<RowNo> for AppendedRows {
    fn from_iter<I: IntoIterator<Item = RowNo>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|row| all.push(row));
        all
    }
}
