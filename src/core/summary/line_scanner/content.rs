//! A message's content, kept without what its images are made of.

use std::io::Read;

use super::{LineScan, LineScanError, LineScanner};

impl<R: Read> LineScanner<R> {
    /// Passes over a content and gives its JSON text. A text in a block's `data` is passed over where it stands, however
    /// long it is, and given as an empty one: a pasted image says nothing that is listed or searched.
    pub(crate) fn kept_content(&mut self) -> LineScan<Vec<u8>> {
        if self.token()? != Some(b'[') {
            return Ok(self.kept()?.to_vec());
        }
        self.at += 1;
        let mut out = vec![b'['];
        if !self.takes(b']')? {
            loop {
                self.block(&mut out)?;
                if out.len() > self.most {
                    return Err(LineScanError::NeedsFullParse);
                }
                if !self.takes(b',')? {
                    break;
                }
                out.push(b',');
            }
            self.must_take(b']')?;
        }
        out.push(b']');
        Ok(out)
    }

    fn block(&mut self, out: &mut Vec<u8>) -> LineScan<()> {
        if self.token()? != Some(b'{') {
            out.extend_from_slice(self.kept()?);
            return Ok(());
        }
        self.at += 1;
        out.push(b'{');
        if !self.takes(b'}')? {
            loop {
                let key = self.key()?;
                let is_data = key == b"\"data\"";
                out.extend_from_slice(key);
                out.push(b':');
                self.must_take(b':')?;
                if is_data && self.token()? == Some(b'"') {
                    self.skip_string()?;
                    out.extend_from_slice(b"\"\"");
                } else {
                    out.extend_from_slice(self.kept()?);
                }
                if out.len() > self.most {
                    return Err(LineScanError::NeedsFullParse);
                }
                if !self.takes(b',')? {
                    break;
                }
                out.push(b',');
            }
            self.must_take(b'}')?;
        }
        out.push(b'}');
        Ok(())
    }
}
