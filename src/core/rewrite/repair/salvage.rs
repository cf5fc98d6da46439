//! What can be taken out of lines that are no JSON: two lines that were fused, half a line with a whole one behind it.
//!
//! A line is passed over once, as the structure of its text says, and cut where that breaks. A whole object counts that
//! stands at the start of the line, behind another whole one, or behind a cut: inside of a string that never ended, or
//! where no value may be. An object where a value may be is part of what it stands in, though that may have lost its
//! end, and however much it looks like an entry: a tool's arguments are no entries. (A line that was cut exactly there,
//! and fused with a whole one, loses the whole one; the backup has it.)
//!
//! No byte is looked at more than twice: what is read again behind a cut is the opening bracket, white space and quote
//! that had been taken for the end of a string.

/// Fields of an object that may have lost its end, as their JSON texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    known: Vec<(&'static str, &'a str)>,
}

/// The fields that are taken from half a line.
const KNOWN: [&str; 8] = ["type", "id", "parentId", "version", "timestamp", "cwd", "parentSession", "branchedFrom"];

impl<'a> Fields<'a> {
    /// The text of a field's value; as in JavaScript the last counts.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.known.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The text of a whole object.
    Whole(&'a str, Fields<'a>),
    /// Something that cannot be read, and what can still be made out of it.
    Lost(Fields<'a>),
}

impl<'a> Piece<'a> {
    /// The text of a whole object.
    pub fn whole(&self) -> Option<&'a str> {
        match self {
            Piece::Whole(text, _) => Some(text),
            Piece::Lost(_) => None,
        }
    }

    /// What is known of it.
    pub fn fields(&self) -> &Fields<'a> {
        match self {
            Piece::Whole(_, fields) | Piece::Lost(fields) => fields,
        }
    }

    /// Whether it is a header, or what is left of one.
    pub fn is_header(&self) -> bool {
        self.fields().get("type") == Some("\"session\"")
    }
}

/// The pieces of a line, in order.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Pieces { text, all: Vec::new(), lost: false };
    let mut from = 0;
    let mut start = Start::Sure;
    while let Some(&byte) = text.as_bytes().get(from) {
        if start == Start::Sure && is_nothing(byte, text, from) {
            from += if byte > b' ' { BOM.len() } else { 1 };
            continue;
        }
        if !(byte == b'{' || byte == b'[' && start == Start::Sure) {
            found.lose(Fields::default());
            start = Start::Doubtful;
            match memchr::memchr(b'{', text.as_bytes().get(from..).unwrap_or_default()) {
                Some(at) => from += at,
                None => break,
            }
            continue;
        }
        let (fields, end) = Object { bytes: text.as_bytes(), text, at: from }.pass();
        match end {
            End::Whole(end) => {
                if is_part(text.as_bytes(), start, from, end) {
                    found.lose(Fields::default());
                    start = Start::Doubtful;
                } else {
                    found.keep(from, end, fields);
                    start = Start::Sure;
                }
                from = end;
            }
            End::Torn { at, cut } => {
                found.start_loss(fields);
                start = if cut { Start::Cut } else { Start::Doubtful };
                // Where it was torn is behind the bracket that it began with.
                from = at.max(from + 1);
            }
        }
    }
    found.all
}

const BOM: &str = "\u{feff}";

/// Whether nothing is lost with this: white space, zeros and their like, a byte order mark.
fn is_nothing(byte: u8, text: &str, at: usize) -> bool {
    byte <= b' ' || text.get(at..).is_some_and(|rest| rest.starts_with(BOM))
}

/// How sure it is that what comes next is no part of something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The start of the line, or a whole object, stands before it.
    Sure,
    /// It cannot be part of what was being read.
    Cut,
    /// Something unreadable stands before it.
    Doubtful,
}

