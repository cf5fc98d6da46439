//! Entries, messages and contexts as Rust values.

use super::*;
use crate::base::error::ErrorCode;
use crate::format::agent_message::{AgentMessage, AssistantMessage, Content, Role, UserMessage};
use crate::format::header::NewHeader;
use crate::format::message_parts::{ContentBlock, StopReason};
use crate::format::session_entry::{CompactionEntry, CustomEntry, LabelEntry, OwnFields};
use serde_json::json;

const NOW: f64 = 1_767_225_600_000.0;

fn session_of(lines: &[&str]) -> Session {
    let world = World::with(&[]);
    world.add(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    opened(&world.path)
}

fn messages(session: &Session) -> Vec<serde_json::Value> {
    let context = session.context(session.tree().leaf()).expect("readable");
    context.messages.iter().map(|message| serde_json::to_value(message).expect("a value")).collect()
}

#[test]
fn appended_messages_are_written_as_pi_writes_them() {
    let header = NewHeader { id: "s", cwd: "/c", parent: None, time: NOW };
    let mut session = Session::create(None, &header, SessionFileOptions::default()).expect("made");
    let answer = AssistantMessage {
        content: vec![ContentBlock::text("Hi")],
        api: "messages".into(),
        provider: "acme".into(),
        model: "large".into(),
        stop_reason: Some(StopReason::Stop),
        timestamp: Some(NOW),
        ..AssistantMessage::default()
    };
    let row = session.append_message(AgentMessage::Assistant(answer.clone()), NOW).expect("appended");
    let id = String::from_utf8_lossy(session.tree().id_of(row)).into_owned();
    assert_eq!(
        session.line(row).expect("read").as_deref(),
        Some(&*format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":\
             {{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Hi\"}}],\"api\":\"messages\",\
             \"provider\":\"acme\",\"model\":\"large\",\"stopReason\":\"stop\",\"timestamp\":1767225600000}}}}"
        ))
    );
    assert_eq!(session.message(row).expect("read"), Some(AgentMessage::Assistant(answer)));

    let note = CustomEntry { custom_type: "todo".into(), data: Some(json!({ "open": 2 })), ..CustomEntry::default() };
    let row = session.append(&NewEntry::of(&note.clone().into(), NOW).expect("memory")).expect("appended");
    let entry = session.entry(row).expect("read").expect("an entry");
    assert_eq!(entry.parent_id.as_ref(), Some(&id));
    assert_eq!(entry.fields, OwnFields::Custom(note));
    assert_eq!(session.message(row).expect("read"), None);
    assert_eq!(session.entry(9).expect("read"), None);
}

#[test]
fn own_fields_that_no_kind_declares_are_appended_by_their_type() {
    let header = NewHeader { id: "s", cwd: "/c", parent: None, time: NOW };
    let mut session = Session::create(None, &header, SessionFileOptions::default()).expect("made");
    let odd = OwnFields::from(json!({ "type": "label", "targetId": "a", "label": 5 }));
    let row = session.append(&NewEntry::of(&odd, NOW).expect("memory")).expect("appended");
    assert_eq!(session.tree().row(row).map(|row| row.kind), Some(EntryKind::Label));
    assert_eq!(session.entry(row).expect("read").map(|entry| entry.fields), Some(odd));
    let unknown = OwnFields::from(json!({ "type": "newer" }));
    let refused = session.append(&NewEntry::of(&unknown, NOW).expect("memory")).expect_err("refused");
    assert_eq!(refused.code(), ErrorCode::InvalidArgument);
}

#[test]
fn a_lone_surrogate_becomes_a_replacement_character() {
    let line = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x \ud83d"}}"#;
    let session = session_of(&[line]);
    let user = UserMessage { content: Content::from("x \u{fffd}"), ..UserMessage::default() };
    assert_eq!(session.message(0).expect("read"), Some(AgentMessage::User(user)));
    assert_eq!(session.line(0).expect("read").as_deref(), Some(line));
}

#[test]
fn the_context_begins_with_the_newest_compaction() {
    let session = session_of(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"system","content":"old"}}"#,
        r#"{"type":"thinking_level_change","id":"b","parentId":"a","thinkingLevel":"high"}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"dropped"}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"kept"}}"#,
        r#"{"type":"compaction","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:00.000Z","summary":"So far","firstKeptEntryId":"d","tokensBefore":9,"systemMessage":{"role":"system","content":"new"}}"#,
        r#"{"type":"branch_summary","id":"f","parentId":"e","timestamp":"some day","fromId":"x","summary":"Left"}"#,
        r#"{"type":"custom_message","id":"g","parentId":"f","timestamp":"2026-01-01T00:00:00.001Z","customType":"lint","display":true}"#,
        r#"{"type":"message","id":"h","parentId":"g","message":{"role":"assistant","content":null,"provider":"acme","model":"large"}}"#,
        r#"{"type":"message","id":"i","parentId":"h","message":{"role":"system"}}"#,
        r#"{"type":"custom","id":"j","parentId":"i","customType":"x"}"#,
    ]);
    assert_eq!(
        messages(&session),
        [
            json!({ "role": "system", "content": "new" }),
            json!({ "role": "compactionSummary", "summary": "So far", "tokensBefore": 9, "timestamp": NOW as i64 }),
            json!({ "role": "user", "content": "kept" }),
            json!({ "role": "branchSummary", "summary": "Left", "fromId": "x" }),
            json!({ "role": "custom", "customType": "lint", "content": [], "display": true, "timestamp": NOW as i64 + 1 }),
            json!({ "role": "assistant", "content": [], "api": "", "provider": "acme", "model": "large" }),
            json!({ "role": "system", "content": "" }),
        ]
    );
    let context = session.context(session.tree().leaf()).expect("readable");
    let model = context.model.map(|model| (model.provider, model.model_id));
    assert_eq!((context.thinking_level.as_str(), model), ("high", Some(("acme".into(), "large".into()))));
    let before = session.context(None).expect("readable");
    assert_eq!((before.messages.len(), before.thinking_level.as_str(), before.model), (0, "off", None));
}

