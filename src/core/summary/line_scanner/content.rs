//! A message's content without its images.

use std::io::{self, Read};

use crate::core::json::scanner::{ScanError, Scanner};
use crate::core::json::window::Window;

type ScanResult<T> = Result<T, ScanError<io::Error>>;

/// Takes a content and gives its JSON text, of at most about `limit` bytes. A string in a block's `data`, however
/// long, is skipped and replaced by an empty one: images are neither listed nor searched.
pub fn without_images<R: Read>(scanner: &mut Scanner<Window<R>>, limit: usize) -> ScanResult<Vec<u8>> {
    if scanner.next_token()? != Some(b'[') {
        return Ok(scanner.value(limit)?.to_vec());
    }
    let mut out = Vec::new();
    elements(scanner, b"[]", &mut out, limit, |scanner, out| {
        if scanner.next_token()? != Some(b'{') {
            out.extend_from_slice(scanner.value(limit)?);
            return Ok(());
        }
        elements(scanner, b"{}", out, limit, |scanner, out| member(scanner, out, limit))
    })?;
    Ok(out)
}

/// Copies a container element by element.
fn elements<R: Read>(
    scanner: &mut Scanner<Window<R>>,
    brackets: &[u8; 2],
    out: &mut Vec<u8>,
    limit: usize,
    mut copy: impl FnMut(&mut Scanner<Window<R>>, &mut Vec<u8>) -> ScanResult<()>,
) -> ScanResult<()> {
    let [open, close] = *brackets;
    scanner.expect(open)?;
    out.push(open);
    let mut first = true;
    while scanner.next_element(&mut first, close)? {
        if out.last() != Some(&open) {
            out.push(b',');
        }
        copy(scanner, out)?;
        if out.len() > limit {
            return Err(ScanError::TooLong);
        }
    }
    scanner.expect(close)?;
    out.push(close);
    Ok(())
}

fn member<R: Read>(scanner: &mut Scanner<Window<R>>, out: &mut Vec<u8>, limit: usize) -> ScanResult<()> {
    let key = scanner.key(limit)?;
    let is_data = key == b"\"data\"";
    out.extend_from_slice(key);
    out.push(b':');
    scanner.expect(b':')?;
    match is_data && scanner.next_token()? == Some(b'"') {
        true => {
            scanner.skip_string()?;
            out.extend_from_slice(b"\"\"");
        }
        false => out.extend_from_slice(scanner.value(limit)?),
    }
    Ok(())
}
