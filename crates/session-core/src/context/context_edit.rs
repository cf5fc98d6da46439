//! Context edits: the effect of a replacement on the messages of the edited entry.

use crate::format::agent_message::Role;
use crate::format::kind_facts::ContentRule;

/// The effect of a replacement on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// The message stays the same.
    Unchanged,
    /// A copy whose content is the replacement.
    WithContent,
    /// A copy whose only content block is the replacement, a text.
    WithTextBlock,
}

/// The effect of a replacement on a message with this role. `is_text`: whether the replacement is a text; otherwise it
/// is normally a list of content blocks.
pub fn edited(role: Role, is_text: bool) -> Edited {
    match role.facts().content {
        ContentRule::Fixed | ContentRule::Prompt => Edited::Unchanged,
        ContentRule::Blocks if is_text => Edited::WithTextBlock,
        ContentRule::Blocks | ContentRule::TextOrBlocks | ContentRule::Made => Edited::WithContent,
    }
}

/// Whether the content of messages with this role is always a list of blocks, never a text.
pub fn needs_block_list(role: Role) -> bool {
    role.facts().content == ContentRule::Blocks
}
