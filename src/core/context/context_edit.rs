//! Context edits: what the newest one on an entry makes of the messages that the entry gives.

use super::projection::Contribution;
use crate::core::format::agent_message::Role;

/// What an edit replaces an entry's content with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The edit has no replacement, and changes nothing.
    Missing,
    /// null: the entry is left out.
    Null,
    /// A text.
    Text,
    /// Anything else: a list of content blocks, as a rule.
    Blocks,
}

/// What an edit does to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    Unchanged,
    LeftOut,
    /// A copy with the replacement for its content.
    WithContent,
    /// A copy with the replacement, a text, as its only content block.
    WithTextBlock,
}

/// What an edit makes of a message of this role that an entry gives.
pub fn edited(gives: Contribution, role: Role, replacement: Replacement) -> Edited {
    match replacement {
        Replacement::Missing => Edited::Unchanged,
        Replacement::Null => Edited::LeftOut,
        _ if gives == Contribution::CustomMessage => Edited::WithContent,
        _ if !role.is_editable() && role != Role::Custom => Edited::Unchanged,
        Replacement::Text if needs_block_list(role) => Edited::WithTextBlock,
        _ => Edited::WithContent,
    }
}

/// Whether the content of messages of this role is a list of blocks, never a text.
pub fn needs_block_list(role: Role) -> bool {
    matches!(role, Role::Assistant | Role::ToolResult)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_follow_the_role_and_the_replacement() {
        use Edited::*;
        let cases = [
            (Contribution::Message, Role::User, Replacement::Text, WithContent),
            (Contribution::Message, Role::Assistant, Replacement::Text, WithTextBlock),
            (Contribution::MessageEmptyList, Role::ToolResult, Replacement::Blocks, WithContent),
            (Contribution::Message, Role::Custom, Replacement::Text, WithContent),
            (Contribution::Message, Role::System, Replacement::Text, Unchanged),
            (Contribution::Compaction, Role::CompactionSummary, Replacement::Blocks, Unchanged),
            (Contribution::Compaction, Role::CompactionSummary, Replacement::Null, LeftOut),
            (Contribution::CustomMessage, Role::Custom, Replacement::Text, WithContent),
            (Contribution::Message, Role::User, Replacement::Missing, Unchanged),
        ];
        for (gives, role, replacement, expected) in cases {
            assert_eq!(edited(gives, role, replacement), expected, "{gives:?} {role:?} {replacement:?}");
        }
    }
}