/// Regression: a field that the file does not have became null, which its type does not allow, so the message was
/// `Other`.
#[test]
fn fields_missing_in_a_made_message_are_not_null() {
    let session = session_of(&[
        r#"{"type":"compaction","id":"a","parentId":null,"firstKeptEntryId":"a"}"#,
        r#"{"type":"branch_summary","id":"b","parentId":"a","summary":"Left"}"#,
        r#"{"type":"custom_message","id":"c","parentId":"b","customType":"lint","content":"x"}"#,
        r#"{"type":"custom_message","id":"d","parentId":"c"}"#,
    ]);
    let context = session.context(session.tree().leaf()).expect("readable");
    let roles: Vec<_> = context.messages.iter().map(AgentMessage::role).collect();
    assert_eq!(roles, [Role::CompactionSummary, Role::BranchSummary, Role::Custom, Role::Custom]);
    let other = context.messages.iter().find(|message| matches!(message, AgentMessage::Other(_)));
    assert_eq!(other, None);
    assert_eq!(
        messages(&session),
        [
            json!({ "role": "compactionSummary", "summary": "", "tokensBefore": 0 }),
            json!({ "role": "branchSummary", "summary": "Left" }),
            json!({ "role": "custom", "customType": "lint", "content": "x", "display": false }),
            json!({ "role": "custom", "customType": "", "content": [], "display": false }),
        ]
    );
}

/// Regression: sections were sorted by name, so a message that was read and appended again gave another system prompt.
#[test]
fn sections_of_a_prompt_keep_their_order() {
    let message =
        r#"{"role":"system","content":"x","sections":{"zeta":"z","alpha":null,"mid":"m"},"own":{"z":1,"a":2}}"#;
    let mut session = session_of(&[&format!(r#"{{"type":"message","id":"a","parentId":null,"message":{message}}}"#)]);
    let read = session.message(0).expect("read").expect("a message");
    let row = session.append_message(read, NOW).expect("appended");
    let line = session.line(row).expect("read").expect("a line");
    assert!(line.contains(message), "{line}");
}

#[test]
fn values_that_serde_cannot_read_fail_only_their_entry() {
    let deep = format!(r#"{}{}"#, "[".repeat(130), "]".repeat(130));
    for odd in ["1e999", &deep] {
        let first = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#;
        let line = format!(
            r#"{{"type":"message","id":"b","parentId":"a","message":{{"role":"user","content":"x","extra":{odd}}}}}"#
        );
        let session = session_of(&[first, &line]);
        assert_eq!(session.entry(1).expect_err("refused").code(), ErrorCode::SessionInvalid);
        assert_eq!(session.message(1).expect_err("refused").code(), ErrorCode::SessionInvalid);
        assert_eq!(session.context(Some(1)).expect_err("refused").code(), ErrorCode::SessionInvalid);
        assert_eq!(session.context(Some(0)).expect("readable").messages.len(), 1);
        assert_eq!(session.line(1).expect("read").as_deref(), Some(line.as_str()));
    }
}

#[test]
fn context_edits_replace_content_by_role() {
    let edited = |message: &str, replacement: &str| {
        let first = format!(r#"{{"type":"message","id":"a","parentId":null,"message":{message}}}"#);
        let edit = format!(r#"{{"type":"context_edit","id":"b","parentId":"a","targetId":"a"{replacement}}}"#);
        messages(&session_of(&[&first, &edit]))
    };
    let user = r#"{"role":"user","content":"secret"}"#;
    let answer = r#"{"role":"assistant","content":[],"api":"","provider":"","model":""}"#;
    assert_eq!(edited(user, r#","replacement":null"#), [json!(null); 0]);
    assert_eq!(edited(user, ""), [json!({ "role": "user", "content": "secret" })]);
    assert_eq!(
        edited(user, r#","replacement":{"content":"left out"}"#),
        [json!({ "role": "user", "content": "left out" })]
    );
    let [answer] = &edited(answer, r#","replacement":{"content":"left out"}"#)[..] else { panic!("one message") };
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "left out" }]));
    let system = r#"{"role":"system","content":"x"}"#;
    assert_eq!(edited(system, r#","replacement":{"content":"y"}"#), [json!({ "role": "system", "content": "x" })]);
}

#[test]
fn roles_and_kinds_are_those_of_the_index() {
    let session = session_of(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"toolResult","toolName":"read"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"robot"}}"#,
        r#"{"type":"label","id":"c","parentId":"b","targetId":"a","label":"here"}"#,
        r#"{"type":"compaction","id":"d","parentId":"c","summary":"","firstKeptEntryId":"a","tokensBefore":1}"#,
    ]);
    let roles: Vec<_> = (0..2).map(|row| session.message(row).expect("read").expect("a message").role()).collect();
    assert_eq!(roles, [Role::ToolResult, Role::Other]);
    for row in 0..4 {
        let kind = session.entry(row).expect("read").map(|entry| entry.fields.kind());
        assert_eq!(kind, session.tree().row(row).map(|row| row.kind));
    }
    let fields = |row| session.entry(row).expect("read").map(|entry| entry.fields);
    assert!(matches!(fields(2), Some(OwnFields::Label(LabelEntry { label: Some(label), .. })) if label == "here"));
    assert!(matches!(fields(3), Some(OwnFields::Compaction(CompactionEntry { tokens_before: 1.0, .. }))));
}
