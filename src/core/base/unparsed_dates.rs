//! Dates that only JavaScript's parser can read.

use std::collections::HashSet;

use super::memory::{self, copy_of, insert_into, push_str};

/// JSON texts of dates, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnparsedDates(HashSet<String>);

impl UnparsedDates {
    /// Adds a date.
    pub fn add(&mut self, json: &str) -> memory::Result<()> {
        if !self.0.contains(json) {
            insert_into(&mut self.0, copy_of(json)?)?;
        }
        Ok(())
    }

    /// The dates that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The dates, one on each line. JSON text of one line holds no newline.
    pub fn to_lines(&self) -> memory::Result<String> {
        let mut lines = String::new();
        for date in self.iter() {
            let lead = if lines.is_empty() { "" } else { "\n" };
            push_str(&mut lines, lead)?;
            push_str(&mut lines, date)?;
        }
        Ok(lines)
    }

    /// Reads what [`UnparsedDates::to_lines`] wrote.
    pub fn from_lines(lines: &str) -> memory::Result<Self> {
        let mut dates = Self::default();
        lines.lines().try_for_each(|date| dates.add(date))?;
        Ok(dates)
    }

    /// A copy.
    pub(crate) fn try_clone(&self) -> memory::Result<Self> {
        let mut dates = Self::default();
        self.iter().try_for_each(|date| dates.add(date))?;
        Ok(dates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: every message with an odd time was kept in memory and in the catalog.
    #[test]
    fn of_odd_times_each_different_one_is_kept_once() {
        let mut all = UnparsedDates::default();
        for _ in 0..100_000 {
            all.add("\"Wed Jan 01 2025 00:00:00 GMT+0000\"").expect("memory");
            all.add("\"Jan 5 2031\"").expect("memory");
        }
        let mut kept = Vec::from_iter(all.iter());
        kept.sort_unstable();
        assert_eq!(kept, ["\"Jan 5 2031\"", "\"Wed Jan 01 2025 00:00:00 GMT+0000\""]);
        assert_eq!(UnparsedDates::from_lines(&all.to_lines().expect("memory")).expect("memory"), all);
    }
}
