//! One model call: what it used, when, and what is wrong with what the file says of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::time::Time;
use crate::io::line_reader::text_of;
use crate::json::scanner::{Input, ScanResult, Scanner};
use crate::json::short_string_bytes;

/// Numbers that are added up: tokens of each kind, and the cost in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amounts {
    /// Tokens of the input that no cache had.
    pub input: f64,
    /// Tokens of the output.
    pub output: f64,
    /// Tokens of the input that were read from a cache.
    pub cache_read: f64,
    /// Tokens of the input that were written to a cache.
    pub cache_write: f64,
    /// The cost in US dollars.
    pub cost: f64,
}

impl Amounts {
    /// The amounts in the order of the fields.
    pub fn to_array(self) -> [f64; 5] {
        let Self { input, output, cache_read, cache_write, cost } = self;
        [input, output, cache_read, cache_write, cost]
    }

    /// The amounts of an array in the order of the fields.
    pub fn from_array([input, output, cache_read, cache_write, cost]: [f64; 5]) -> Self {
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

/// What is wrong with a call: a set of bits. What is wrong is left out of the sums, never replaced by a guess.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallErrors(pub u8);

impl CallErrors {
    /// There is no object with its usage. Nothing of it is in a sum, the number of calls included.
    pub const NO_USAGE: CallErrors = CallErrors(1);
    /// An amount is missing or null.
    pub const MISSING: CallErrors = CallErrors(2);
    /// An amount is not a number.
    pub const NOT_A_NUMBER: CallErrors = CallErrors(4);
    /// An amount is below 0.
    pub const NEGATIVE: CallErrors = CallErrors(8);
    /// An amount is larger than a double holds, or makes a sum larger.
    pub const INFINITE: CallErrors = CallErrors(16);
    /// There is an amount of a kind that this release does not know.
    pub const UNKNOWN_KIND: CallErrors = CallErrors(32);
    /// The provider or the model has no name.
    pub const NO_MODEL: CallErrors = CallErrors(64);
    /// There is no time.
    pub const NO_TIME: CallErrors = CallErrors(128);

    /// Adds the bits of another set.
    pub fn add(&mut self, other: CallErrors) {
        self.0 |= other.0;
    }

    /// Whether all bits of another set are in this one.
    pub fn contains(self, other: CallErrors) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A model call of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// A hash of what distinguishes it from other calls. The copies of a call in forks have the same.
    #[serde(with = "postcard::fixint::le")]
    pub identity: u64,
    /// In ms since 1970; NaN if nothing tells it.
    #[serde(with = "packed")]
    pub time: f64,
    /// The position of its model in the session's list of models.
    pub model: u32,
    /// What is wrong with it.
    pub errors: CallErrors,
    /// What it used.
    #[serde(with = "packed_amounts")]
    pub amounts: Amounts,
}

/// A number as an integer that has few bytes for whole numbers: tokens and times are most of what the catalog holds.
fn pack(number: f64) -> u128 {
    let whole = number as u64;
    match (whole as f64).to_bits() == number.to_bits() {
        true => u128::from(whole) << 1,
        false => u128::from(number.to_bits()) << 1 | 1,
    }
}

/// The number of what [`pack`] gave, bit for bit.
fn unpack(packed: u128) -> f64 {
    let value = (packed >> 1) as u64;
    match packed & 1 == 0 {
        true => value as f64,
        false => f64::from_bits(value),
    }
}

mod packed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        super::pack(*number).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u128::deserialize(deserializer).map(super::unpack)
    }
}

mod packed_amounts {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(amounts: &super::Amounts, serializer: S) -> Result<S::Ok, S::Error> {
        amounts.to_array().map(super::pack).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<super::Amounts, D::Error> {
        <[u128; 5]>::deserialize(deserializer).map(|packed| super::Amounts::from_array(packed.map(super::unpack)))
    }
}

/// The value of a `usage` key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum UsageValue {
    Null,
    /// Neither null nor an object.
    NoObject,
    Amounts(Amounts, CallErrors),
}

/// A longer number is not one that anything counts.
const LONGEST_NUMBER: usize = 1 << 10;

/// The keys of a usage and of its cost.
#[derive(Debug, Clone, Copy)]
enum UsageKey {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    Cost,
    Total,
    /// An amount that is part of another, or a sum: it is known, and not added.
    Part,
}

