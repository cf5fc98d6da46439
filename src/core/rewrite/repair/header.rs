//! The header of a file that has none as a line of its own.

use super::line_text::{text_at, unreadable_text};
use super::repair_log::Repair;
use super::salvage::{pieces, Fields};
use crate::core::base::error::Result;
use crate::core::base::time::Time;
use crate::core::format::entry::{Damage, Kind};
use crate::core::format::header::{new_header_line, Header, Version};
use crate::core::format::ids::{check_session_id, session_id};
use crate::core::json::reader::{read, Raw};
use crate::core::json::{string_bytes, ObjectText};
use crate::core::rewrite::migrate::NewHeader;
use crate::core::rewrite::verify::{LineClass, LineFault, Survey};
use crate::core::storage::storage::Storage;

/// A header that is not a line of its own.
pub struct Salvaged {
    pub text: Vec<u8>,
    pub version: Version,
    /// The line that it stands in, counted from 1; none if nothing is left of it.
    pub line: Option<u64>,
    /// Whether it is unchanged, not composed of what is left.
    pub whole: bool,
    /// The other whole objects in that line.
    beside: Vec<Vec<u8>>,
}

impl Salvaged {
    /// The header in the form that a migration takes.
    pub fn for_migration(self) -> NewHeader {
        NewHeader { text: self.text, instead: self.line.map(|line| (line, self.beside)) }
    }
}

/// The header for a file whose first header is not a line of its own; None if it is one. `now` is the time, ms since 1970, and its text.
pub fn find(storage: &dyn Storage, survey: &Survey, now: (f64, &str)) -> Result<Option<Salvaged>> {
    if survey.header_leads {
        return Ok(None);
    }
    let mut torn = None;
    for line in &survey.lines {
        match line.what {
            LineClass::Header => return Ok(None),
            LineClass::Unreadable(_) => {}
            LineClass::Entry | LineClass::Blank => continue,
        }
        let Some(text) = unreadable_text(storage, line)? else { continue };
        if memchr::memmem::find(text.as_bytes(), b"session").is_none() {
            continue;
        }
        let pieces = pieces(&text);
        let beside = |header: Option<usize>| {
            let others = pieces.iter().enumerate().filter(|(at, _)| Some(*at) != header);
            others.filter_map(|(_, piece)| piece.whole).map(|text| text.as_bytes().to_vec()).collect()
        };
        for (at, piece) in pieces.iter().enumerate() {
            if let Some((whole, header)) = piece.whole.and_then(|text| Some((text, Header::read(text)?))) {
                return Ok(Some(Salvaged {
                    text: whole.as_bytes().to_vec(),
                    version: header.version,
                    line: Some(line.number),
                    whole: true,
                    beside: beside(Some(at)),
                }));
            }
            if torn.is_none() && piece.is_header() {
                let fields = &piece.fields;
                let stated = fields.get("version").and_then(|text| read::<Raw<'_>>(text).ok());
                torn = Some(Salvaged {
                    text: composed(storage.name(), Some(fields), now),
                    version: match stated {
                        Some(stated) => Version::of(Some(&stated)),
                        None => version_of(storage, survey)?,
                    },
                    line: Some(line.number),
                    whole: false,
                    beside: beside(Some(at)),
                });
            }
        }
    }
    if torn.is_some() {
        return Ok(torn);
    }
    Ok(Some(Salvaged {
        text: composed(storage.name(), None, now),
        version: version_of(storage, survey)?,
        line: None,
        whole: false,
        beside: Vec::new(),
    }))
}

/// The version of a file whose header states none: entries without ids are of version 1.
fn version_of(storage: &dyn Storage, survey: &Survey) -> Result<Version> {
    if survey.entries > 0 {
        return Ok(Version::Current);
    }
    for line in survey.lines.iter().filter(|line| line.what == LineClass::Unreadable(LineFault::Damage(Damage::NoId))) {
        let text = text_at(storage, line.place())?;
        let kind = ObjectText::read(&text).and_then(|entry| Some(Kind::from_name(&string_bytes(entry.get("type")?)?)));
        // Any object lacks an id; what else an entry of the first version has is a type.
        if kind.is_some_and(|kind| kind != Kind::Unknown) {
            return Ok(Version::V1);
        }
    }
    Ok(Version::Current)
}

/// A header composed of what is left of one, the file's name and the time.
fn composed(path: &str, left: Option<&Fields<'_>>, (ms, now): (f64, &str)) -> Vec<u8> {
    let field = |name| {
        let text = string_bytes(left?.get(name)?)?;
        Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty())
    };
    let name = std::path::Path::new(path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let (time, id) = name.split_once('_').unwrap_or_default();
    let id_in_name = || Some(id.to_owned()).filter(|id| check_session_id(id.as_bytes()).is_ok());
    let id = field("id").or_else(id_in_name).unwrap_or_else(|| session_id(ms));
    let time = field("timestamp").or_else(|| time_of(time)).unwrap_or_else(|| now.to_owned());
    let cwd = field("cwd").unwrap_or_default();
    let parent = field("parentSession").or_else(|| field("branchedFrom"));
    new_header_line(&id, &time, &cwd, parent.as_deref())
}

/// The time in the name of a session file.
fn time_of(name: &str) -> Option<String> {
    let (date, time) = name.split_once('T')?;
    let [hour, minute, rest] = <[&str; 3]>::try_from(time.splitn(3, '-').collect::<Vec<_>>()).ok()?;
    let time = format!("{date}T{hour}:{minute}:{}", rest.replace('-', "."));
    matches!(Time::from_text(time.as_bytes()), Time::At(_)).then_some(time)
}

/// The entry of the report on a composed header. A whole one is reported with its line.
pub fn header_repair(header: &Salvaged) -> Option<Repair> {
    let what = match header.line {
        None => "a header was written",
        Some(_) if !header.whole => "a header was written with what is left of it",
        Some(_) => return None,
    };
    Some(Repair { line: header.line.unwrap_or(1), what: what.into() })
}
