//! The texts of a message's content.

use std::io::{self, Read};

use crate::io::file_window::FileWindow;
use crate::json::scanner::{ScanError, Scanner};
use crate::summary::signature::Signature;

/// The fields of a block that are read, as keys with their quotes.
const BLOCK_FIELDS: [&[u8]; 2] = [b"\"type\"", b"\"text\""];

type ScanResult<T> = Result<T, ScanError<io::Error>>;

/// Takes a content and gives its JSON text, of at most about `limit` bytes. Only the type and the text of a block are read:
/// other values, such as an image's data, are skipped, however long, and replaced by a number.
pub fn texts_only<R: Read>(scanner: &mut Scanner<FileWindow<R>>, limit: usize) -> ScanResult<Vec<u8>> {
    if scanner.next_token()? != Some(b'[') {
        return Ok(scanner.value(limit)?.to_vec());
    }
    let mut out = Vec::new();
    elements(scanner, b"[]", &mut out, limit, |scanner, out| {
        if scanner.next_token()? != Some(b'{') {
            scanner.skip_value()?;
            out.push(b'0');
            return Ok(());
        }
        members(scanner, &BLOCK_FIELDS, limit, out)
    })?;
    Ok(out)
}

/// Takes a content and adds its texts, and the texts of its text blocks, to a signature.
pub fn add_texts<R: Read>(
    scanner: &mut Scanner<FileWindow<R>>,
    limit: usize,
    signature: &mut Option<Signature>,
) -> ScanResult<()> {
    if scanner.next_token()? != Some(b'[') {
        return add_text(scanner, limit, signature);
    }
    scanner.expect(b'[')?;
    let mut first = true;
    while scanner.next_element(&mut first, b']')? {
        if !scanner.take(b'{')? {
            scanner.skip_value()?;
            continue;
        }
        let mut first = true;
        while scanner.next_element(&mut first, b'}')? {
            let key = scanner.key(limit)?;
            // One with an escape may be any.
            let is_text = key == b"\"text\"" || key.contains(&b'\\');
            scanner.expect(b':')?;
            if is_text {
                add_text(scanner, limit, signature)?;
            } else {
                scanner.skip_value()?;
            }
        }
        scanner.expect(b'}')?;
    }
    scanner.expect(b']')
}

/// Takes a value and adds it to a signature if it is a text. There is no signature any more if it is too long.
pub fn add_text<R: Read>(
    scanner: &mut Scanner<FileWindow<R>>,
    limit: usize,
    signature: &mut Option<Signature>,
) -> ScanResult<()> {
    if scanner.next_token()? != Some(b'"') {
        return scanner.skip_value();
    }
    match scanner.value(limit) {
        Ok(json) => signature.iter_mut().for_each(|signature| signature.add_json(json)),
        // It was skipped.
        Err(ScanError::TooLong) => *signature = None,
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Copies a container element by element.
fn elements<R: Read>(
    scanner: &mut Scanner<FileWindow<R>>,
    brackets: &[u8; 2],
    out: &mut Vec<u8>,
    limit: usize,
    mut copy: impl FnMut(&mut Scanner<FileWindow<R>>, &mut Vec<u8>) -> ScanResult<()>,
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

/// Copies an object with the values of these keys, and of those with an escape, which may be any. Other values are replaced by a
/// number.
pub fn members<R: Read>(
    scanner: &mut Scanner<FileWindow<R>>,
    keys: &[&[u8]],
    limit: usize,
    out: &mut Vec<u8>,
) -> ScanResult<()> {
    elements(scanner, b"{}", out, limit, |scanner, out| {
        let key = scanner.key(limit)?;
        let is_read = keys.contains(&key) || key.contains(&b'\\');
        out.extend_from_slice(key);
        out.push(b':');
        scanner.expect(b':')?;
        if is_read {
            out.extend_from_slice(scanner.value(limit)?);
            return Ok(());
        }
        scanner.skip_value()?;
        out.push(b'0');
        Ok(())
    })
}
