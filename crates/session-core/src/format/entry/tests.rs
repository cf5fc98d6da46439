use super::*;
use crate::format::agent_message::Role;

fn read_line<T>(line: &str, then: impl FnOnce(Line<'_>) -> T) -> T {
    super::read_line(line, then).expect("memory")
}

fn parent(line: &str) -> Option<Parent<'static>> {
    read_line(line, |line| match line {
        Line::Entry(head) => Some(match head.parent {
            Parent::Id(id) => Parent::Id(Cow::Owned(id.into_owned())),
            Parent::Missing => Parent::Missing,
            Parent::Null => Parent::Null,
            Parent::Number(n) => Parent::Number(n),
            Parent::Other => Parent::Other,
        }),
        _ => None,
    })
}

#[test]
fn kinds_of_parents_are_distinguished() {
    assert_eq!(parent(r#"{"id":"a"}"#), Some(Parent::Missing));
    assert_eq!(parent(r#"{"id":"a","parentId":null}"#), Some(Parent::Null));
    assert_eq!(parent(r#"{"id":"a","parentId":5}"#), Some(Parent::Number(5.0)));
    assert_eq!(parent(r#"{"id":"a","parentId":{}}"#), Some(Parent::Other));
    assert_eq!(parent(r#"{"parentId":"\u0062","id":"a"}"#), Some(Parent::Id(Cow::Borrowed(b"b"))));
}

#[test]
fn lines_that_are_not_entries_say_why() {
    let damage = |line: &str| {
        read_line(line, |line| match line {
            Line::Damaged(damage) => Some(damage),
            _ => None,
        })
    };
    assert_eq!(damage("{\"id\":\"a\""), Some(Damage::NotJson));
    assert_eq!(damage("[\"id\"]"), Some(Damage::NotAnObject));
    assert_eq!(damage("{\"id\":1}"), Some(Damage::NoId));
    assert!(read_line(" \t\r", |line| line == Line::Blank));
    assert!(read_line(r#"{"type":"session","id":"x"}"#, |line| line == Line::Header));
}

#[test]
fn odd_messages_leave_an_entry() {
    let message = |line: &str| {
        read_line(line, |line| match line {
            Line::Entry(head) => Some(head.message),
            _ => None,
        })
    };
    for none in [
        r#"{"type":"message","id":"a"}"#,
        r#"{"type":"message","id":"a","message":"\ud83d"}"#,
        r#"{"type":"message","id":"a","message":{"role":"user"},"message":5}"#,
    ] {
        assert_eq!(message(none), Some(None), "{none}");
    }
    let head = MessageHead { role: Role::User, lacks_content: false };
    let line = r#"{"message":{"content":"\ud83d","role":"user"},"type":"message","id":"a"}"#;
    assert_eq!(message(line), Some(Some(head)));
    let list = message(r#"{"type":"message","id":"a","message":[]}"#);
    assert_eq!(list, Some(Some(MessageHead { role: Role::Other, lacks_content: true })));
}
