//! Short values, kept without an allocation.

use super::error::{LineScan, LineScanError};

/// The text of a short value as it is in the file.
#[derive(Debug)]
pub struct ShortValue {
    bytes: [u8; 62],
    len: u8,
}

impl Default for ShortValue {
    fn default() -> Self {
        Self { bytes: [0; 62], len: 0 }
    }
}

impl ShortValue {
    /// The text; None if the key was not there.
    pub fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.len)).filter(|bytes| !bytes.is_empty())
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn set(&mut self, value: &[u8]) -> LineScan<()> {
        // A key that comes twice, or a value that does not fit, needs the full reader.
        if self.len > 0 {
            return Err(LineScanError::NeedsFullParse);
        }
        self.bytes.get_mut(..value.len()).ok_or(LineScanError::NeedsFullParse)?.copy_from_slice(value);
        self.len = value.len() as u8;
        Ok(())
    }
}
