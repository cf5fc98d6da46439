//! Searches one session file.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::Mutex;

use memchr::{memchr, memrchr};
use xxhash_rust::xxh3::Xxh3;

use super::matcher::{HitOrder, Matcher};
use super::prefilter::Prefilter;
use super::query::{Query, SearchOptions};
use super::scope::{entry_texts, strings_in, EntryTexts};
use crate::base::memory::{self, collect, owned, push};
use crate::base::threads::locked;
use crate::base::time::Time;
use crate::base::wtf8::{into_string_lossy, to_string_lossy};
use crate::format::header::Version;
use crate::format::ids::numbered_id;
use crate::format::kind_facts::TextScope;
use crate::json::string_bytes;
use crate::lines::file_window::FileWindow;
use crate::lines::line_reader::{line_text, LineReader, Positioned, RawLine};
use crate::summary::line_scanner::{FileLines, KeptTexts, ScannedLine};
use crate::summary::usage::call::short_text;

/// A message that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The entry's id, WTF-8. In version 1, where entries have no ids, the number of the entry in eight digits, from
    /// `00000001` on. Empty if it has neither.
    pub entry: Vec<u8>,
    /// The role of a message, or the type of another entry.
    pub role: &'static str,
    /// The scope of the text in the snippet.
    pub scope: TextScope,
    /// The entry's timestamp; empty if it is not a text.
    pub timestamp: Vec<u8>,
    /// The text around the match, with marks.
    pub snippet: String,
    /// The sort key among the hits of its session.
    pub(crate) order: HitOrder,
    /// A key that is equal for its copies in other sessions; None for an entry that cannot be distinguished from
    /// others.
    pub(crate) copies_key: Option<u128>,
}

/// Only one thread at a time unescapes and matches a line that is longer than this, so that its memory does not grow
/// with the number of threads.
const LONG_LINE: usize = 64 << 20;
static LONG_LINES: Mutex<()> = Mutex::new(());

/// How many characters of a text are in the key that distinguishes entries with the same id, role and time.
const TELLING: usize = 256;

/// The key of an entry's copies: its id, its time, its role and the starts of its texts. A redaction uses only id and
/// time (`rewrite/redact/copies.rs`), because a copy that was edited by hand may still contain the secret; here it is
/// another hit.
#[derive(Default)]
struct CopiesKey(Xxh3);

impl CopiesKey {
    fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds a text.
    fn add_text(&mut self, text: &str) {
        let end = text.char_indices().nth(TELLING).map_or(text.len(), |(at, _)| at);
        self.add(text.as_bytes().get(..end).unwrap_or_default());
    }

    fn of(mut self, entry: &EntryTexts<'_>) -> Option<u128> {
        if entry.id.is_empty() && entry.timestamp.is_empty() {
            return None;
        }
        [&entry.id, &entry.timestamp, entry.role.as_bytes()].into_iter().for_each(|part| self.add(part));
        Some(self.0.digest128())
    }
}

/// The hits of a session file.
pub(crate) struct FoundHits {
    /// The best hits, in their order. They are enough even after copies of hits in newer sessions are dropped.
    pub best: Vec<Hit>,
    /// The copies' keys of the first [`MOST_KEYS`] hits, if copies count once.
    pub keys: HashSet<u128>,
    /// How many more hits there are.
    pub without_key: usize,
}

/// A session file that is searched.
pub(crate) struct SessionFile<'a> {
    pub file: &'a File,
    pub size: u64,
    pub version: Version,
}

