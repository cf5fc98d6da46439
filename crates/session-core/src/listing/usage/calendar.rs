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
mod tests;
