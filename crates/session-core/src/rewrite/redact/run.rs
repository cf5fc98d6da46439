//! A redaction from the lock to the report. It starts over if another program changes the file meanwhile.

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

/// What is taken out.
#[derive(Debug)]
enum Target {
    /// A text; of these entries only, if they are given by their ids.
    Text(Needle, Option<HashSet<Vec<u8>>>),
    /// What the entries with these ids say.
    Entries(HashSet<Vec<u8>>),
    /// Lines, and copies of them.
    Lines(LineRedactions),
}

/// What is taken out, and what takes its place. Texts and ids are WTF-8.
#[derive(Debug)]
pub struct Redaction {
    target: Target,
    /// A JSON string, which replaces each text of an entry that loses what it says.
    replacement: String,
}

impl Redaction {
    /// Takes out a text; of these entries only, if they are given by their ids.
    ///
    /// # Errors
    ///
    /// `InvalidArgument`: the text is empty, or it or the replacement has more than 1 MiB.
    pub fn text(text: &[u8], entries: Option<HashSet<Vec<u8>>>, replacement: &[u8]) -> Result<Self> {
        Self::new(Target::Text(Needle::new(text, replacement)?, entries), replacement)
    }

    /// Takes out what the entries with these ids say. An error (`System`) if there is no memory for the replacement.
    pub fn entries(entries: HashSet<Vec<u8>>, replacement: &[u8]) -> Result<Self> {
        Self::new(Target::Entries(entries), replacement)
    }

    /// Takes out lines. What differs from such a line only in its parent gets what replaces the line, below its own parent. Other copies
    /// of an entry (lines with its type, timestamp and id) stay as they are, unless the line is of another session.
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
    /// The entry's id; None for a line that is not an entry with one.
    pub id: Option<String>,
    /// The SHA-256 of the bytes of the line, as it was and as it is.
    pub hash: String,
    /// See `hash`.
    pub new_hash: String,
    /// The line as it is.
    #[serde(skip)]
    pub line: Vec<u8>,
    /// The session for which it was changed: that of the `LineRedaction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The report on a redaction.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RedactReport {
    /// The lines of the session file.
    pub lines: Vec<RedactedLine>,
    /// The paths of the backups that were changed.
    pub backups: Vec<String>,
    /// The temporary files that contained it, which were removed: dead processes left them in the directory.
    pub temporary_files: Vec<String>,
    /// How many lines of all these files still hold what was to be taken out, or could not be read.
    pub left: u64,
}

/// Takes something out of the session file at `path`, and out of its backups; a relative path is made absolute. `is_dry_run`: only tells
/// what would be changed.
///
/// Each file is replaced as a whole. Lines that other programs append meanwhile are redacted, too. Temporary files that dead processes left
/// in the directory are removed. If `path` leads to a directory, that is all that is done. If `left` of the report is not 0, something
/// remains. So it does elsewhere: in what the catalog has of the file (`catalog::forget_file` takes that out), in forks and
/// branches of the session, in the sessions of its subagents, in stores, and in copies. Each of these files is redacted by itself.
/// Errors are those of [`repair`](crate::rewrite::repair::repair), but some of the backups may be changed then. A file that is not a session
/// is an error only if it holds what was to be taken out.
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
    // The file says which entries the lines of a backup are. It is changed last: once it is, nothing of this is left to do.
    // The new lines are in memory once.
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

/// What lines that are in no session file become, such as those of a store: those that change. Where the file at an
/// absolute path has the entry, whose line may have been edited there, what that becomes takes the place.
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

/// The files that a migration and repairs left beside a session file.
fn backups_of(path: &str) -> Result<Vec<String>> {
    let target = fs::resolve_links(Path::new(path)).with_call("readlink", path)?;
    let backups = backup::backups_of(&target).with_call("scandir", path)?;
    Ok(backups.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect())
}

/// Removes the temporary files of dead processes from a directory. The report names those that contain what is to be taken out; of those
/// that cannot be removed it counts the lines as left.
fn redact_temporary_files(dir: &Path, redaction: &Redaction, is_dry_run: bool) -> Result<RedactReport> {
    let mut report = RedactReport::default();
    for temporary in sweep::abandoned(dir) {
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

/// What tells which lines of backups are those of an entry that is taken out.
#[derive(Default)]
struct Identities {
    /// Those of the entries that were found by their ids, or by lines: with their ids, and without.
    found: HashSet<LineIdentity>,
    /// Those of the file's entries, with their ids.
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

    /// The new version of a line; None if it stays.
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

    /// Whether a line without a match of its own belongs to an entry that is taken out. In a backup, from before a migration or a repair,
    /// the entry may have no id or another one.
    fn is_other_line(&self, [with_id, without_id]: [LineIdentity; 2], has_id: bool) -> bool {
        let Identities { found, in_file } = &*self.identities;
        if self.is_backup {
            found.contains(&with_id) || found.contains(&without_id) && !in_file.contains(&with_id)
        } else {
            !has_id && found.contains(&with_id)
        }
    }

    /// Whether a line still holds what was to be taken out. `is_named`: it is one of an entry that is.
    fn is_left(&self, line: &[u8], is_named: bool, is_object: bool) -> bool {
        // What a damaged line says of an entry cannot be told from the rest of it.
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
                // It is too long to be read, and stays.
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
