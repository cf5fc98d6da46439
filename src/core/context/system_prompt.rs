//! The replay of system messages: one message that says what all of them together say. A compaction carries it, so
//! that what it drops of the prompt is not lost.
//!
//! Section values and tools are the caller's objects; here they are handles of any type.

/// One system message. Names are WTF-8.
#[derive(Debug, Clone)]
pub struct SystemMessage<T> {
    /// The text of its content: a text as it is, the text blocks of a list joined by line feeds.
    pub text: Vec<u8>,
    /// Sections by name; None removes one.
    pub sections: Vec<(Vec<u8>, Option<T>)>,
    /// The names of the tools it takes away, which happens before it adds any.
    pub removed: Vec<Vec<u8>>,
    /// The tools it adds, by name.
    pub added: Vec<(Vec<u8>, T)>,
    /// When it was said.
    pub date: Date,
}

/// What a system message's `timestamp` is. Only whether there is one matters: the replay has a date of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Date {
    Missing,
    Null,
    Given,
}

/// What a row of system messages says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed<T> {
    pub content: Vec<u8>,
    pub sections: Vec<(Vec<u8>, T)>,
    pub tools: Vec<(Vec<u8>, T)>,
}

/// Replays system messages in order. None if there is none, or none that is dated, and no tool is left.
pub fn replay<T>(messages: impl IntoIterator<Item = SystemMessage<T>>) -> Option<Replayed<T>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut sections = Vec::new();
    let mut tools = Vec::new();
    let mut date = Date::Missing;
    for message in messages {
        // The first date counts; one that is null gives way to the next message's, even to none.
        if date != Date::Given {
            date = message.date;
        }
        texts.extend(Some(message.text).filter(|text| !text.is_empty()));
        for (name, value) in message.sections {
            match value {
                Some(value) => put(&mut sections, name, value),
                None => sections.retain(|(have, _)| *have != name),
            }
        }
        for name in message.removed {
            tools.retain(|(have, _)| *have != name);
        }
        for (name, tool) in message.added {
            put(&mut tools, name, tool);
        }
    }
    (date != Date::Missing || !tools.is_empty()).then(|| Replayed {
        content: texts.join(&b"\n\n"[..]),
        sections,
        tools,
    })
}

/// Sets a name's value; a name that is there keeps its place.
fn put<T>(list: &mut Vec<(Vec<u8>, T)>, name: Vec<u8>, value: T) {
    match list.iter_mut().find(|(have, _)| *have == name) {
        Some((_, have)) => *have = value,
        None => list.push((name, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(
        text: &str,
        sections: &[(&str, Option<u8>)],
        removed: &[&str],
        added: &[(&str, u8)],
    ) -> SystemMessage<u8> {
        let name = |name: &str| name.as_bytes().to_vec();
        SystemMessage {
            text: name(text),
            sections: sections.iter().map(|(n, value)| (name(n), *value)).collect(),
            removed: removed.iter().map(|n| name(n)).collect(),
            added: added.iter().map(|(n, tool)| (name(n), *tool)).collect(),
            date: Date::Given,
        }
    }

    #[test]
    fn later_messages_patch_earlier_ones() {
        let all = replay([
            message("a", &[("x", Some(1)), ("y", Some(2))], &[], &[("read", 1), ("write", 2)]),
            message("", &[("x", Some(3)), ("y", None)], &["read"], &[("read", 4), ("write", 5)]),
            message("b", &[("y", Some(6))], &[], &[]),
        ])
        .expect("messages");
        assert_eq!(all.content, b"a\n\nb");
        assert_eq!(all.sections, [(b"x".to_vec(), 3), (b"y".to_vec(), 6)]);
        assert_eq!(all.tools, [(b"write".to_vec(), 5), (b"read".to_vec(), 4)]);
        assert!(replay(Vec::<SystemMessage<u8>>::new()).is_none());
        let undated = SystemMessage { date: Date::Missing, ..message("a", &[], &[], &[]) };
        assert!(replay([undated]).is_none());
    }
}
