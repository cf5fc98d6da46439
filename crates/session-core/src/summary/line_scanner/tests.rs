use super::*;
use crate::json::fields;
use crate::json::reader::{elements, read, Raw};
use crate::json::string::owned_string;

fields! {
    struct ScannedFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        name: V = "name",
        provider: V = "provider",
        model: V = "model",
        response_model: V = "responseModel",
        usage: V = "usage",
    }
}

fields! {
    struct MessageFields<V> {
        role: V = "role",
        content: V = "content",
        timestamp: V = "timestamp",
        provider: V = "provider",
        model: V = "model",
        response_model: V = "responseModel",
        details: V = "details",
        tool_name: V = "toolName",
        usage: V = "usage",
    }
}

fields! {
    struct BlockFields<V> {
        kind: V = "type",
        text: V = "text",
    }
}

fn json(value: &Option<Raw<'_>>) -> Vec<u8> {
    value.as_ref().map_or_else(Vec::new, |raw| raw.get().as_bytes().to_vec())
}

fn call(
    provider: &Option<Raw<'_>>,
    model: &Option<Raw<'_>>,
    response_model: &Option<Raw<'_>>,
    usage: &Option<Raw<'_>>,
) -> CallFields {
    let usage = usage.and_then(|raw| scan_usage(&mut Scanner::new(raw.get().as_bytes())).expect("JSON"));
    CallFields { provider: json(provider), model: json(model), response_model: json(response_model), usage }
}

/// The texts in a value of details that name sessions.
fn names(value: &serde_json::Value, is_name: bool) -> Vec<Vec<u8>> {
    use serde_json::Value;
    match value {
        Value::String(name) if is_name => vec![name.clone().into_bytes()],
        Value::Array(all) => all.iter().flat_map(|one| names(one, is_name)).collect(),
        Value::Object(all) => {
            all.iter().flat_map(|(key, one)| names(one, SessionKey::named(key.as_bytes()).is_some())).collect()
        }
        _ => Vec::new(),
    }
}

fn text_of(value: &Option<Raw<'_>>) -> Option<Vec<u8>> {
    value.and_then(|raw| owned_string(raw.get()).expect("memory"))
}

fn text_in(content: Raw<'_>) -> Vec<u8> {
    if let Some(text) = text_of(&Some(content)) {
        return text;
    }
    let mut texts = Vec::new();
    for block in elements(content.get()) {
        let Some(block) = read::<BlockFields<Raw<'_>>>(block) else { continue };
        if text_of(&block.kind).as_deref() == Some(b"text") {
            let mut text = Vec::new();
            block.text.iter().for_each(|json| push_to_string(json.get(), &mut text).expect("memory"));
            texts.push(text);
        }
    }
    texts.join(&b' ')
}

/// The scanned line for these bytes, read as a whole with all texts. This is simple enough to compare with.
pub fn read_whole(text: &str, span: (u64, u64)) -> ScannedLine {
    let is_blank = text.trim_ascii().is_empty();
    let mut line = ScannedLine { span, is_blank, is_terminated: text.ends_with('\n'), ..ScannedLine::default() };
    let Some(entry) = read::<ScannedFields<Raw<'_>>>(text) else { return line };
    (line.kind, line.id, line.timestamp) = (json(&entry.kind), json(&entry.id), json(&entry.timestamp));
    line.is_object = true;
    line.has_text_id = text_of(&entry.id).is_some();
    line.name = text_of(&entry.name);
    line.call = call(&entry.provider, &entry.model, &entry.response_model, &entry.usage);
    if let Some(message) = entry.message.and_then(|raw| read::<MessageFields<Raw<'_>>>(raw.get())) {
        line.message = ScannedMessage {
            role: json(&message.role),
            timestamp: json(&message.timestamp),
            tool_name: json(&message.tool_name),
            call: call(&message.provider, &message.model, &message.response_model, &message.usage),
            has_content: message.content.is_some(),
            text: message.content.map(text_in),
            named_sessions: Vec::new(),
        };
        let details = message.details.filter(|_| line.message.is_result_with_usage());
        let details = details.and_then(|raw| serde_json::from_str(raw.get()).ok());
        line.message.named_sessions = details.map(|details| names(&details, false)).unwrap_or_default();
    }
    line
}

fn texts_of(lines: &[&str], texts: KeptTexts) -> Vec<Option<Vec<u8>>> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), lines.join("\n")).expect("written");
    let size = file.as_file().metadata().expect("metadata").len();
    let mut scanned = FileLines::new(file.as_file(), 0, size, &[], Box::default());
    let mut line = ScannedLine::default();
    let mut each = |_: &&str| {
        scanned.next_line(texts, &mut line).expect("read");
        line.message.text.take()
    };
    lines.iter().map(&mut each).collect()
}

#[test]
fn the_text_of_a_content_is_what_a_reader_sees_wherever_its_role_is() {
    let line = |message: &str| format!(r#"{{"type":"message","id":"a","message":{message}}}"#);
    for (content, want) in [
        (r#""a\ud83d""#, &b"a\xED\xA0\xBD"[..]),
        (
            r#"[{"type":"text","text":"a"},{"type":"image","text":"no"},5,{"type":"text"},{"text":"b","t\u0079pe":"te\u0078t"}]"#,
            b"a  b",
        ),
        (r#"[{"type":"text","text":"x","text":5},[],{"type":"text","text":null},{"type":7,"text":"no"}]"#, b"5 "),
        ("null", b""),
        ("{}", b""),
    ] {
        let first = line(&format!(r#"{{"role":"user","content":{content}}}"#));
        let last = line(&format!(r#"{{"content":"x","content":{content},"role":"us\u0065r"}}"#));
        let other = line(&format!(r#"{{"content":{content},"role":"user","role":"assistant"}}"#));
        let lines = [&*first, "torn {", &last, &other];
        let want = Some(want.to_vec());
        assert_eq!(texts_of(&lines, KeptTexts::OfUsers), [want.clone(), None, want.clone(), None], "{content}");
        assert_eq!(texts_of(&lines, KeptTexts::OfConversation), [want.clone(), None, want.clone(), want.clone()]);
        assert_eq!(texts_of(&lines, KeptTexts::None), [None, None, None, None]);
        assert_eq!(read_whole(&last, (0, 0)).message.text, want);
    }
}
