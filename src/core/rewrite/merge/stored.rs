//! Lines as a store gives them.

use crate::base::error::{Error, Result};

/// The lines of a session in the store's order.
#[derive(Debug, Clone, Copy)]
pub struct StoredLines<'a> {
    /// Each ended by a newline.
    bytes: &'a [u8],
    /// The host of each line, by number.
    hosts: &'a [u32],
}

/// One stored line, without its newline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredLine<'a> {
    pub bytes: &'a [u8],
    pub host: u32,
}

impl<'a> StoredLines<'a> {
    /// Lines that each end with a newline, and the number of each one's host; an error if there are not as many of these.
    pub fn new(bytes: &'a [u8], hosts: &'a [u32]) -> Result<Self> {
        let is_terminated = bytes.is_empty() || bytes.ends_with(b"\n");
        if !is_terminated || memchr::memchr_iter(b'\n', bytes).count() != hosts.len() {
            return Err(Error::argument(
                "`lines` must hold as many lines as `hosts` has numbers, each ended by a newline",
            ));
        }
        Ok(Self { bytes, hosts })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = StoredLine<'a>> {
        let lines = self.bytes.split_inclusive(|&byte| byte == b'\n');
        lines.zip(self.hosts).map(|(line, &host)| StoredLine { bytes: line.strip_suffix(b"\n").unwrap_or(line), host })
    }
}
