//! A redaction from the lock to the report. It starts over if another program changes the file in the meantime.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::copies::{hash_of, identity_hash, identity_of, IdentityFields, LineIdentity, LineRedaction, LineRedactions};
use super::entry::blanked;
use super::text::Needle;
use crate::base::error::{Error, Result, WithCall};
use crate::base::memory::{self, copy_of, copy_of_bytes, insert_into, push};
use crate::base::paths::absolute_text;
use crate::io::fs;
use crate::json::reader::{read, Raw};
use crate::json::{quoted, string_bytes};
use crate::lines::line_reader::{line_text, owned_text};
use crate::locks::lock_file::SessionLockGuard;
use crate::locks::sweep;
use crate::rewrite::backup;
use crate::rewrite::replace::{retried, write_lines, Backup, ReadTo, Rewrite, RewriteTarget};
use crate::storage::file::FileStorage;
use crate::storage::storage::Storage;
use crate::summary::header_scan::first_header;

/// What a redaction removes.
#[derive(Debug)]
enum Target {
    /// A text. If ids are given, only in the entries with these ids.
    Text(Needle, Option<HashSet<Vec<u8>>>),
    /// The content of the entries with these ids.
    Entries(HashSet<Vec<u8>>),
    /// Lines, and copies of them.
    Lines(LineRedactions),
}

/// A request: a text or entries, and their replacement. Texts and ids are WTF-8.
#[derive(Debug)]
pub struct Redaction {
    target: Target,
    /// A JSON string that replaces each text of an entry whose content is removed.
    replacement: String,
}

impl Redaction {
    /// Removes a text. If ids are given, only in the entries with these ids.
    ///
    /// # Errors
    ///
    /// `InvalidArgument`: the text is empty, or the text or the replacement is longer than 1 MiB.
    pub fn text(text: &[u8], entries: Option<HashSet<Vec<u8>>>, replacement: &[u8]) -> Result<Self> {
        Self::new(Target::Text(Needle::new(text, replacement)?, entries), replacement)
    }

    /// Removes the content of the entries with these ids. Fails with `System` if the allocation of the replacement
    /// fails.
    pub fn entries(entries: HashSet<Vec<u8>>, replacement: &[u8]) -> Result<Self> {
        Self::new(Target::Entries(entries), replacement)
    }

    /// Removes lines. A line that differs from one of them only in its parent gets the same new line, with its own
    /// parent. Other copies of an entry (lines with the same type, timestamp and id) stay, unless the line belongs to
    /// another session.
    ///
    /// # Errors
    ///
    /// `InvalidArgument`: a new line has a line break.
    pub fn lines(lines: impl IntoIterator<Item = LineRedaction>, replacement: &[u8]) -> Result<Self> {
        Self::new(Target::Lines(LineRedactions::new(lines)?), replacement)
    }

    fn new(target: Target, replacement: &[u8]) -> Result<Self> {
        Ok(Self { target, replacement: quoted(replacement)? })
    }
}

/// A line that was changed.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactedLine {
    /// The entry's id; None if the line is not an entry with an id.
    pub id: Option<String>,
    /// The SHA-256 of the old line's bytes; `new_hash` of the new line's.
    pub hash: String,
    /// See `hash`.
    pub new_hash: String,
    /// The new line.
    #[serde(skip)]
    pub line: Vec<u8>,
    /// The session of the [`LineRedaction`] by which the line was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The report on a redaction.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RedactReport {
    /// The changed lines of the session file.
    pub lines: Vec<RedactedLine>,
    /// The paths of the backups that were changed.
    pub backups: Vec<String>,
    /// The temporary files of dead processes that contained the removed text or lines. They were deleted.
    pub temporary_files: Vec<String>,
    /// The number of lines in all these files that still contain the removed text or lines, or could not be read.
    pub left: u64,
}

