//! Whole entries inside of lines that are none: two lines that were fused, half a line with a whole one behind it.

use serde::de::IgnoredAny;

use crate::core::entry::Parent;
use crate::core::verify::entry_in;

/// How every line begins that pi or we wrote.
const START: &[u8] = b"{\"type\":\"";

/// How many beginnings are looked at in one line.
const LOOKS: usize = 10_000;

/// The entries in a line, each with where it starts, in order.
pub fn entries(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), START).take(LOOKS) {
        let Some(rest) = text.get(at..).filter(|_| at >= from) else {
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        if let Some(Ok(_)) = values.next() {
            let entry = rest.get(..values.byte_offset()).unwrap_or_default();
            if is_entry(entry) {
                from = at + entry.len();
                found.push((at, entry.to_owned()));
            }
        }
    }
    found
}

/// Blocks inside of messages have types too, and some have ids; parents have entries alone.
fn is_entry(text: &str) -> bool {
    entry_in(text).is_some_and(|head| matches!(head.parent, Parent::Null | Parent::Id(_)))
}

/// Whether something of a line is lost: more than white space and zero bytes stands between its entries.
pub fn is_gap(text: &str, entries: &[(usize, String)]) -> bool {
    let mut at = 0;
    let mut lost = false;
    let says = |text: &str| text.bytes().any(|byte| byte > b' ');
    for (start, entry) in entries {
        lost |= text.get(at..*start).is_some_and(says);
        at = start + entry.len();
    }
    lost || text.get(at..).is_some_and(says)
}