impl SessionFile<'_> {
    pub(crate) fn hits(
        &self,
        (query, options, filter): (&Query, &SearchOptions, &Prefilter),
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
    ) -> io::Result<FoundHits> {
        let mut best = Best::new(options);
        let mut matcher = Matcher::new(query, &options.mark);
        let mut each = |offset: u64, line: &str| -> io::Result<()> {
            let entry = entry_texts(line, self.version, &options.scopes)?;
            let Some(entry) = entry.filter(|entry| is_wanted(entry, options)) else { return Ok(()) };
            matcher.begin();
            let mut copies_key = CopiesKey::default();
            for (scope, json) in &entry.texts {
                strings_in(json, |json| {
                    let text = string(json)?;
                    copies_key.add_text(&text);
                    matcher.add(&text, *scope)
                })?;
            }
            if let Some(found) = matcher.finish() {
                let copies_key = copies_key.of(&entry);
                let EntryTexts { role, id, timestamp, .. } = entry;
                let [entry, timestamp] = [owned(id)?, owned(timestamp)?];
                let order = (found.tier, Reverse(offset));
                best.offer(Hit {
                    entry,
                    role,
                    scope: found.scope,
                    timestamp,
                    snippet: found.snippet,
                    order,
                    copies_key,
                })?;
            }
            Ok(())
        };
        self.each_line(filter, buffer, stops, &mut each)?;
        let mut found = best.finish();
        if self.version == Version::V1 && !found.best.is_empty() {
            self.number(&mut found.best, buffer, stops)?;
        }
        Ok(found)
    }

    /// Sets the ids of hits in a file of version 1, whose entries have no ids: the ids that the entries have when the
    /// file is opened to be displayed.
    fn number(&self, hits: &mut [Hit], buffer: &mut Box<[u8]>, stops: &[&AtomicBool]) -> io::Result<()> {
        let mut by_offset = collect(hits.iter_mut())?;
        by_offset.sort_unstable_by_key(|hit| hit.order.1 .0);
        let mut by_offset = by_offset.into_iter().peekable();
        let mut lines = FileLines::new(self.file, 0, self.size, stops, std::mem::take(buffer));
        let mut line = ScannedLine::default();
        let mut number = 0;
        while by_offset.peek().is_some() && !lines.scanner.is_done()? {
            lines.next_line(KeptTexts::None, &mut line)?;
            number += usize::from(line.is_object && short_text(&line.kind).as_deref() != Some(b"session"));
            if let Some(hit) = by_offset.next_if(|hit| hit.order.1 .0 == line.span.0) {
                hit.entry = numbered_id(number).into_bytes();
            }
        }
        *buffer = lines.scanner.into_buffer();
        Ok(())
    }

    /// Calls `each` with the lines that can contain a hit, and their positions.
    fn each_line(
        &self,
        filter: &Prefilter,
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
        each: &mut dyn FnMut(u64, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        let source = Positioned::new(self.file, 0, self.size, stops);
        let mut lines = LineReader::of(FileWindow::new(source, std::mem::take(buffer)), 0);
        while let Some(RawLine { offset, bytes, .. }) = lines.next_lines()? {
            let part = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
            let mut from = 0;
            let mut candidates = filter.candidates(bytes);
            while let Some(found) = candidates.next(from) {
                let start = memrchr(b'\n', part(from, found)).map_or(from, |newline| from + newline + 1);
                let end = memchr(b'\n', part(found, bytes.len())).map_or(bytes.len(), |newline| found + newline);
                let _alone = (end - start > LONG_LINE).then(|| locked(&LONG_LINES));
                each(offset + start as u64, &line_text(part(start, end))?)?;
                from = end + 1;
            }
        }
        *buffer = lines.into_buffer();
        Ok(())
    }
}

/// The text of a JSON string. Lone surrogates become U+FFFD.
fn string(json: &str) -> memory::Result<Cow<'_, str>> {
    Ok(match string_bytes(json)?.unwrap_or_default() {
        // JSON text is UTF-8.
        Cow::Borrowed(text) => to_string_lossy(text),
        Cow::Owned(text) => Cow::Owned(into_string_lossy(text)?),
    })
}

fn is_wanted(entry: &EntryTexts<'_>, options: &SearchOptions) -> bool {
    let SearchOptions { roles, time: (since, until), .. } = options;
    if entry.texts.is_empty() || roles.as_ref().is_some_and(|roles| !roles.contains(&entry.role)) {
        return false;
    }
    let is_any_time = *since == f64::NEG_INFINITY && *until == f64::INFINITY;
    is_any_time || matches!(Time::from_text(&entry.timestamp), Time::At(at) if at >= *since && at < *until)
}

/// The hits of a session: the best ones, and the keys of the others.
struct Best {
    /// How many hits of a tier are kept: twice as many as are wanted, because the first ones may be copies of hits in
    /// newer sessions. In a forked session its own hits precede the copies of the same tier, because they are later.
    most: usize,
    /// Whether copies of an entry count as one hit.
    dedupe: bool,
    /// When there are this many hits, only the best are kept.
    full: usize,
    found: FoundHits,
}

/// How many keys of a session are kept: some 4 MiB. A session with more hits is rarely forked, so its further hits
/// count without a check whether they are copies.
const MOST_KEYS: usize = 200_000;

/// How many hits are kept at least before they are sorted.
const MOST_UNSORTED: usize = 64;

impl Best {
    fn new(options: &SearchOptions) -> Self {
        let wanted = options.limit.min(options.per_session);
        let most = wanted.saturating_mul(if options.dedupe { 2 } else { 1 });
        let found = FoundHits { best: Vec::new(), keys: HashSet::new(), without_key: 0 };
        Self { most, dedupe: options.dedupe, full: MOST_UNSORTED, found }
    }

    fn offer(&mut self, hit: Hit) -> io::Result<()> {
        let FoundHits { best, keys, without_key } = &mut self.found;
        match hit.copies_key.filter(|_| self.dedupe) {
            Some(key) if keys.len() < MOST_KEYS => {
                keys.try_reserve(1)?;
                if !keys.insert(key) {
                    return Ok(());
                }
            }
            Some(key) if keys.contains(&key) => return Ok(()),
            _ => *without_key += 1,
        }
        push(best, hit)?;
        if best.len() >= self.full {
            self.keep_best();
            self.full = self.found.best.len().saturating_mul(2).max(MOST_UNSORTED);
        }
        Ok(())
    }

    fn keep_best(&mut self) {
        self.found.best.sort_unstable_by_key(|hit| hit.order);
        let mut of_tier = (None, 0);
        self.found.best.retain(|hit| {
            let tier = Some(hit.order.0);
            of_tier = if of_tier.0 == tier { (tier, of_tier.1 + 1) } else { (tier, 1) };
            of_tier.1 <= self.most
        });
    }

    fn finish(mut self) -> FoundHits {
        self.keep_best();
        self.found
    }
}

#[cfg(test)]
mod tests;
