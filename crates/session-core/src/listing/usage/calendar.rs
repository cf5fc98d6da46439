//! The days of times, in UTC or in JavaScript's time zone.

use crate::base::time::iso;

pub(crate) const DAY_MS: f64 = 86_400_000.0;

/// A period of time by which calls are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A day.
    Day,
    /// A week, which begins on Monday.
    Week,
    /// A month.
    Month,
}

/// When days begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Calendar {
    /// At midnight UTC.
    Utc,
    /// For each day, in order: when it begins, and its date, as UTC midnight in ms since 1970.
    Days(Vec<(f64, f64)>),
}

impl Calendar {
    /// A calendar of days in JavaScript's time zone: for each day when it begins, and its date, as UTC midnight in ms
    /// since 1970.
    pub fn of_days(mut days: Vec<(f64, f64)>) -> Self {
        days.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        days.dedup_by(|a, b| a.0 == b.0);
        Calendar::Days(days)
    }

    /// The date of a time, as UTC midnight in ms since 1970.
    pub(crate) fn date_of(&self, ms: f64) -> f64 {
        let utc = (ms / DAY_MS).floor() * DAY_MS;
        match self {
            Calendar::Utc => utc,
            Calendar::Days(days) => {
                let after = days.partition_point(|(start, _)| *start <= ms);
                after.checked_sub(1).and_then(|at| days.get(at)).map_or(utc, |(_, date)| *date)
            }
        }
    }
}

impl Period {
    /// The name of the period of a date, which is UTC midnight in ms since 1970: `2026-11-22` for a day, the date of
    /// its Monday for a week, `2026-11` for a month.
    pub fn label(self, date: f64) -> String {
        let day = match self {
            // 1970 began on a Thursday.
            Period::Week => date - (date / DAY_MS + 3.0).rem_euclid(7.0) * DAY_MS,
            Period::Day | Period::Month => date,
        };
        // The Monday may be before the first date that JavaScript has.
        let iso = iso(day).or_else(|| iso(date)).unwrap_or_default();
        let date = iso.split('T').next().unwrap_or_default();
        match self {
            Period::Month => date.rsplit_once('-').map_or(date, |(month, _)| month).to_owned(),
            Period::Day | Period::Week => date.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_belongs_to_the_day_that_began_last() {
        let hour = 3_600_000.0;
        // A zone two hours ahead, and from the second day on three.
        let calendar = Calendar::of_days(vec![(22.0 * hour, DAY_MS), (-2.0 * hour, 0.0), (45.0 * hour, 2.0 * DAY_MS)]);
        for (hours, day) in [(-2.0, 0.0), (21.9, 0.0), (22.0, 1.0), (44.9, 1.0), (45.0, 2.0), (-3.0, -1.0)] {
            assert_eq!(calendar.date_of(hours * hour), day * DAY_MS, "{hours}");
        }
        assert_eq!((Calendar::Utc.date_of(23.9 * hour), Calendar::Utc.date_of(-1.0)), (0.0, -DAY_MS));
    }

    #[test]
    fn periods_are_named_by_their_first_day() {
        let date = 1_732_406_400_000.0;
        let labels = |date| [Period::Day, Period::Week, Period::Month].map(|period| period.label(date));
        assert_eq!(labels(date), ["2024-11-24", "2024-11-18", "2024-11"]);
        assert_eq!(labels(date + DAY_MS), ["2024-11-25", "2024-11-25", "2024-11"]);
        assert_eq!(labels(8.64e15 - DAY_MS)[2], "+275760-09");
        assert_eq!(labels(-8.64e15), ["-271821-04-20", "-271821-04-20", "-271821-04"]);
    }
}
