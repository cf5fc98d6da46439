//! Dates that only JavaScript's parser can read. The newest of a session's dates counts, so that few have to be kept.

use std::collections::BTreeMap;

use chrono::NaiveDate;

/// JSON texts of dates. Dates of one ISO form and one zone are ordered as their texts are, so only the newest of each form
/// is kept. Any other text is kept once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnparsedDates(
    /// The newest date of each form, by the form's name; other texts stand as keys without a value.
    BTreeMap<String, Option<String>>,
);

impl UnparsedDates {
    /// Adds a date.
    pub fn add(&mut self, json: &str) {
        match form(json) {
            Some(form) => {
                let newest = self.0.entry(form).or_default();
                if newest.as_deref().is_none_or(|newest| newest < json) {
                    *newest = Some(json.to_owned());
                }
            }
            None if self.0.contains_key(json) => {}
            None => drop(self.0.insert(json.to_owned(), None)),
        }
    }

    /// The dates that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, newest)| newest.as_deref().unwrap_or(key))
    }

    /// The dates, one on each line. JSON text of one line holds no newline.
    pub fn to_lines(&self) -> String {
        self.iter().collect::<Vec<_>>().join("\n")
    }

    /// Reads what [`UnparsedDates::to_lines`] wrote.
    pub fn from_lines(lines: &str) -> Self {
        let mut times = Self::default();
        lines.lines().for_each(|line| times.add(line));
        times
    }
}

/// The name of the form if the text is `"YYYY-MM-DDTHH:mm:ss"` with an optional fraction and a zone, and the date exists.
fn form(json: &str) -> Option<String> {
    let text = json.strip_prefix('"')?.strip_suffix('"')?;
    let (moment, rest) = text.split_at_checked("YYYY-MM-DDTHH:mm:ss".len())?;
    let marks = |at: usize, mark: u8| moment.as_bytes().get(at) == Some(&mark);
    let is_iso = marks(4, b'-') && marks(7, b'-') && marks(10, b'T') && marks(13, b':') && marks(16, b':');
    let number = |from: usize, to: usize, most: u32| {
        let digits = moment.get(from..to).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
        digits.parse().ok().filter(|number| *number <= most)
    };
    let (year, month, day) = (number(0, 4, 9999)?, number(5, 7, 12)?, number(8, 10, 31)?);
    let _is_time = (number(11, 13, 23)?, number(14, 16, 59)?, number(17, 19, 59)?);
    // JavaScript may read a year of fewer digits as another one.
    NaiveDate::from_ymd_opt(year as i32, month, day).filter(|_| is_iso && year >= 1000)?;
    let zone =
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    let offset = zone.strip_prefix(['+', '-']).map(str::as_bytes);
    let is_zone = zone == "Z"
        || offset.is_some_and(
            |offset| matches!(offset, [a, b, b':', c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit())),
        );
    is_zone.then(|| format!("{} {zone}", rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(times: &[&str]) -> Vec<String> {
        let mut all = UnparsedDates::default();
        times.iter().for_each(|time| all.add(&format!("\"{time}\"")));
        assert_eq!(UnparsedDates::from_lines(&all.to_lines()), all);
        all.iter().map(|time| time.trim_matches('"').to_owned()).collect()
    }

    #[test]
    fn every_message_with_an_odd_time_was_kept_in_memory_and_in_the_catalog() {
        let mut all = UnparsedDates::default();
        for n in 0..100_000 {
            all.add("\"Wed Jan 01 2025 00:00:00 GMT+0000\"");
            all.add(&format!("\"2025-01-01T{:02}:{:02}:{:02}Z\"", n % 24, n / 24 % 60, n / 1440 % 60));
            all.add(&format!("\"2025-01-02T00:00:00.{n:06}+05:30\""));
        }
        let want = [
            "\"2025-01-01T23:59:59Z\"",
            "\"2025-01-02T00:00:00.099999+05:30\"",
            "\"Wed Jan 01 2025 00:00:00 GMT+0000\"",
        ];
        let mut kept: Vec<_> = all.iter().collect();
        kept.sort_unstable();
        assert_eq!(kept, want);
    }

    #[test]
    fn dates_that_may_not_be_ordered_as_text_are_all_kept() {
        for times in [
            ["2025-01-01T00:00:00Z", "2025-01-01T00:00:00+00:00"],
            ["2025-01-01T00:00:00.12Z", "2025-01-01T00:00:00.123Z"],
            ["2025-01-01T00:00:00", "2025-01-01T00:00:01"],
            ["2025-01-01 00:00:00Z", "2025-01-01 00:00:01Z"],
            ["2025-02-28T00:00:00Z", "2025-02-29T00:00:00Z"],
            ["2025-01-01T23:00:00Z", "2025-01-01T24:00:00Z"],
            ["2025-01-01T23:00:59Z", "2025-01-01T23:00:60Z"],
            ["0999-01-01T00:00:00Z", "2025-01-01T00:00:00Z"],
            ["2025-01-01T00:00:00.Zz", "2025-01-01T00:00:01.Zz"],
            ["2025-01-01T00:00:0éZ", "2025-01-01T00:00:00\\u005a"],
            ["2025-01-01T00:00:00+0530", "2025-01-01T00:00:01+0530"],
        ] {
            let mut want = times.to_vec();
            want.sort_unstable();
            let mut kept = kept(&times);
            kept.sort_unstable();
            assert_eq!(kept, want);
        }
    }
}