/// Removes something from the session file at `path` and from its backups. A relative path is resolved. With
/// `is_dry_run` it only reports what would change.
///
/// Each file is replaced as a whole. Lines that other programs append in the meantime are redacted too. Temporary files
/// of dead processes in the directory are deleted. If `path` leads to a directory, only that is done.
///
/// If `left` of the report is not 0, something remains. It also remains in other places, each of which must be redacted
/// by itself: the catalog's data of the file (`catalog::forget_file` removes it), forks and branches of the session,
/// the sessions of its subagents, stores, and copies.
///
/// Errors are the same as for [`repair`](crate::rewrite::repair::repair), but some of the backups may then be changed.
/// A file that is not a session is an error only if it contains what should be removed.
pub fn redact(path: impl AsRef<Path>, redaction: &Redaction, is_dry_run: bool) -> Result<RedactReport> {
    let path = &absolute_text(path.as_ref())?;
    if fs::metadata(Path::new(path)).is_ok_and(|meta| meta.is_dir()) {
        return redact_temporary_files(Path::new(path), redaction, is_dry_run);
    }
    let _lock = if is_dry_run { None } else { Some(SessionLockGuard::join(path)?) };
    let is_session = first_header(RewriteTarget::hold(path)?.storage())?.is_some();
    let target = fs::resolve_links(Path::new(path)).with_call("readlink", path)?;
    let report = redact_temporary_files(target.parent().unwrap_or(&target), redaction, is_dry_run)?;
    if !is_session {
        // A file that is not a session is never changed.
        let (lines, more) = redact_file(path, true, redaction, true, &mut Identities::default())?;
        let has_nothing = lines.is_empty() && more == 0;
        return if has_nothing { Ok(report) } else { Err(Error::not_a_session(path)) };
    }
    let mut left = report.left;
    let mut identities = Identities::default();
    // The session file decides which lines of a backup belong to its entries. It is changed last, because after that
    // nothing is left to do. All new lines are in memory once.
    let planned = Some(redact_file(path, false, redaction, true, &mut identities)?).filter(|_| is_dry_run);
    let mut backups = Vec::new();
    for backup in backups_of(path)? {
        let (lines, more) = redact_file(&backup, true, redaction, is_dry_run, &mut identities)?;
        left += more;
        if !lines.is_empty() {
            backups.push(backup);
        }
    }
    let (lines, more) = planned.map_or_else(|| redact_file(path, false, redaction, false, &mut identities), Ok)?;
    left += more;
    Ok(RedactReport { lines, backups, left, ..report })
}

/// Redacts lines that are not in a session file, such as the lines of a store. Returns the lines that change. If the
/// file at the absolute path `path` has the entry, perhaps with an edited line, the redacted form of that line is
/// returned instead.
pub fn redact_lines(lines: &[Vec<u8>], redaction: &Redaction, path: Option<&str>) -> Result<Vec<RedactedLine>> {
    let mut identities = Identities::default();
    let mut redactor = Redactor::new(redaction, false, &mut identities);
    let mut entries = Vec::new();
    for line in lines {
        if redactor.line(line)?.is_some() {
            push(&mut entries, identity_of(line)?)?;
        }
    }
    let mut changed = redactor.changed;
    let Some(path) = path.filter(|_| !changed.is_empty()) else { return Ok(changed) };
    let mut own: HashMap<_, _> = entries.iter().flatten().map(|entry| (*entry, None)).collect();
    let mut identities = Identities::default();
    let mut redactor = Redactor::new(redaction, false, &mut identities);
    write_lines(RewriteTarget::hold(path)?.storage(), &mut io::sink(), false, |line| {
        if let Some(found) = identity_of(line.bytes)?.and_then(|entry| own.get_mut(&entry)) {
            *found = Some(redactor.line(line.bytes)?.map_or_else(|| copy_of_bytes(line.bytes), Ok)?);
        }
        Ok(None)
    })?;
    for (one, entry) in changed.iter_mut().zip(&entries) {
        if let Some(line) = entry.as_ref().and_then(|entry| own.get(entry)?.as_ref()) {
            (one.new_hash, one.line) = (hash_of(line), copy_of_bytes(line)?);
        }
    }
    Ok(changed)
}

