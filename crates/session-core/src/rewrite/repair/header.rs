//! The header of a file that has no header as a line of its own.

use crate::base::error::{Error, ErrorCode, Result};
use crate::base::memory::{self, copy_of_bytes};
use crate::base::time::{timestamp, Time};
use crate::format::header::{new_header_line, Header, Version};
use crate::format::ids::{check_session_id, session_id};
use crate::index::salvage::{damaged_text, pieces, Fields, SalvagedPiece};
use crate::index::surveyed_line::LineClass;
use crate::index::verify::Survey;
use crate::json::reader::{read, Raw};
use crate::json::string::owned_string;
use crate::lines::line_reader::owned_text;
use crate::storage::storage::Storage;

/// A header that is not a line of its own.
pub(super) struct SalvagedHeader {
    pub text: Vec<u8>,
    /// The number of the line that contains it, counted from 1; None if no line does.
    pub line: Option<u64>,
    /// Whether it is unchanged. Otherwise it is composed of its remaining fields.
    pub whole: bool,
}

/// Finds the header of a file that has no header as a line of its own; None if it has one. Fails if the header has an
/// older version. `now` is the time in ms since 1970.
pub(super) fn find(storage: &dyn Storage, survey: &Survey, now: f64) -> Result<Option<SalvagedHeader>> {
    let path = storage.name();
    let mut incomplete = None;
    for line in &survey.lines {
        match line.what {
            LineClass::Header => return Ok(None),
            LineClass::Damaged(_) => {}
            LineClass::Entry => continue,
        }
        let text = damaged_text(storage, line)?.unwrap_or_default();
        for piece in pieces(&text).filter(SalvagedPiece::is_header) {
            let header = piece.whole.map_or(Ok(None), Header::read)?;
            let stated = piece.fields.get("version").and_then(read::<Raw<'_>>);
            let version = match (&header, stated) {
                (Some(header), _) => header.version,
                (None, Some(stated)) => Version::of(Some(&stated))?,
                // The version of an incomplete header may be unknown. Entries of version 1 could not be kept anyway.
                (None, None) => Version::Current,
            };
            if version != Version::Current {
                let what = "Session cannot be repaired: its header is damaged, and of a version before 3";
                return Err(Error::of_file(ErrorCode::SessionInvalid, what, path));
            }
            let salvaged = |text, whole| Some(SalvagedHeader { text, line: Some(line.number), whole });
            if let Some(text) = piece.whole.filter(|_| header.is_some()) {
                return Ok(salvaged(copy_of_bytes(text.as_bytes())?, true));
            }
            if incomplete.is_none() {
                incomplete = salvaged(composed(path, Some(&piece.fields), now)?, false);
            }
        }
    }
    if incomplete.is_none() {
        incomplete = Some(SalvagedHeader { text: composed(path, None, now)?, line: None, whole: false });
    }
    Ok(incomplete)
}

/// A header, composed of the remaining fields of an incomplete one, the file's name and the time.
fn composed(path: &str, left: Option<&Fields<'_>>, now: f64) -> Result<Vec<u8>> {
    let field = |name| -> memory::Result<Option<String>> {
        let text = left.and_then(|left| left.get(name)).map_or(Ok(None), owned_string)?;
        Ok(text.map(owned_text).transpose()?.filter(|text| !text.is_empty()))
    };
    let name = std::path::Path::new(path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let (time, id) = name.split_once('_').unwrap_or_default();
    let id_in_name = || Some(id.to_owned()).filter(|id| check_session_id(id.as_bytes()).is_ok());
    let id = field("id")?.or_else(id_in_name).unwrap_or_else(|| session_id(now));
    let time = match field("timestamp")?.or_else(|| time_of(time)) {
        Some(time) => time,
        None => timestamp(now)?,
    };
    let cwd = field("cwd")?.unwrap_or_default();
    let parent = match field("parentSession")? {
        None => field("branchedFrom")?,
        parent => parent,
    };
    Ok(new_header_line(&id, &time, &cwd, parent.as_deref())?)
}

/// The time in the name of a session file.
fn time_of(name: &str) -> Option<String> {
    let (date, time) = name.split_once('T')?;
    let [hour, minute, rest] = <[&str; 3]>::try_from(time.splitn(3, '-').collect::<Vec<_>>()).ok()?;
    let time = format!("{date}T{hour}:{minute}:{}", rest.replace('-', "."));
    matches!(Time::from_text(time.as_bytes()), Time::At(_)).then_some(time)
}
