use super::*;

#[test]
fn edits_follow_the_role_and_the_replacement() {
    use Edited::*;
    let cases = [
        (Role::User, true, WithContent),
        (Role::Assistant, true, WithTextBlock),
        (Role::Assistant, false, WithContent),
        (Role::ToolResult, false, WithContent),
        (Role::Custom, true, WithContent),
        (Role::System, true, Unchanged),
        (Role::CompactionSummary, false, Unchanged),
    ];
    for (role, is_text, expected) in cases {
        assert_eq!(edited(role, is_text), expected, "{role:?} {is_text}");
    }
}
