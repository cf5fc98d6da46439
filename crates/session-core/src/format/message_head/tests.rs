use super::*;
use crate::json::reader::read;

fn read_text(text: &str) -> MessageFields<Raw<'_>> {
    read(text).expect("a message")
}

#[test]
fn heads_tell_role_and_content() {
    let head = |text: &str| read_text(text).head().expect("memory");
    assert_eq!(
        head(r#"{"role":"toolResult","content":[]}"#),
        MessageHead { role: Role::ToolResult, lacks_content: false }
    );
    assert_eq!(head(r#"{"role":7}"#), MessageHead { role: Role::Other, lacks_content: true });
    assert_eq!(head(r#"{"content":null,"role":"\u0075ser"}"#), MessageHead { role: Role::User, lacks_content: true });
}
