//! One model call: its usage, its time, and the errors in the file's data about it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::named::named;
use crate::base::time::Time;
use crate::json::scanner::{Input, ScanResult, Scanner};
use crate::json::string_bytes;
use crate::lines::line_reader::line_text;

/// The numbers that usage adds up: tokens of each kind, and the cost in dollars.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amounts {
    /// Input tokens that were not in the provider's cache.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens that were read from the provider's cache.
    pub cache_read: f64,
    /// Input tokens that were written to the provider's cache.
    pub cache_write: f64,
    /// The cost in US dollars.
    pub cost: f64,
}

impl Amounts {
    /// The amounts in the order of the fields.
    pub(crate) fn to_array(self) -> [f64; 5] {
        let Self { input, output, cache_read, cache_write, cost } = self;
        [input, output, cache_read, cache_write, cost]
    }

    /// The amounts of an array in the order of the fields.
    pub(crate) fn from_array([input, output, cache_read, cache_write, cost]: [f64; 5]) -> Self {
        Self { input, output, cache_read, cache_write, cost }
    }

    /// Adds each amount.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
    }
}

/// The errors in the data of a call: a set of bits. A wrong amount is left out of the sums, never replaced by a guess.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallErrors(pub u8);

impl CallErrors {
    /// The call has no object with its usage. It is in no sum, nor in the number of calls.
    pub(crate) const NO_USAGE: CallErrors = CallErrors(1);
    /// An amount is missing or null.
    pub(crate) const MISSING: CallErrors = CallErrors(2);
    /// An amount is not a number.
    pub(crate) const NOT_A_NUMBER: CallErrors = CallErrors(4);
    /// An amount is below 0.
    pub(crate) const NEGATIVE: CallErrors = CallErrors(8);
    /// An amount is larger than a double, or would make a sum so large.
    pub(crate) const INFINITE: CallErrors = CallErrors(16);
    /// The usage has a kind of amount that this release does not know.
    pub(crate) const UNKNOWN_KIND: CallErrors = CallErrors(32);
    /// The provider or the model has no name.
    pub(crate) const NO_MODEL: CallErrors = CallErrors(64);
    /// The call has no time.
    pub(crate) const NO_TIME: CallErrors = CallErrors(128);

    /// Adds the bits of another set.
    pub fn add(&mut self, other: CallErrors) {
        self.0 |= other.0;
    }

    /// Whether all bits of another set are in this one.
    pub fn contains(self, other: CallErrors) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A model call of a session: an assistant message, a usage entry, or a tool result, compaction or branch summary with
/// `usage`.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// A hash that distinguishes the call from other calls. The copies of a call in forks have the same hash.
    #[serde(with = "postcard::fixint::le")]
    pub identity: u64,
    /// The time in ms since 1970; NaN if it is not known.
    pub time: f64,
    /// The index of its model in the session's list of models.
    pub model: u32,
    /// The errors in its data.
    pub errors: CallErrors,
    /// Its usage.
    pub amounts: Amounts,
}

/// The longest number that is parsed, in bytes. A longer one is an error.
const LONGEST_NUMBER: usize = 1 << 10;

named! {
    /// The keys of a usage and of its cost.
    #[derive(Debug, Clone, Copy)]
    enum UsageKey {
        Input = "input",
        Output = "output",
        CacheRead = "cacheRead",
        CacheWrite = "cacheWrite",
        Cost = "cost",
        Total = "total",
        TotalTokens = "totalTokens",
        CacheWrite1h = "cacheWrite1h",
        Reasoning = "reasoning",
    }
}