/// The backups of migrations and repairs beside a session file.
fn backups_of(path: &str) -> Result<Vec<String>> {
    let target = fs::resolve_links(Path::new(path)).with_call("readlink", path)?;
    let backups = backup::backups_of(&target).with_call("scandir", path)?;
    Ok(backups.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect())
}

/// Removes the temporary files of dead processes from a directory. The report lists the files that contain what is
/// removed. If such a file cannot be deleted, its lines count as left.
fn redact_temporary_files(dir: &Path, redaction: &Redaction, is_dry_run: bool) -> Result<RedactReport> {
    let mut report = RedactReport::default();
    for temporary in sweep::abandoned(dir).with_call("scandir", &dir.to_string_lossy())? {
        let path = temporary.to_string_lossy();
        let storage = match FileStorage::open(&path) {
            Err(error) if error.is_missing() => continue,
            storage => storage?,
        };
        let mut identities = Identities::default();
        let mut redactor = Redactor::new(redaction, false, &mut identities);
        redactor.write(&storage, &mut io::sink())?;
        let lines = redactor.left + redactor.changed.len() as u64;
        drop(storage);
        match if is_dry_run { Ok(true) } else { sweep::remove_abandoned(&temporary) } {
            Ok(true) if lines > 0 => push(&mut report.temporary_files, copy_of(&path)?)?,
            Err(_) if fs::exists(&temporary) => report.left += lines,
            Ok(_) | Err(_) => {}
        }
    }
    Ok(report)
}

fn redact_file(
    path: &str,
    is_backup: bool,
    redaction: &Redaction,
    is_dry_run: bool,
    identities: &mut Identities,
) -> Result<(Vec<RedactedLine>, u64)> {
    retried(path, "it is redacted", |original| {
        let mut redactor = Redactor::new(redaction, is_backup, identities);
        redactor.write(original.storage(), &mut io::sink())?;
        if is_dry_run || redactor.changed.is_empty() {
            return Ok(Some((redactor.changed, redactor.left)));
        }
        redactor = Redactor::new(redaction, is_backup, identities);
        if original.replace(Backup::None, &mut redactor)?.is_none() {
            return Ok(None);
        }
        Ok(Some((redactor.changed, redactor.left)))
    })
}

/// Identifies the lines of backups that belong to an entry that is redacted.
#[derive(Default)]
struct Identities {
    /// The identities of the entries that were found by their ids or by lines; each with its id, and without.
    found: HashSet<LineIdentity>,
    /// The identities of the file's entries, with their ids.
    in_file: HashSet<LineIdentity>,
}

struct Redactor<'a> {
    redaction: &'a Redaction,
    is_backup: bool,
    identities: &'a mut Identities,
    changed: Vec<RedactedLine>,
    left: u64,
}

impl<'a> Redactor<'a> {
    fn new(redaction: &'a Redaction, is_backup: bool, identities: &'a mut Identities) -> Self {
        Self { redaction, is_backup, identities, changed: Vec::new(), left: 0 }
    }

