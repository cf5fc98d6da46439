//! Entries and messages of a session as Rust values.
//! [`agent_message`](crate::format::agent_message#what-a-typed-value-does-not-keep) lists the parts of a line that such
//! a value does not keep.

use serde_json::{json, Map, Value};

use super::append::NewEntry;
use super::session::Session;
use crate::base::error::{Error, ErrorCode, Result};
use crate::base::memory::{push, with_capacity};
use crate::base::time::Time;
use crate::base::wtf8::shown;
use crate::context::context_edit::{edited, Edited};
use crate::context::projection::{project, Contribution, Step};
use crate::format::agent_message::{AgentMessage, Role};
use crate::format::kind_facts::MadeMessage;
use crate::format::session_entry::{MessageEntry, OwnFields, SessionEntry};
use crate::json::string::without_lone_surrogates;
use crate::tree::RowNo;

/// The context for the model at an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The messages that the model sees.
    pub messages: Vec<AgentMessage>,
    /// The last thinking level of the path; `off` if the path has none.
    pub thinking_level: String,
    /// The last model of the path; None if the path has none.
    pub model: Option<ModelRef>,
}

/// A model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRef {
    /// The provider of the model.
    pub provider: String,
    /// The model's id.
    pub model_id: String,
}

impl Session {
    /// An entry; None if there is no such row. If the system refuses memory for the value, the process ends.
    ///
    /// # Errors
    ///
    /// The errors of [`line`](Self::line), and `SessionInvalid` if the entry is nested too deeply for `serde_json`, or
    /// has a number beyond the range of `f64`.
    pub fn entry(&self, row: RowNo) -> Result<Option<SessionEntry>> {
        Ok(self.value(row)?.map(SessionEntry::from))
    }

    /// The message of an entry; None if there is no such row, or if it is not a message entry. If the system refuses
    /// memory for the value, the process ends.
    ///
    /// # Errors
    ///
    /// The errors of [`entry`](Self::entry).
    pub fn message(&self, row: RowNo) -> Result<Option<AgentMessage>> {
        match self.entry(row)?.map(|entry| entry.fields) {
            Some(OwnFields::Message(MessageEntry { message, .. })) => Ok(Some(message)),
            _ => Ok(None),
        }
    }

    /// Appends a message as a child of the leaf, at a time in milliseconds since 1970. Returns the row of its entry.
    ///
    /// ```
    /// # use pi_session_core::{NewHeader, Session};
    /// use pi_session_core::agent_message::AgentMessage;
    /// # let header = NewHeader { id: "s", cwd: "/", parent: None, time: 0.0 };
    /// # let mut session = Session::create(None, &header, Default::default())?;
    /// let now = 1767225600000.0;
    /// let row = session.append_message(AgentMessage::user("Hello", now), now)?;
    /// assert_eq!(session.message(row)?, Some(AgentMessage::user("Hello", now)));
    /// # Ok::<(), pi_session_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`append`](Self::append).
    pub fn append_message(&mut self, message: AgentMessage, time: f64) -> Result<RowNo> {
        self.append(&NewEntry::of(&MessageEntry::from(message).into(), time)?)
    }

    /// The context of the path to an entry, normally the leaf. None is before the first entry. A summary has no time if
    /// its entry's timestamp is not ISO, because only JavaScript can parse such dates. If the system refuses memory for
    /// the values, the process ends.
    ///
    /// # Errors
    ///
    /// The errors of [`entry`](Self::entry).
    pub fn context(&self, end: Option<RowNo>) -> Result<Context> {
        let path = end.map_or(Ok(Vec::new()), |end| self.tree().path(end))?;
        let projection = project(self.tree(), &path)?;
        let mut messages = with_capacity(projection.steps.len())?;
        for step in &projection.steps {
            for message in self.messages_of(step)? {
                push(&mut messages, AgentMessage::from(message))?;
            }
        }
        let settings = projection.settings;
        let level = settings.thinking_level.map(|row| self.value(row)).transpose()?.flatten();
        let level = level.as_ref().and_then(|entry| entry.get("thinkingLevel")).and_then(Value::as_str);
        let model = settings.model.map(|row| self.value(row)).transpose()?.flatten();
        let model = model.map(|entry| {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            match entry.get("message") {
                Some(message) => {
                    ModelRef { provider: text(message.get("provider")), model_id: text(message.get("model")) }
                }
                None => ModelRef { provider: text(entry.get("provider")), model_id: text(entry.get("modelId")) },
            }
        });
        Ok(Context { messages, thinking_level: level.unwrap_or("off").to_owned(), model })
    }

