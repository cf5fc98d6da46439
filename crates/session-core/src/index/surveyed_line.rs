//! One line of a file in a survey, for `verify` and repairs.

use crate::base::memory;
use crate::format::entry::{read_line, Damage, EntryHead, Line};
use crate::index::DamagedLine;
use crate::lines::line_span::LineSpan;

/// One line of the file and its class.
#[derive(Debug)]
pub(crate) struct SurveyedLine {
    pub number: u64,
    pub offset: u64,
    /// The length in bytes, without the newline.
    pub len: u64,
    pub what: LineClass,
}

impl SurveyedLine {
    /// The span of a line that was read. Such a line is short enough for a span.
    pub(crate) fn span(&self) -> LineSpan {
        LineSpan::of(self.offset, self.len as usize)
    }

    /// The line in a report, if it is damaged, or if it is a header that is not the first line that is JSON.
    pub(crate) fn damage(&self, header_leads: bool) -> Option<DamagedLine> {
        let damage = match self.what {
            LineClass::Damaged(damage) => damage,
            LineClass::Header if !header_leads => Damage::LateHeader,
            LineClass::Header | LineClass::Entry => return None,
        };
        Some(DamagedLine { line: self.number, start: self.offset, end: self.offset + self.len, damage })
    }
}

/// The class of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineClass {
    /// The session's header. It may be in a later line.
    Header,
    Entry,
    Damaged(Damage),
}

/// The head of the entry in a text; None if the text is not an entry.
pub(crate) fn entry_in(text: &str) -> memory::Result<Option<EntryHead<'static>>> {
    read_line(text, |line| match line {
        Line::Entry(head) => head.into_owned().map(Some),
        _ => Ok(None),
    })?
}
