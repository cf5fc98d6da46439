//! The string that JavaScript converts a JSON value to: `String(value)`.

use super::scanner::Scanner;
use super::string::string_bytes;
use crate::base::memory::{self, append};

/// Appends `String(value)` of a JSON value, in one pass for any depth. Fails with `OutOfMemory` if the allocation
/// fails.
pub(crate) fn push_to_string(json: &str, out: &mut Vec<u8>) -> memory::Result<()> {
    let mut scanner = Scanner::new(json);
    // Nested arrays are joined by commas too, so brackets can be ignored: only values and commas count.
    while let Ok(Some(byte)) = scanner.next_token() {
        if matches!(byte, b'[' | b']' | b',') {
            append(out, if byte == b',' { b"," } else { b"" })?;
            scanner.skip_byte();
            continue;
        }
        let Ok(value) = scanner.span(Scanner::skip_value) else { return Ok(()) };
        match byte {
            b'"' => append(out, &string_bytes(value)?.unwrap_or_default())?,
            b'{' => append(out, b"[object Object]")?,
            b't' | b'f' => append(out, value.as_bytes())?,
            b'n' => {}
            _ => append(out, ryu_js::Buffer::new().format(value.parse().unwrap_or(f64::NAN)).as_bytes())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
