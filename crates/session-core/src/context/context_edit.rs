//! Context edits: what a replacement does to the messages that the edited entry gives.

use crate::format::agent_message::Role;
use crate::format::kind_facts::ContentRule;

/// What a replacement does to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// It stays.
    Unchanged,
    /// A copy with the replacement for its content.
    WithContent,
    /// A copy with the replacement, a text, as its only content block.
    WithTextBlock,
}

/// What a replacement makes of a message of this role: a text, or anything else, as a rule a list of content blocks.
pub fn edited(role: Role, is_text: bool) -> Edited {
    match role.facts().content {
        ContentRule::Fixed | ContentRule::Prompt => Edited::Unchanged,
        ContentRule::Blocks if is_text => Edited::WithTextBlock,
        ContentRule::Blocks | ContentRule::TextOrBlocks | ContentRule::Made => Edited::WithContent,
    }
}

/// Whether the content of messages of this role is a list of blocks, never a text.
pub fn needs_block_list(role: Role) -> bool {
    role.facts().content == ContentRule::Blocks
}

#[cfg(test)]
mod tests {
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
}
