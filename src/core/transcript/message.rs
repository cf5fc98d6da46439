//! A message as lines of plain text. Messages that take more than that (images, errors, characters that a terminal must not get
//! as they are) are refused: the command `pi-sessions`, whose `lib/cli/show.mjs` shows any entry, draws these.

use super::canonical::is_canonical;
use super::excerpt::Excerpt;
use crate::format::agent_message::Role;
use crate::json::long_strings::unescape;
use crate::json::{fields, read, Raw, Value};

/// How messages are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawLayout {
    /// Columns of a line that is cut; at least [`DrawLayout::LEAST_COLUMNS`].
    pub columns: usize,
    /// How many lines and columns are shown at most; None for all.
    pub limits: Option<Limits>,
}

impl DrawLayout {
    /// In fewer columns heads have less than all they say.
    pub const LEAST_COLUMNS: usize = 80;
}

/// What of a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Lines of a text.
    pub text: usize,
    /// Lines of thinking, and of what a tool printed.
    pub output: usize,
}

/// Columns of an id, at most.
const ID: usize = 36;
/// Columns of a time.
const TIME: usize = 24;
/// Columns of a tool's name.
const NAME: usize = 100;

fields! {
    /// The fields of an entry that are shown.
    struct ShownEntry<V, M> {
        id: V = "id",
        timestamp: V = "timestamp",
        message: M = "message",
    }
}

fields! {
    /// The fields of a message that are shown, and those that add to it.
    struct ShownMessage<V> {
        role: V = "role",
        content: V = "content",
        error: V = "errorMessage",
        stop_reason: V = "stopReason",
        tool: V = "toolName",
        is_error: V = "isError",
    }
}

fields! {
    /// The fields of a block that are shown.
    struct ShownBlock<V> {
        kind: V = "type",
        text: V = "text",
        thinking: V = "thinking",
        redacted: V = "redacted",
        name: V = "name",
        arguments: V = "arguments",
    }
}

/// Draws messages, with memory that it reuses.
#[derive(Debug, Default)]
pub struct MessageWriter {
    text: Vec<u8>,
}

impl MessageWriter {
    /// Appends the lines of a message's entry. None if it is refused; what was appended is then of no use.
    pub fn push(&mut self, line: &str, layout: DrawLayout, out: &mut Vec<u8>) -> Option<()> {
        let entry = read::<ShownEntry<Raw<'_>, ShownMessage<Raw<'_>>>>(line).ok()?;
        let message = entry.message?;
        let role = Role::from_name(&message.role?.text()?);
        let (id, time) = (plain(entry.id?, ID)?, plain(entry.timestamp?, TIME)?);
        for part in ["\n", role.name(), " ", id, " ", time, "\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        let limits = layout.limits.unwrap_or(Limits { text: usize::MAX, output: usize::MAX });
        let output = match role {
            Role::User => None,
            Role::Assistant if ends_usually(&message) => None,
            Role::ToolResult => Some(OutputName {
                name: tool_name(message.tool)?,
                failed: message.is_error.is_some_and(|failed| failed.is_truthy()),
            }),
            _ => return None,
        };
        let content = message.content?;
        let push_text = |writer: &mut Self, text: Raw<'_>, out: &mut Vec<u8>| match &output {
            None => writer.push_lines(text, limits.text, "", false, out),
            Some(name) => {
                name.push(out);
                writer.push_lines(text, limits.output, "  ", true, out)
            }
        };
        if content.get().starts_with('"') {
            return match content.get() {
                "\"\"" => Some(()),
                _ => push_text(self, content, out),
            };
        }
        for block in read::<Vec<ShownBlock<Raw<'_>>>>(content.get()).ok()? {
            match &*block.kind.as_ref()?.text()? {
                b"text" => push_text(self, block.text?, out)?,
                b"thinking" if output.is_none() && !block.redacted.is_some_and(|redacted| redacted.is_truthy()) => {
                    self.push_lines(block.thinking?, limits.output, "", false, out)?;
                }
                b"toolCall" if output.is_none() => self.push_call(block.name?, block.arguments?, layout, out)?,
                _ => return None,
            }
        }
        Some(())
    }

    /// Appends the first lines of a text.
    fn push_lines(
        &mut self,
        text: Raw<'_>,
        lines: usize,
        indent: &str,
        ends_with_break: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let excerpt = Excerpt::of(string_contents(text)?, lines, ends_with_break);
        let shown = self.displayable(excerpt.text)?;
        let shown = match ends_with_break && excerpt.left_out == 0 {
            true => shown.strip_suffix(b"\n").unwrap_or(shown),
            false => shown,
        };
        if indent.is_empty() {
            out.extend_from_slice(shown);
            out.push(b'\n');
        } else {
            for line in shown.split(|byte| *byte == b'\n') {
                out.extend_from_slice(indent.as_bytes());
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        if excerpt.left_out > 0 {
            let more = format!("{indent}{indent}… {} more lines (--full)\n", grouped(excerpt.left_out));
            out.extend_from_slice(more.as_bytes());
        }
        Some(())
    }

    /// Appends the call of a tool.
    fn push_call(&mut self, name: Raw<'_>, arguments: Raw<'_>, layout: DrawLayout, out: &mut Vec<u8>) -> Option<()> {
        let name = plain(name, NAME).filter(|name| *name != "!")?;
        let arguments = arguments.get();
        if !arguments.starts_with('{') || !is_canonical(arguments) {
            return None;
        }
        out.extend_from_slice("→ ".as_bytes());
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
        match layout.limits {
            None if is_shown(arguments.as_bytes()) => out.extend_from_slice(arguments.as_bytes()),
            None => return None,
            Some(_) => push_clipped(arguments.as_bytes(), layout.columns.checked_sub(name.len() + 3)?, out)?,
        }
        out.push(b'\n');
        Some(())
    }

    /// The text of a JSON string with these contents; None if a terminal must not get it as it is.
    fn displayable(&mut self, contents: &[u8]) -> Option<&[u8]> {
        // What is unescaped is written a word at a time.
        let room = contents.len() + size_of::<u64>();
        if self.text.len() < room {
            self.text.resize(room, 0);
        }
        let (length, _) = unescape(contents, &mut self.text)?;
        self.text.get(..length).filter(|text| is_shown(text))
    }
}

/// Whether an assistant's message says no more than its content.
fn ends_usually(message: &ShownMessage<Raw<'_>>) -> bool {
    let is_cut = |reason: &Raw<'_>| reason.text().is_none_or(|reason| matches!(&*reason, b"aborted" | b"length"));
    !message.error.is_some_and(|error| error.is_truthy()) && !message.stop_reason.as_ref().is_some_and(is_cut)
}

/// The line before what a tool printed.
struct OutputName<'a> {
    /// Empty if the tool has no name: there is no such line then.
    name: &'a str,
    failed: bool,
}

