//! Writing a whole session to a path where its file is gone or empty.

use std::path::Path;

use crate::base::error::{part, Error, Result, WithCall};
use crate::base::memory::{append, push, with_capacity};
use crate::base::options::Durability;
use crate::io::fs;
use crate::io::line_span::LineSpan;
use crate::session::session::{check_length, Session};
use crate::session::sync_state::SyncState;
use crate::storage::file::FileStorage;
use crate::storage::new_file::NewFile;
use crate::storage::storage::Storage;

pub(in crate::session) const WRITTEN_AGAIN: &str = "the deleted, renamed or emptied file was written again, whole";

impl Session {
    /// Writes a lost file again from the lines of the header and of every entry, which the caller made from its
    /// objects.
    pub fn write_from_objects<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let (Some(path), Some(lost)) = (self.file.clone(), self.storage.as_ref()) else {
            return Ok(());
        };
        let mut spans = with_capacity(self.tree().len() + 1)?;
        let storage = match fs::stat_path(Path::new(&path)).with_call("stat", &path)? {
            None => {
                let mut file = NewFile::again(&**lost)?;
                for line in lines {
                    check_length(line, &path)?;
                    let span = file.line(line)?;
                    push(&mut spans, Some(span))?;
                }
                file.finish(Durability::Fsync)?.with_durability(self.options.durability)
            }
            Some(now) if now.size == 0 => {
                let mut all = Vec::new();
                for line in lines {
                    check_length(line, &path)?;
                    push(&mut spans, Some(LineSpan::of(all.len() as u64, line.len())))?;
                    append(&mut all, line).and_then(|()| append(&mut all, b"\n"))?;
                }
                all.pop();
                let mut storage = FileStorage::open(&path)?.with_durability(self.options.durability);
                self.check_owner(&storage, lost.is_open())?;
                if !write_into_empty(&mut storage, all)? {
                    return Err(Error::changed(&path, "another process writes to it"));
                }
                storage
            }
            Some(_) => return Err(Error::changed(&path, "another file has taken its place")),
        };
        self.lock.recheck();
        self.move_to_file(storage, spans, Vec::new());
        self.state = SyncState::Current;
        *self.has_mismatch.get_mut() = false;
        self.history.repaired(WRITTEN_AGAIN);
        Ok(())
    }
}

/// Writes lines into an empty file, of which the last lacks its newline. False if another process wrote first.
pub(in crate::session) fn write_into_empty(storage: &mut FileStorage, mut lines: Vec<u8>) -> Result<bool> {
    let span = storage.append(&mut lines)?;
    if span.offset != 0 {
        storage.set_shared();
        storage.rollback_append(span, part(&lines, 0..span.len as usize, "the written lines")?)?;
    }
    Ok(span.offset == 0)
}
