//! What a list shows of a session: one pass over its file, looking at headers, names and messages alone.

use std::fs::{self, File};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::entry::{read_message, time_of};
use super::find::modified_ms;
use super::header::{Header, Version};
use super::json::{fields, is_json, read, Raw, Value};
use super::lines::{LineReader, WHOLE};
use super::message::AgentMessage;
use super::text::trim;
use super::time::Time;

fields! {
    /// The fields of an entry that a list looks at.
    struct ListedFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        name: V = "name",
    }
}

/// A session as a list shows it. Texts are WTF-8.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    pub path: String,
    pub id: Vec<u8>,
    /// Empty for a header without one.
    pub cwd: Vec<u8>,
    /// The newest session_info's name, unless it is empty.
    pub name: Option<Vec<u8>>,
    pub parent: Option<Vec<u8>>,
    /// The JSON text of the header's timestamp.
    pub created: Option<String>,
    /// The newest user or assistant activity, ms since 1970.
    pub active: Option<f64>,
    /// JSON texts of entry timestamps that only JavaScript can read; the newest of them counts too.
    pub odd_times: Vec<String>,
    /// The file's modification time, ms since 1970.
    pub file_modified: f64,
    /// Message entries of every role on every branch.
    pub message_count: u64,
    /// The first text of a user.
    pub first_message: Option<Vec<u8>>,
    /// All texts of users and assistants, joined by spaces.
    pub all_text: Vec<u8>,
}

/// Reads what a list shows of the file at `path`. None if it is no session, or if `cancelled` was set meanwhile.
pub fn read_info(path: &str, cancelled: &AtomicBool) -> io::Result<Option<Info>> {
    let file_modified = modified_ms(&fs::metadata(path)?);
    let mut lines = LineReader::new(File::open(path)?, 0, WHOLE);
    let mut listing: Option<(Version, Info)> = None;
    while let Some(line) = lines.next_line()? {
        if cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let text = line.text();
        match &mut listing {
            Some((version, info)) => info.take(&text, *version),
            None if !is_json(&text) => {}
            None => match Header::read(&text) {
                Some(header) => listing = Some((header.version, Info::of(path, header, file_modified))),
                None => return Ok(None),
            },
        }
    }
    Ok(listing.map(|(_, info)| info))
}

impl Info {
    fn of(path: &str, header: Header, file_modified: f64) -> Self {
        Self {
            path: path.to_owned(),
            id: header.id,
            cwd: header.cwd.unwrap_or_default(),
            name: None,
            parent: header.parent,
            created: header.timestamp,
            active: None,
            odd_times: Vec::new(),
            file_modified,
            message_count: 0,
            first_message: None,
            all_text: Vec::new(),
        }
    }

    fn take(&mut self, line: &str, version: Version) {
        let Ok(fields) = read::<ListedFields<Raw<'_>>>(line) else {
            return;
        };
        let is_entry = version == Version::V1 || fields.id.as_ref().and_then(Value::text).is_some();
        let kind = fields.kind.as_ref().and_then(Value::text).unwrap_or_default();
        match &*kind {
            b"session_info" if is_entry => {
                let name = fields.name.as_ref().and_then(Value::text).unwrap_or_default();
                self.name = Some(trim(&name).to_vec()).filter(|name| !name.is_empty());
            }
            b"message" if is_entry => {
                self.message_count += 1;
                if let Some(message) = fields.message.and_then(read_message) {
                    self.take_message(&message, fields.timestamp);
                }
            }
            _ => {}
        }
    }

    fn take_message(&mut self, message: &AgentMessage<Raw<'_>>, timestamp: Option<Raw<'_>>) {
        let role = message.head().role;
        if !role.is_conversation() || message.content.is_none() {
            return;
        }
        match message.activity().map_or_else(|| time_of(timestamp.as_ref()), Time::At) {
            Time::At(ms) if !ms.is_nan() => self.active = Some(self.active.unwrap_or(0.0).max(ms)),
            Time::At(_) => {}
            Time::Ask => self.odd_times.extend(timestamp.map(|raw| raw.get().to_owned())),
        }
        let text = message.text();
        if text.is_empty() {
            return;
        }
        if !self.all_text.is_empty() {
            self.all_text.push(b' ');
        }
        self.all_text.extend_from_slice(&text);
        if self.first_message.is_none() && role == super::message::Role::User {
            self.first_message = Some(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info_of(text: &str) -> Option<Info> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), text).expect("written");
        read_info(file.path().to_str().expect("text"), &AtomicBool::new(false)).expect("read")
    }

    #[test]
    fn a_list_shows_names_texts_and_times() {
        let info = info_of(
            r#"{"type":"session","version":3,"id":"s","cwd":"/c","branchedFrom":"/p"}
{"type":"session_info","id":"a","name":" one "}
{"type":"message","id":"b","timestamp":"2024-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}
{"type":"message","id":"c","message":{"role":"user","content":"yo","timestamp":5}}
{"type":"message","id":"d","timestamp":"Jan 5 2031","message":{"role":"user","content":null}}
{"type":"message","message":{"role":"user","content":"no id"}}
{"type":"message","id":"e"}
torn"#,
        )
        .expect("a session");
        assert_eq!(info.name.as_deref(), Some(&b"one"[..]));
        assert_eq!(info.parent.as_deref(), Some(&b"/p"[..]));
        assert_eq!((info.message_count, info.active), (4, Some(1704067200000.0)));
        assert_eq!(info.odd_times, ["\"Jan 5 2031\""]);
        assert_eq!((info.first_message.as_deref(), info.all_text.as_slice()), (Some(&b"yo"[..]), &b"hi yo"[..]));
    }

    #[test]
    fn version_1_entries_need_no_id() {
        let info = info_of("{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
        assert_eq!(info.expect("a session").message_count, 1);
    }

    #[test]
    fn what_is_no_session_is_not_listed() {
        assert_eq!(info_of("5\n{\"type\":\"session\",\"id\":\"s\"}\n"), None);
        assert_eq!(info_of(""), None);
    }
}
