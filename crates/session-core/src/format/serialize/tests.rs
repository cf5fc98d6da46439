use super::*;
use crate::base::error::ErrorCode;

#[test]
fn keys_are_in_the_references_order() {
    let envelope =
        Envelope { id: "a".into(), parent: Some(b"\xED\xA0\xBD".to_vec()), time: 0.0, timestamp: "t".into() };
    let text = |kind, own: &str| {
        String::from_utf8_lossy(&line(kind, &envelope, own.as_bytes()).expect("an object")).into_owned()
    };
    assert_eq!(
        text(EntryKind::Message, r#"{"message":{}}"#),
        r#"{"type":"message","id":"a","parentId":"\ud83d","timestamp":"t","message":{}}"#
    );
    assert_eq!(text(EntryKind::Message, "{}"), r#"{"type":"message","id":"a","parentId":"\ud83d","timestamp":"t"}"#);
    let root = Envelope { parent: None, ..envelope.clone() };
    assert_eq!(
        String::from_utf8_lossy(&line(EntryKind::Custom, &root, br#"{"customType":"x"}"#).expect("an object")),
        r#"{"type":"custom","customType":"x","id":"a","parentId":null,"timestamp":"t"}"#
    );
}

#[test]
fn own_fields_that_are_not_an_object_are_an_internal_error() {
    let envelope = Envelope { id: "a".into(), parent: None, time: 0.0, timestamp: "t".into() };
    for own in ["", "{", "[]", "null", "\"{}\""] {
        let error = line(EntryKind::Message, &envelope, own.as_bytes()).expect_err(own);
        assert_eq!(error.code(), ErrorCode::Internal, "{own}: {error}");
    }
}