    /// An entry as JSON; None if there is no such row. Each lone surrogate becomes U+FFFD.
    fn value(&self, row: RowNo) -> Result<Option<Value>> {
        let Some(line) = self.line(row)? else { return Ok(None) };
        serde_json::from_slice(&without_lone_surrogates(line)).map(Some).map_err(|error| {
            let text = format!("Entry {} cannot be read: {error}", shown(self.tree().id_of(row)));
            Error::of_file(ErrorCode::SessionInvalid, text, self.file().unwrap_or_default())
        })
    }

    /// The messages that a step of a projection adds to the context.
    fn messages_of(&self, step: &Step) -> Result<Vec<Value>> {
        if step.gives == Contribution::Nothing {
            return Ok(Vec::new());
        }
        let replacement = step.edit.map(|row| self.value(row)).transpose()?.flatten();
        let replacement = replacement.as_ref().and_then(|edit| edit.get("replacement"));
        if replacement.is_some_and(Value::is_null) {
            return Ok(Vec::new());
        }
        let Some(mut entry) = self.value(step.row)? else { return Ok(Vec::new()) };
        let time = match self.tree().row(step.row).map(|row| row.time) {
            Some(Time::At(ms)) if !ms.is_nan() => Some(json!(ms as i64)),
            _ => None,
        };
        let mut take = |key: &str| entry.get_mut(key).map(Value::take);
        let mut messages = match step.gives {
            Contribution::Nothing => Vec::new(),
            Contribution::Message | Contribution::MessageEmptyList => Vec::from_iter(take("message")),
            Contribution::MessageEmptyText => {
                let mut message = take("message");
                if let Some(fields) = message.as_mut().and_then(Value::as_object_mut) {
                    fields.insert("content".to_owned(), json!(""));
                }
                Vec::from_iter(message)
            }
            Contribution::Made(kind) => {
                let Some(MadeMessage { role, fields, before, .. }) = kind.made() else { return Ok(Vec::new()) };
                let before = before.and_then(&mut take).filter(|message| !message.is_null());
                let mut made = Map::from_iter([("role".to_owned(), json!(role))]);
                let mut field = |name: &str| match (name, take(name)) {
                    // As in pi.
                    ("content", None | Some(Value::Null)) => Some(json!([])),
                    (_, value) => value,
                };
                made.extend(fields.iter().filter_map(|name| Some(((*name).to_owned(), field(name)?))));
                made.extend(time.map(|time| ("timestamp".to_owned(), time)));
                before.into_iter().chain([Value::Object(made)]).collect()
            }
        };
        if let Some(content) = replacement.and_then(|replacement| replacement.get("content")) {
            for message in &mut messages {
                replace_content(message, content);
            }
        }
        Ok(messages)
    }
}

/// Replaces the content of a message, if its role allows it.
fn replace_content(message: &mut Value, content: &Value) {
    let role = message.get("role").and_then(Value::as_str);
    let role = role.map_or(Role::Other, |role| Role::from_name(role.as_bytes()));
    let content = match edited(role, content.is_string()) {
        Edited::Unchanged => return,
        Edited::WithContent => content.clone(),
        Edited::WithTextBlock => json!([{ "type": "text", "text": content }]),
    };
    if let Some(fields) = message.as_object_mut() {
        fields.insert("content".to_owned(), content);
    }
}