/// Whether an object goes on as the part of something: behind it, or before it if what is there cannot be read.
fn is_part(bytes: &[u8], start: Start, from: usize, end: usize) -> bool {
    let next = bytes.get(end..).unwrap_or_default().iter().find(|byte| **byte > b' ');
    let goes_on = next.is_some_and(|byte| b",:]}".contains(byte));
    match start {
        Start::Sure => false,
        Start::Cut => goes_on,
        Start::Doubtful => {
            let before = bytes.get(..from).unwrap_or_default().iter().rev().find(|byte| !is_space(**byte));
            goes_on || before.is_some_and(|byte| b",:[".contains(byte))
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

struct Pieces<'a> {
    text: &'a str,
    all: Vec<Piece<'a>>,
    /// Whether the last piece is a loss, to which what follows belongs.
    lost: bool,
}

impl<'a> Pieces<'a> {
    fn keep(&mut self, from: usize, end: usize, fields: Fields<'a>) {
        self.all.push(Piece::Whole(self.text.get(from..end).unwrap_or_default(), fields));
        self.lost = false;
    }

    fn lose(&mut self, fields: Fields<'a>) {
        if !self.lost {
            self.start_loss(fields);
        }
    }

    fn start_loss(&mut self, fields: Fields<'a>) {
        // What began behind something unreadable, and cannot be read either, is the same loss unless it says more.
        if !(self.lost && fields.known.is_empty()) {
            self.all.push(Piece::Lost(fields));
        }
        self.lost = true;
    }
}

enum End {
    /// It is whole and ends before this byte.
    Whole(usize),
    /// It broke off before this byte; `cut`: something new begins there.
    Torn { at: usize, cut: bool },
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of a list.
    Element,
    Key,
    /// A key, or the end of an object.
    Member,
    Colon,
    /// A comma, or the end.
    More,
}

/// Passes over an object or a list.
struct Object<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl<'a> Object<'a> {
    fn pass(mut self) -> (Fields<'a>, End) {
        let mut fields = Fields::default();
        // The closing brackets of what is open.
        let mut open: Vec<u8> = Vec::new();
        let mut next = Next::Value;
        let mut key: Option<&'static str> = None;
        let mut value: Option<(&'static str, &'a str)> = None;
        loop {
            let space = self.rest().iter().take_while(|byte| is_space(**byte)).count();
            let behind_string = self.at.checked_sub(1).filter(|&at| self.bytes.get(at) == Some(&b'"'));
            self.at += space;
            let Some(&byte) = self.bytes.get(self.at) else {
                fields.known.extend(value);
                return (fields, End::Torn { at: self.at, cut: false });
            };
            let takes_value = matches!(next, Next::Value | Next::Element);
            let start = self.at;
            match byte {
                b'{' | b'[' if takes_value => {
                    open.push(byte + 2);
                    next = if byte == b'{' { Next::Member } else { Next::Element };
                    key = None;
                    self.at += 1;
                    continue;
                }
                b'"' if takes_value || matches!(next, Next::Key | Next::Member) => {
                    if let Err(at) = self.skip_string() {
                        return (fields, End::Torn { at, cut: self.bytes.get(at) == Some(&b'{') });
                    }
                    if !takes_value {
                        let name = self.text.get(start + 1..self.at - 1).unwrap_or_default();
                        key = KNOWN.into_iter().find(|known| open.len() == 1 && *known == name);
                        next = Next::Colon;
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' | b'a'..=b'z' if takes_value => {
                    let word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    self.at += self.rest().iter().take_while(word).count();
                }
                b':' if next == Next::Colon => {
                    next = Next::Value;
                    self.at += 1;
                    continue;
                }
                b',' if next == Next::More => {
                    fields.known.extend(value.take());
                    next = if open.last() == Some(&b'}') { Next::Key } else { Next::Value };
                    self.at += 1;
                    continue;
                }
                b'}' | b']'
                    if open.last() == Some(&byte) && matches!(next, Next::More | Next::Member | Next::Element) =>
                {
                    fields.known.extend(value.take());
                    open.pop();
                    self.at += 1;
                    if open.is_empty() {
                        return (fields, End::Whole(self.at));
                    }
                    next = Next::More;
                    continue;
                }
                b'{' => {
                    fields.known.extend(value);
                    return (fields, End::Torn { at: self.at, cut: true });
                }
                _ => {
                    // A string that ended with the first quote behind its cut: what stands there began before it.
                    if let Some(cut) = behind_string.and_then(|quote| self.swallowed(quote)) {
                        return (fields, End::Torn { at: cut, cut: true });
                    }
                    fields.known.extend(value);
                    return (fields, End::Torn { at: self.at, cut: false });
                }
            }
            // A string, number or word was passed.
            value = key
                .take()
                .filter(|_| open.len() == 1)
                .map(|key| (key, self.text.get(start..self.at).unwrap_or_default()));
            next = Next::More;
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Passes over a string; an error with the byte that cannot be in one, or the end.
    fn skip_string(&mut self) -> Result<(), usize> {
        let mut at = self.at + 1;
        loop {
            let special = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
            let rest = self.bytes.get(at..).unwrap_or_default();
            at += rest.iter().position(special).unwrap_or(rest.len());
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    at += 1;
                    let digits = match self.bytes.get(at) {
                        Some(b'u') => 4,
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
                        _ => return Err(at),
                    };
                    at += 1;
                    let hex = self.bytes.get(at..).unwrap_or_default().iter().take(digits);
                    let hex = hex.take_while(|byte| byte.is_ascii_hexdigit()).count();
                    at += hex;
                    if hex < digits {
                        return Err(at);
                    }
                }
                _ => return Err(at),
            }
        }
    }

    /// Where the bracket stands that a string ends with whose closing quote is at `quote`, if it ends so.
    fn swallowed(&self, quote: usize) -> Option<usize> {
        let inside = self.bytes.get(..quote)?;
        let at = inside.iter().rposition(|byte| !is_space(*byte))?;
        (inside.get(at) == Some(&b'{')).then_some(at)
    }
}