    /// The new line; None if the line stays.
    fn line(&mut self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        let text = line_text(line)?;
        let identity = read::<IdentityFields<Raw<'_>>>(&text);
        let id = identity.as_ref().and_then(|identity| identity.id).map_or(Ok(None), |id| string_bytes(id.get()))?;
        let kind =
            identity.as_ref().and_then(|identity| identity.kind).map_or(Ok(None), |kind| string_bytes(kind.get()))?;
        let is_header = kind.as_deref() == Some(b"session");
        let hash_with = |id| identity_hash(identity.as_ref()?, id);
        let hashes = hash_with(id.as_deref()).zip(hash_with(None)).map(<[_; 2]>::from);
        let is_other_line = hashes.is_some_and(|hashes| self.is_other_line(hashes, id.is_some()));
        let is_one_of = |ids: &HashSet<Vec<u8>>| id.as_ref().is_some_and(|id| ids.contains(&**id));
        let (mut hash, mut is_found, mut session) = (None, false, None);
        let new = match &self.redaction.target {
            _ if is_header => None,
            Target::Text(needle, None) => needle.redacted(line)?,
            Target::Text(needle, Some(ids)) if is_one_of(ids) || is_other_line => {
                is_found = is_one_of(ids);
                needle.redacted(line)?
            }
            Target::Entries(ids) if is_one_of(ids) => {
                is_found = true;
                blanked(&text, &self.redaction.replacement)?
            }
            Target::Lines(lines) => {
                let entry = hashes.filter(|_| id.is_some()).map(|[with_id, _]| with_id);
                match lines.replacement(line, hash.insert(hash_of(line)), entry)? {
                    Some((new, of)) => {
                        (is_found, session) = (true, of);
                        new.map_or_else(|| blanked(&text, &self.redaction.replacement), |new| Ok(Some(new)))?
                    }
                    None if is_other_line => blanked(&text, &self.redaction.replacement)?,
                    None => None,
                }
            }
            Target::Entries(_) if is_other_line => blanked(&text, &self.redaction.replacement)?,
            Target::Text(..) | Target::Entries(_) => None,
        };
        for identity in hashes.into_iter().flatten().filter(|_| is_found) {
            insert_into(&mut self.identities.found, identity)?;
        }
        if let Some([with_id, _]) = hashes.filter(|_| !self.is_backup) {
            insert_into(&mut self.identities.in_file, with_id)?;
        }
        let new = new.filter(|new| new != line);
        if self.is_left(new.as_deref().unwrap_or(line), is_found || is_other_line, identity.is_some()) {
            self.left += 1;
        }
        if let Some(new) = &new {
            let id = id.map(|id| copy_of_bytes(&id).and_then(owned_text)).transpose()?;
            let hash = hash.unwrap_or_else(|| hash_of(line));
            let session = session.map(copy_of).transpose()?;
            let (new_hash, line) = (hash_of(new), copy_of_bytes(new)?);
            push(&mut self.changed, RedactedLine { id, hash, new_hash, line, session })?;
        }
        Ok(new)
    }

    /// Whether a line without a match of its own belongs to an entry that is redacted. In a backup, which was made
    /// before a migration or a repair, the entry may have no id or another one.
    fn is_other_line(&self, [with_id, without_id]: [LineIdentity; 2], has_id: bool) -> bool {
        let Identities { found, in_file } = &*self.identities;
        if self.is_backup {
            found.contains(&with_id) || found.contains(&without_id) && !in_file.contains(&with_id)
        } else {
            !has_id && found.contains(&with_id)
        }
    }

    /// Whether a line still contains the text, or a part that should be removed. `is_named`: whether it is a line of a
    /// redacted entry.
    fn is_left(&self, line: &[u8], is_named: bool, is_object: bool) -> bool {
        // In a damaged line we cannot tell the content of the entry from the rest.
        let is_damaged_one_of =
            |ids: &HashSet<Vec<u8>>| !is_object && ids.iter().any(|id| memchr::memmem::find(line, id).is_some());
        match &self.redaction.target {
            Target::Text(needle, None) => needle.is_in(line),
            Target::Text(needle, Some(ids)) => (is_named || is_damaged_one_of(ids)) && needle.is_in(line),
            Target::Entries(ids) => is_damaged_one_of(ids),
            Target::Lines(_) => false,
        }
    }
}

impl Rewrite for Redactor<'_> {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        write_lines(old, out, false, |line| match line.skipped {
            Some(_) => {
                // The line is too long to be read, so it stays.
                self.left += 1;
                Ok(None)
            }
            None => self.line(line.bytes),
        })
    }

    fn late_line(&mut self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        self.line(line)
    }
}
