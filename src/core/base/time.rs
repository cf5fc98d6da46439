//! Timestamps: milliseconds since 1970 as JavaScript counts them, and the ISO form that entries have.

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

/// The result of `new Date(value).getTime()`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// Milliseconds since 1970, NaN for no date.
    At(f64),
    /// A text in another form than ISO, which only JavaScript's own parser can read.
    Ask,
}

/// The largest distance from 1970 that a JavaScript date may have, in ms.
const MAX_DATE: f64 = 8.64e15;

/// 400 years in ms.
const CYCLE: f64 = 146_097.0 * 86_400_000.0;

impl Time {
    /// The time of a number of milliseconds.
    pub fn from_number(ms: f64) -> Self {
        let valid = ms.is_finite() && ms.abs() <= MAX_DATE;
        Time::At(if valid { ms.trunc() } else { f64::NAN })
    }

    /// The time of a text. Any form but `YYYY-MM-DDTHH:mm:ss.sssZ` with an existing day is [`Time::Ask`].
    pub fn from_text(text: &[u8]) -> Self {
        parse_iso(text).map_or(Time::Ask, |ms| Time::At(ms as f64))
    }
}

fn parse_iso(text: &[u8]) -> Option<i64> {
    let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = text.len() == shape.len()
        && text.iter().zip(shape).all(|(&have, &want)| match want {
            b'd' => have.is_ascii_digit(),
            _ => have == want,
        });
    if !fits {
        return None;
    }
    let number = |from: usize, to: usize| {
        text.get(from..to).map(|digits| digits.iter().fold(0u32, |n, d| n * 10 + u32::from(d - b'0')))
    };
    let date = NaiveDate::from_ymd_opt(number(0, 4)? as i32, number(5, 7)?, number(8, 10)?)?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let time = date.and_hms_milli_opt(hour, minute, second, number(20, 23)?)?;
    Some(time.and_utc().timestamp_millis())
}

/// `new Date(ms).toISOString()`: UTC, three digits of milliseconds, `Z`. None where JavaScript throws.
pub fn iso(ms: f64) -> Option<String> {
    let Time::At(ms) = Time::from_number(ms) else {
        return None;
    };
    if ms.is_nan() {
        return None;
    }
    // JavaScript's dates reach further than chrono's; the calendar repeats every 400 years.
    let cycles = (ms / CYCLE).floor();
    let date = DateTime::from_timestamp_millis((ms - cycles * CYCLE) as i64)?;
    let year = date.year() + 400 * cycles as i32;
    let mut out = String::with_capacity(24);
    let mut digits = |number: u32, count: u32, after: char| {
        for place in (0..count).rev() {
            out.extend(char::from_digit(number / 10u32.pow(place) % 10, 10));
        }
        out.push(after);
    };
    if (0..=9999).contains(&year) {
        digits(year.unsigned_abs(), 4, '-');
    } else {
        digits(year.unsigned_abs(), 6, '-');
    }
    digits(date.month(), 2, '-');
    digits(date.day(), 2, 'T');
    digits(date.hour(), 2, ':');
    digits(date.minute(), 2, ':');
    digits(date.second(), 2, '.');
    digits(date.timestamp_subsec_millis(), 3, 'Z');
    Some(match year {
        0..=9999 => out,
        _ => format!("{}{out}", if year < 0 { '-' } else { '+' }),
    })
}

/// The form an ISO time has in a file name: `:` and `.` become `-`.
pub fn for_file_name(iso: &str) -> String {
    iso.replace([':', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_is_javascripts() {
        assert_eq!(iso(0.0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(iso(-1.0).as_deref(), Some("1969-12-31T23:59:59.999Z"));
        assert_eq!(iso(8.64e15).as_deref(), Some("+275760-09-13T00:00:00.000Z"));
        assert_eq!(iso(-8.64e15).as_deref(), Some("-271821-04-20T00:00:00.000Z"));
        assert_eq!(iso(-62198755200000.0).as_deref(), Some("-000001-01-01T00:00:00.000Z"));
        assert_eq!(iso(f64::NAN), None);
        assert_eq!(iso(8.65e15), None);
    }

    #[test]
    fn only_the_exact_form_is_read_here() {
        assert_eq!(Time::from_text(b"2024-12-03T14:00:00.123Z"), Time::At(1733234400123.0));
        for other in ["2024-12-03T14:00:00Z", "2024-02-30T00:00:00.000Z", "2024-12-03T24:00:00.000Z", "Dec 3 2024", ""]
        {
            assert_eq!(Time::from_text(other.as_bytes()), Time::Ask, "{other}");
        }
    }

    #[test]
    fn numbers_are_clipped_as_dates_are() {
        assert_eq!(Time::from_number(1.9), Time::At(1.0));
        assert!(matches!(Time::from_number(9e15), Time::At(ms) if ms.is_nan()));
    }
}