/// Reads the value of a `usage` key: the amounts and the errors in them. None if it is null.
pub(crate) fn scan_usage<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Option<(Amounts, CallErrors)>, I> {
    let token = scanner.next_token()?;
    if token != Some(b'{') {
        scanner.skip_value()?;
        return Ok((token != Some(b'n')).then_some((Amounts::default(), CallErrors::NO_USAGE)));
    }
    let [mut input, mut output, mut cache_read, mut cache_write, mut cost] = [Err(CallErrors::MISSING); 5];
    let mut errors = CallErrors::default();
    scanner.members(UsageKey::named, |scanner, key| {
        match key {
            Some(UsageKey::Input) => input = amount(scanner)?,
            Some(UsageKey::Output) => output = amount(scanner)?,
            Some(UsageKey::CacheRead) => cache_read = amount(scanner)?,
            Some(UsageKey::CacheWrite) => cache_write = amount(scanner)?,
            Some(UsageKey::Cost) => cost = total(scanner)?,
            // Sums of other amounts, or parts of them. They are known, and not added.
            Some(UsageKey::TotalTokens | UsageKey::CacheWrite1h | UsageKey::Reasoning) => scanner.skip_value()?,
            Some(UsageKey::Total) | None => {
                if is_number(scanner.next_token()?) {
                    errors.add(CallErrors::UNKNOWN_KIND);
                }
                scanner.skip_value()?;
            }
        }
        Ok(())
    })?;
    let amounts = [input, output, cache_read, cache_write, cost].map(|amount| {
        amount.unwrap_or_else(|error| {
            errors.add(error);
            0.0
        })
    });
    Ok(Some((Amounts::from_array(amounts), errors)))
}

/// An amount, or the error for which it is left out.
type Amount = Result<f64, CallErrors>;

fn is_number(token: Option<u8>) -> bool {
    matches!(token, Some(b'-' | b'0'..=b'9'))
}

fn amount<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Amount, I> {
    if !is_number(scanner.next_token()?) {
        return no_amount(scanner);
    }
    Ok(match scanner.value(LONGEST_NUMBER)?.and_then(number) {
        Some(number) if number.is_infinite() => Err(CallErrors::INFINITE),
        Some(number) if number < 0.0 => Err(CallErrors::NEGATIVE),
        // Adding 0 makes -0 the same as 0.
        Some(number) => Ok(number + 0.0),
        None => Err(CallErrors::NOT_A_NUMBER),
    })
}

/// Skips a value that is not an amount, and returns the error.
fn no_amount<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Amount, I> {
    let is_null = scanner.next_token()? == Some(b'n');
    scanner.skip_value()?;
    Ok(Err(if is_null { CallErrors::MISSING } else { CallErrors::NOT_A_NUMBER }))
}

/// The `total` of a `cost` object.
fn total<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Amount, I> {
    if scanner.next_token()? != Some(b'{') {
        return no_amount(scanner);
    }
    let mut found = Err(CallErrors::MISSING);
    scanner.members(UsageKey::named, |scanner, key| {
        match key {
            Some(UsageKey::Total) => found = amount(scanner)?,
            _ => scanner.skip_value()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// The text of a short JSON string, whose bytes need not be UTF-8. None if it is not a string, or if the small
/// allocation fails.
pub(crate) fn short_text(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    // A fold without early exit, so that the compiler vectorizes it.
    match inner.iter().fold(false, |is_odd, byte| is_odd | (*byte >= 0x80) | (*byte == b'\\')) {
        false => Some(Cow::Borrowed(inner)),
        true => string_bytes(&line_text(json).ok()?).ok()?.map(|text| Cow::Owned(text.into_owned())),
    }
}

/// The time of an entry or message by its JSON text: a number of ms, or an ISO text. None for anything else, even for
/// other forms of dates, because only JavaScript can parse them.
pub(crate) fn time(json: &[u8]) -> Option<f64> {
    let time = match short_text(json) {
        Some(text) => Time::from_text(&text),
        None => Time::from_number(number(json)?),
    };
    match time {
        Time::At(ms) if !ms.is_nan() => Some(ms),
        _ => None,
    }
}

/// The number in a JSON text; None if it is not a number.
pub(crate) fn number(json: &[u8]) -> Option<f64> {
    is_number(json.first().copied()).then(|| std::str::from_utf8(json).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
