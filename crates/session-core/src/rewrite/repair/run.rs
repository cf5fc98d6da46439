//! A repair from the lock to the report. It starts over if another program changes the file in the meantime.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::header;
use super::plan::RepairPlan;
use super::repair_log::{Repair, RepairLog};
use crate::base::error::{Error, ErrorCode, Result};
use crate::base::paths::absolute_text;
use crate::format::header::Version;
use crate::index::surveyed_line::{LineClass, SurveyedLine};
use crate::index::verify::{verify, Survey, VerifyReport};
use crate::locks::lock_file::SessionLockGuard;
use crate::rewrite::migrate::Migrator;
use crate::rewrite::replace::{retried, Backup};

/// The report on a repair.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RepairReport {
    /// The path of the file.
    pub path: String,
    /// The path of the backup with the original; None if there was nothing to repair.
    pub backup: Option<String>,
    /// The report on the file before the repair.
    pub before: Arc<VerifyReport>,
    /// The report on the file after the repair.
    pub after: Arc<VerifyReport>,
    /// The first repairs by line, at most 1,000.
    pub repairs: Vec<Repair>,
    /// The number of repairs.
    pub repair_count: u64,
}

/// Repairs the session file at `path`. A relative path is resolved. A file without damage is not changed. `now` is the
/// time in ms since 1970, for a header without one.
///
/// Lines that other programs append in the meantime are copied unchanged. The time and the length of the new file are
/// linear in the length of the old one.
///
/// # Errors
///
/// `SessionInvalid`: the file is not a session of pi, because it has neither a header nor an entry of one of pi's
/// kinds, or because it has another program's format. `SessionLocked`: another process has its lock, or a session that
/// does not share it ([`Lock::ExclusiveProcess`](crate::base::options::Lock::ExclusiveProcess) does). `SessionChanged`:
/// others keep writing to it. `System`: it cannot be read or written.
///
/// Then nothing is changed, except if the error came after the new file was renamed: then the original is in the backup
/// (`<file>.bak`, or `<file>.v1.bak` of an old version), which is complete.
pub fn repair(path: impl AsRef<Path>, now: f64) -> Result<RepairReport> {
    let path = &absolute_text(path.as_ref())?;
    let good = Arc::new(verify(path)?);
    if good.ok {
        return Ok(done(path, good.clone(), good, RepairLog::default(), None));
    }
    // Verified again, because the file may have changed before the lock was taken.
    let _lock = SessionLockGuard::join(path)?;
    let mut before = None;
    let mut repairs = RepairLog::default();
    let mut backup = None;
    let after = retried(path, "it is repaired", |original| {
        let storage = original.storage();
        let survey = Survey::of(storage)?;
        let found = Arc::new(survey.report(path, storage)?);
        if found.ok {
            return Ok(Some(found));
        }
        if let Some(other) = found.other_format {
            return Err(Error::other_format(path, other.words()));
        }
        before.get_or_insert(found);
        let mut made = RepairLog::default();
        let header = header::find(storage, &survey, now)?;
        let version = survey.header.as_ref().filter(|_| header.is_none()).map(|header| header.version);
        if let Some(version) = version.filter(|version| *version != Version::Current) {
            made.push(1, &["migrated to version 3"])?;
            if let Some(replaced) = original.replace(Backup::OldVersion, &mut Migrator::new(version).keeping_time())? {
                backup.get_or_insert(replaced.backup);
                repairs.append(made);
            }
            return Ok(None);
        }
        let header_line = header.as_ref().map(|header| header.line);
        let is_lost = |line: &SurveyedLine| {
            matches!(line.what, LineClass::Damaged(_)) && header_line.is_some_and(|header| header != Some(line.number))
        };
        let is_anything_lost = survey.lines.iter().any(is_lost);
        let mut plan = RepairPlan::of(storage, survey, header, &mut made)?;
        if is_anything_lost && plan.entries.is_empty() {
            // They may be entries of version 1, which have no ids.
            let what =
                "Session cannot be repaired: its header is damaged, and no line after it is an entry of version 3";
            return Err(Error::of_file(ErrorCode::SessionInvalid, what, path));
        }
        let Some(replaced) = original.replace(Backup::Repaired, &mut plan)? else { return Ok(None) };
        backup.get_or_insert(replaced.backup);
        repairs.append(made);
        Ok(Some(Arc::new(verify(path)?)))
    })?;
    let before = before.unwrap_or_else(|| after.clone());
    Ok(done(path, before, after, repairs, backup))
}

fn done(
    path: &str,
    before: Arc<VerifyReport>,
    after: Arc<VerifyReport>,
    mut repairs: RepairLog,
    backup: Option<PathBuf>,
) -> RepairReport {
    repairs.shorten();
    let backup = backup.map(|path| path.to_string_lossy().into_owned());
    RepairReport { path: path.into(), backup, before, after, repairs: repairs.kept, repair_count: repairs.count }
}
