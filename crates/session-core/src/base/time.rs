//! Times: milliseconds since 1970 as in JavaScript, and the ISO form in entries.

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

use super::error::{Error, Result};

/// The result of `new Date(value).getTime()`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// Milliseconds since 1970; NaN for an invalid date.
    At(f64),
    /// A text in another form than ISO, which only JavaScript's own parser can read.
    Unparsed,
}

/// The largest distance from 1970 of a JavaScript date, in ms.
const MAX_DATE: f64 = 8.64e15;

/// Days from the year 0 to 1970, as chrono counts them.
const DAYS_BEFORE_1970: i32 = 719_163;

/// 400 years in ms.
const CYCLE: f64 = 146_097.0 * 86_400_000.0;

impl Time {
    /// The time of a number of milliseconds.
    pub(crate) fn from_number(ms: f64) -> Self {
        let valid = ms.is_finite() && ms.abs() <= MAX_DATE;
        Time::At(if valid { ms.trunc() } else { f64::NAN })
    }

    /// The time of a text. [`Time::Unparsed`] unless the text is `YYYY-MM-DDTHH:mm:ss` with an optional fraction, a
    /// zone (`Z` or `+HH:mm`) and an existing day.
    pub fn from_text(text: &[u8]) -> Self {
        parse_iso(text).map_or(Time::Unparsed, |ms| Time::At(ms as f64))
    }
}

fn parse_iso(text: &[u8]) -> Option<i64> {
    let (moment, rest) = text.split_first_chunk::<19>()?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = moment else {
        return None;
    };
    let [year, month, day] = [number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?];
    let [hour, minute, second] = [number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?];
    let (fraction, zone) = match rest.strip_prefix(b".") {
        Some(rest) => rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
        None => (&b"0"[..], rest),
    };
    if fraction.is_empty() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Digits after the third are ignored.
    let ms: i64 = [100, 10, 1].iter().zip(fraction).map(|(ms, digit)| ms * i64::from(digit - b'0')).sum();
    let zone = match zone {
        b"Z" => 0,
        &[sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let (hours, minutes) = (number(&[a, b])?, number(&[c, d])?);
            let offset = hours * 60 + minutes;
            Some(if sign == b'-' { -offset } else { offset }).filter(|_| hours < 24 && minutes < 60)?
        }
        _ => return None,
    };
    let day = NaiveDate::from_ymd_opt(year as i32, month as u32, day as u32)?.num_days_from_ce() - DAYS_BEFORE_1970;
    let minutes = (i64::from(day) * 24 + hour) * 60 + minute - zone;
    Some((minutes * 60 + second) * 1000 + ms)
}

/// The number that these digits form; None if one of them is not a digit.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

/// `new Date(ms).toISOString()`: UTC, three digits of milliseconds, `Z`. None if JavaScript throws.
pub fn iso(ms: f64) -> Option<String> {
    let Time::At(ms) = Time::from_number(ms) else {
        return None;
    };
    if ms.is_nan() {
        return None;
    }
    // JavaScript's dates reach further than chrono's. The calendar repeats every 400 years.
    let cycles = (ms / CYCLE).floor();
    // A date without a zone, because with one chrono converts the date again for each part.
    let date = DateTime::from_timestamp_millis((ms - cycles * CYCLE) as i64)?.naive_utc();
    let year = date.year() + 400 * cycles as i32;
    // Without `format!`, which takes a tenth of the time of an append to a session in memory.
    let mut text = String::with_capacity(27);
    if (0..=9999).contains(&year) {
        push_digits(&mut text, year.unsigned_abs(), 4);
    } else {
        text.push(if year < 0 { '-' } else { '+' });
        push_digits(&mut text, year.unsigned_abs(), 6);
    }
    let ms = date.and_utc().timestamp_subsec_millis();
    for (before, number, digits) in [
        ('-', date.month(), 2),
        ('-', date.day(), 2),
        ('T', date.hour(), 2),
        (':', date.minute(), 2),
        (':', date.second(), 2),
        ('.', ms, 3),
    ] {
        text.push(before);
        push_digits(&mut text, number, digits);
    }
    text.push('Z');
    Some(text)
}

/// Appends the last `digits` digits of a number.
fn push_digits(text: &mut String, number: u32, digits: u32) {
    for power in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10u32.pow(power) % 10) as u8));
    }
}

/// As [`iso`]. Fails with JavaScript's error if it throws.
pub fn timestamp(ms: f64) -> Result<String> {
    iso(ms).ok_or_else(|| Error::argument("Invalid time value"))
}

#[cfg(test)]
mod tests;
