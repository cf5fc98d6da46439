//! [`SessionUsage`] as bytes, for the catalog. Most numbers are small and whole: they take one to three bytes.

use std::cmp::Reverse;

use super::call::{Amounts, Call, CallErrors};
use super::session_usage::{KindSize, LargeEntry, Minute, SessionUsage};
use crate::core::base::varint::{put_bytes, put_number, Bytes};

/// Whole numbers from here on are written as doubles.
const WHOLE_BELOW: f64 = (1u64 << 50) as f64;

/// The bytes of what was collected.
pub fn pack(usage: &SessionUsage) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + usage.calls.len() * 32);
    put_number(&mut out, usage.models.len() as u64);
    usage.models.iter().for_each(|name| put_bytes(&mut out, name));
    put_number(&mut out, usage.kinds.len() as u64);
    for KindSize { name, entries, bytes } in &usage.kinds {
        put_bytes(&mut out, name);
        put_number(&mut out, *entries);
        put_number(&mut out, *bytes);
    }
    put_number(&mut out, usage.minutes.len() as u64);
    let mut last = 0;
    for Minute { minute, entries, bytes } in &usage.minutes {
        // Zigzag: times may go back.
        let step = minute - last;
        put_number(&mut out, ((step << 1) ^ (step >> 63)) as u64);
        put_number(&mut out, *entries);
        put_number(&mut out, *bytes);
        last = *minute;
    }
    put_number(&mut out, usage.largest.len() as u64);
    for LargeEntry { bytes, offset, kind } in &usage.largest {
        put_number(&mut out, *bytes);
        put_number(&mut out, offset.0);
        put_number(&mut out, u64::from(*kind));
    }
    put_number(&mut out, usage.damaged);
    put_number(&mut out, usage.calls.len() as u64);
    let mut last = 0.0;
    for Call { identity, time, model, errors, amounts } in &usage.calls {
        out.extend_from_slice(&identity.to_le_bytes());
        out.push(errors.0);
        put_number(&mut out, u64::from(*model));
        put_time(&mut out, *time, &mut last);
        amounts.to_array().iter().for_each(|amount| put_double(&mut out, *amount));
    }
    out
}

/// What was packed. None if the bytes are not what [`pack`] makes.
pub fn unpack(bytes: &[u8]) -> Option<SessionUsage> {
    let mut bytes = Bytes(bytes);
    let mut usage = SessionUsage::default();
    for _ in 0..bytes.number()? {
        usage.models.push(bytes.bytes()?.to_vec());
    }
    for _ in 0..bytes.number()? {
        usage.kinds.push(KindSize { name: bytes.bytes()?.to_vec(), entries: bytes.number()?, bytes: bytes.number()? });
    }
    let mut last = 0i64;
    for _ in 0..bytes.number()? {
        let step = bytes.number()?;
        last = last.checked_add((step >> 1) as i64 ^ -((step & 1) as i64))?;
        usage.minutes.push(Minute { minute: last, entries: bytes.number()?, bytes: bytes.number()? });
    }
    for _ in 0..bytes.number()? {
        let (bytes, offset, kind) = (bytes.number()?, Reverse(bytes.number()?), bytes.number()? as u32);
        usage.largest.push(LargeEntry { bytes, offset, kind });
    }
    usage.damaged = bytes.number()?;
    let count = bytes.number()?;
    // At least 15 bytes each.
    usage.calls.reserve_exact(usize::try_from(count).ok().filter(|count| *count <= bytes.0.len() / 15)?);
    let mut last = 0.0;
    for _ in 0..count {
        let identity = u64::from_le_bytes(bytes.take()?);
        let [errors] = bytes.take()?;
        let model = bytes.number()? as u32;
        let time = bytes.time(&mut last)?;
        let mut amounts = [0.0; 5];
        for amount in &mut amounts {
            *amount = bytes.double()?;
        }
        let amounts = Amounts::from_array(amounts);
        usage.calls.push(Call { identity, time, model, errors: CallErrors(errors), amounts });
    }
    usage.settle();
    bytes.0.is_empty().then_some(usage)
}

fn is_small(number: f64) -> bool {
    number.fract() == 0.0 && (0.0..WHOLE_BELOW).contains(&number) && number.is_sign_positive()
}

/// A small whole number shifted by one bit, or 1 and the double's bits.
fn put_double(out: &mut Vec<u8>, number: f64) {
    match is_small(number) {
        true => put_number(out, (number as u64) << 1),
        false => {
            out.push(1);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
    }
}

/// The distance from the last time, shifted by one bit, or 1 and the time's bits. Times are whole ms.
fn put_time(out: &mut Vec<u8>, time: f64, last: &mut f64) {
    match is_small(time - *last) {
        true => put_number(out, ((time - *last) as u64) << 1),
        false => {
            out.push(1);
            out.extend_from_slice(&time.to_bits().to_le_bytes());
        }
    }
    if !time.is_nan() {
        *last = time;
    }
}

impl Bytes<'_> {
    fn double(&mut self) -> Option<f64> {
        match self.number()? {
            1 => self.take().map(|bits| f64::from_bits(u64::from_le_bytes(bits))),
            shifted => Some((shifted >> 1) as f64),
        }
    }

    fn time(&mut self, last: &mut f64) -> Option<f64> {
        let time = match self.number()? {
            1 => f64::from_bits(u64::from_le_bytes(self.take()?)),
            shifted => *last + (shifted >> 1) as f64,
        };
        if !time.is_nan() {
            *last = time;
        }
        Some(time)
    }
}