impl UsageKey {
    fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"input" => UsageKey::Input,
            b"output" => UsageKey::Output,
            b"cacheRead" => UsageKey::CacheRead,
            b"cacheWrite" => UsageKey::CacheWrite,
            b"cost" => UsageKey::Cost,
            b"total" => UsageKey::Total,
            b"totalTokens" | b"cacheWrite1h" | b"reasoning" => UsageKey::Part,
            _ => return None,
        })
    }
}

/// Takes the value of a `usage` key.
pub(crate) fn scan_usage<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<UsageValue, I> {
    match scanner.next_token()? {
        Some(b'{') => {}
        Some(b'n') => return scanner.skip_value().map(|()| UsageValue::Null),
        _ => return scanner.skip_value().map(|()| UsageValue::NoObject),
    }
    let [mut input, mut output, mut cache_read, mut cache_write, mut cost] = [Amount::Missing; 5];
    let mut errors = CallErrors::default();
    scanner.members(UsageKey::of, |scanner, key| {
        match key {
            Some(UsageKey::Input) => input = amount(scanner)?,
            Some(UsageKey::Output) => output = amount(scanner)?,
            Some(UsageKey::CacheRead) => cache_read = amount(scanner)?,
            Some(UsageKey::CacheWrite) => cache_write = amount(scanner)?,
            Some(UsageKey::Cost) => cost = total(scanner)?,
            Some(UsageKey::Part) => scanner.skip_value()?,
            Some(UsageKey::Total) | None => {
                if is_number(scanner.next_token()?) {
                    errors.add(CallErrors::UNKNOWN_KIND);
                }
                scanner.skip_value()?;
            }
        }
        Ok(())
    })?;
    let amounts = [input, output, cache_read, cache_write, cost].map(|amount| amount.counted(&mut errors));
    Ok(UsageValue::Amounts(Amounts::from_array(amounts), errors))
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Missing,
    NotANumber,
    Number(f64),
}

impl Amount {
    /// What is added of it.
    fn counted(self, errors: &mut CallErrors) -> f64 {
        let error = match self {
            Amount::Number(number) if number.is_infinite() => CallErrors::INFINITE,
            Amount::Number(number) if number < 0.0 => CallErrors::NEGATIVE,
            // Adding 0 makes -0 the same as 0.
            Amount::Number(number) => return number + 0.0,
            Amount::NotANumber => CallErrors::NOT_A_NUMBER,
            Amount::Missing => CallErrors::MISSING,
        };
        errors.add(error);
        0.0
    }
}

fn is_number(token: Option<u8>) -> bool {
    matches!(token, Some(b'-' | b'0'..=b'9'))
}

fn amount<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Amount, I> {
    let token = scanner.next_token()?;
    if is_number(token) {
        let number = scanner.value(LONGEST_NUMBER)?.and_then(number);
        return Ok(number.map_or(Amount::NotANumber, Amount::Number));
    }
    scanner.skip_value()?;
    Ok(if token == Some(b'n') { Amount::Missing } else { Amount::NotANumber })
}