impl OutputName<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        if self.name.is_empty() {
            return;
        }
        for part in ["← ", self.name, if self.failed { " failed\n" } else { "\n" }] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

fn tool_name(name: Option<Raw<'_>>) -> Option<&str> {
    match name {
        None => Some(""),
        Some(name) => plain(name, NAME).filter(|name| *name != "!"),
    }
}

/// What is between the quotes of a JSON string.
fn string_contents(text: Raw<'_>) -> Option<&[u8]> {
    Some(text.get().strip_prefix('"')?.strip_suffix('"')?.as_bytes())
}

/// A text of one line and at most so many columns that is shown as it is; None for any other.
fn plain(text: Raw<'_>, columns: usize) -> Option<&str> {
    let text = text.get().strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = text
        .split(' ')
        .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'));
    (text.len() <= columns && is_plain).then_some(text)
}

/// Appends the beginning of a text in one line of so many columns. None if that takes more than a look.
fn push_clipped(text: &[u8], columns: usize, out: &mut Vec<u8>) -> Option<()> {
    let beginning = text.get(..columns.saturating_mul(2)).unwrap_or(text);
    if !beginning.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let mut line = Vec::with_capacity(beginning.len());
    for &byte in beginning {
        if byte != b' ' || line.last() != Some(&b' ') {
            line.push(byte);
        }
    }
    let line = line.trim_ascii_end();
    if line.len() > columns {
        out.extend_from_slice(line.get(..columns.checked_sub(1)?)?);
        out.extend_from_slice("…".as_bytes());
        return Some(());
    }
    (beginning.len() == text.len()).then(|| out.extend_from_slice(line))
}

/// Whether a terminal may get a text as it is: no controls but tabs and line feeds, no invisible characters.
fn is_shown(text: &[u8]) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    if text.iter().fold(true, |all, byte| all & is_plain(*byte)) {
        return true;
    }
    let is_shown = |char: char| match char {
        '\0'..='\u{7f}' => is_plain(char as u8),
        _ => !is_control_or_invisible(char),
    };
    std::str::from_utf8(text).is_ok_and(|text| text.chars().all(is_shown))
}

/// Controls, separators of lines and paragraphs, and the characters that Unicode calls default ignorable, beyond ASCII.
fn is_control_or_invisible(char: char) -> bool {
    matches!(char,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A count with its digits in groups.
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
