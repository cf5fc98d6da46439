//! Replays system messages: makes one message with the same meaning as all of them. A compaction contains it, because
//! otherwise the prompt would be lost with the entries before the compaction.
//!
//! Values of sections, and tools, are objects of the caller; here they are handles of any type.

use std::collections::HashMap;

use crate::base::memory::{self, collect, copy_of_bytes, insert, joined, push};

/// One system message. Names are WTF-8.
#[derive(Debug, Clone)]
pub struct SystemMessage<T> {
    /// The text of the content: a string as it is, or the text blocks of a list joined by line feeds.
    pub text: Vec<u8>,
    /// Sections by name; None removes a section.
    pub sections: Vec<(Vec<u8>, Option<T>)>,
    /// The names of removed tools. Removals apply before additions.
    pub removed: Vec<Vec<u8>>,
    /// The added tools, by name.
    pub added: Vec<(Vec<u8>, T)>,
    /// The kind of its timestamp.
    pub date: Date,
}

/// The kind of a system message's `timestamp`. Its value does not matter, because the replay has a date of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Date {
    /// The message has no timestamp.
    Missing,
    /// The timestamp is null.
    Null,
    /// Any other value.
    Given,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed<T> {
    pub content: Vec<u8>,
    pub sections: Vec<(Vec<u8>, T)>,
    pub tools: Vec<(Vec<u8>, T)>,
}

/// Replays system messages in order. None if no message has a date and no tool is left.
pub fn replay<T>(messages: impl IntoIterator<Item = SystemMessage<T>>) -> memory::Result<Option<Replayed<T>>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut sections = Named::default();
    let mut tools = Named::default();
    let mut date = Date::Missing;
    for message in messages {
        // The first date counts. A null is replaced by the date of the next message, even by a missing one.
        if date != Date::Given {
            date = message.date;
        }
        if !message.text.is_empty() {
            push(&mut texts, message.text)?;
        }
        for (name, value) in message.sections {
            match value {
                Some(value) => sections.set(name, value)?,
                None => sections.remove(&name),
            }
        }
        for name in message.removed {
            tools.remove(&name);
        }
        for (name, tool) in message.added {
            tools.set(name, tool)?;
        }
    }
    if date == Date::Missing && tools.is_empty() {
        return Ok(None);
    }
    let content = joined(&texts, b"\n\n")?;
    Ok(Some(Replayed { content, sections: sections.into_values()?, tools: tools.into_values()? }))
}

/// Values by name, in the order in which the names were first set.
struct Named<T> {
    /// None for a removed value.
    values: Vec<Option<(Vec<u8>, T)>>,
    positions: HashMap<Vec<u8>, usize>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { values: Vec::new(), positions: HashMap::new() }
    }
}

impl<T> Named<T> {
    /// Sets the value of a name. A name that exists keeps its position.
    fn set(&mut self, name: Vec<u8>, value: T) -> memory::Result<()> {
        match self.positions.get(&name).and_then(|&position| self.values.get_mut(position)) {
            Some(slot) => *slot = Some((name, value)),
            None => {
                insert(&mut self.positions, copy_of_bytes(&name)?, self.values.len())?;
                push(&mut self.values, Some((name, value)))?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(slot) = self.positions.remove(name).and_then(|position| self.values.get_mut(position)) {
            *slot = None;
        }
    }

    fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn into_values(self) -> memory::Result<Vec<(Vec<u8>, T)>> {
        collect(self.values.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests;