/// The `total` of a `cost` object.
fn total<I: Input>(scanner: &mut Scanner<I>) -> ScanResult<Amount, I> {
    if scanner.next_token()? != Some(b'{') {
        return Ok(match amount(scanner)? {
            Amount::Missing => Amount::Missing,
            _ => Amount::NotANumber,
        });
    }
    let mut found = Amount::Missing;
    scanner.members(UsageKey::of, |scanner, key| {
        match key {
            Some(UsageKey::Total) => found = amount(scanner)?,
            _ => scanner.skip_value()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// The text of a short JSON string in any bytes; None if it is not a string.
pub fn plain(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    // Without a way out of the loop it takes many bytes at once.
    match inner.iter().fold(false, |is_odd, byte| is_odd | (*byte >= 0x80) | (*byte == b'\\')) {
        false => Some(Cow::Borrowed(inner)),
        true => short_string_bytes(&text_of(json)).map(|text| Cow::Owned(text.into_owned())),
    }
}

/// The time of an entry or a message by its JSON text: a number of ms or an ISO text. None for anything else, another form of
/// date included: only JavaScript could parse it.
pub fn time(json: &[u8]) -> Option<f64> {
    let time = match plain(json) {
        Some(text) => Time::from_text(&text),
        None => Time::from_number(number(json)?),
    };
    match time {
        Time::At(ms) if !ms.is_nan() => Some(ms),
        _ => None,
    }
}

/// The number of a JSON text, if it is one.
pub fn number(json: &[u8]) -> Option<f64> {
    is_number(json.first().copied()).then(|| std::str::from_utf8(json).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> UsageValue {
        scan_usage(&mut Scanner::new(text.as_bytes())).expect("JSON")
    }

    #[test]
    fn amounts_are_read_and_what_is_wrong_is_left_out() {
        let whole =
            r#"{"input":1,"output":2.5,"cacheRead":3,"cacheWrite":4,"totalTokens":9,"cost":{"input":1,"total":0.1}}"#;
        let amounts = Amounts { input: 1.0, output: 2.5, cache_read: 3.0, cache_write: 4.0, cost: 0.1 };
        assert_eq!(scanned(whole), UsageValue::Amounts(amounts, CallErrors::default()));
        let only_output = Amounts { output: 7.0, ..Amounts::default() };
        for (text, errors) in [
            (r#"{"output":7}"#, CallErrors::MISSING.0),
            (r#"{"input":null,"output":7,"cacheRead":0,"cacheWrite":0,"cost":{}}"#, CallErrors::MISSING.0),
            (
                r#"{"input":"5","output":7,"cacheRead":0,"cacheWrite":-0,"cost":{"total":0}}"#,
                CallErrors::NOT_A_NUMBER.0,
            ),
            (r#"{"input":-5,"output":7,"cacheRead":1e999,"cacheWrite":0,"cost":5}"#, 4 | 8 | 16),
            (r#"{"input":0,"outp\u0075t":7,"cacheRead":0,"cacheWrite":0,"cost":{"total":0},"audio":5}"#, 32),
            (
                r#"{"input":3,"input":0,"output":7,"cacheRead":0,"cacheWrite":0,"cost":{"total":9,"total":0},"audio":{}}"#,
                0,
            ),
        ] {
            assert_eq!(scanned(text), UsageValue::Amounts(only_output, CallErrors(errors)), "{text}");
        }
        assert_eq!(
            (scanned("null"), scanned("[1]"), scanned("5")),
            (UsageValue::Null, UsageValue::NoObject, UsageValue::NoObject)
        );
        assert!(scan_usage(&mut Scanner::new(&br#"{"input":1"#[..])).is_err());
    }

    /// Regression: a number of hundreds of digits made a sum infinite.
    #[test]
    fn a_number_of_hundreds_of_digits_is_left_out_of_a_sum() {
        let digits = "9".repeat(400);
        let text = format!(r#"{{"input":{digits},"output":7,"cacheRead":0,"cacheWrite":0,"cost":{{"total":0}}}}"#);
        let amounts = Amounts { output: 7.0, ..Amounts::default() };
        assert_eq!(scanned(&text), UsageValue::Amounts(amounts, CallErrors::INFINITE));
    }

    #[test]
    fn a_call_is_packed_bit_for_bit_in_few_bytes() {
        let usual = [1_750_000_000_123.0, 1_834.0, 512.0, 120_345.0, 0.0, 0.012345];
        let odd = [f64::NAN, -0.0, -1.0, 1e300, 0.5, f64::MAX];
        let large =
            [-62_167_219_200_000.0, 9_007_199_254_740_993.0, u64::MAX as f64, f64::MIN_POSITIVE, f64::INFINITY, 1.0];
        for [time, amounts @ ..] in [usual, odd, large] {
            let call = Call {
                identity: u64::MAX,
                time,
                model: 3,
                errors: CallErrors::NO_TIME,
                amounts: Amounts::from_array(amounts),
            };
            let bytes = postcard::to_stdvec(&call).expect("packed");
            let read: Call = postcard::from_bytes(&bytes).expect("read");
            let bits = |call: &Call| (call.time.to_bits(), call.amounts.to_array().map(f64::to_bits));
            assert_eq!((bits(&read), read.identity, read.model, read.errors), (bits(&call), u64::MAX, 3, call.errors));
            assert!(time != usual[0] || bytes.len() <= 36, "{}", bytes.len());
        }
    }

    #[test]
    fn times_are_numbers_or_iso_texts() {
        assert_eq!((time(b"5.7"), time(b"\"1970-01-01T00:00:00.005Z\"")), (Some(5.0), Some(5.0)));
        for none in [&b"\"Jan 5 2031\""[..], b"null", b"1e300", b"{}", b"\"5\"", b"true"] {
            assert_eq!(time(none), None);
        }
    }
}
