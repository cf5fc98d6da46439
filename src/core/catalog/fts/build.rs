//! Taking the texts of many sessions into the catalog and the index at once: other threads read files and find the
//! words, this one writes.

use std::collections::{HashMap, HashSet as Set};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};

use hashbrown::HashSet;
use rusqlite::Transaction;

use super::index::{put_words, Indexer};
use super::tokenizer::index_words;
use crate::core::catalog::connection::Catalog;
use crate::core::catalog::error::CatalogResult;
use crate::core::catalog::ingest::{IngestChunk, IngestStart, ReadOutcome};
use crate::core::catalog::text_rows::unicode;
use crate::core::io::fd_limit::is_exhausted;

/// How many parts wait to be written, and how much text is written at once: few enough that other writers need not wait
/// long, enough that the index is not made of crumbs.
const WAITING: usize = 4;
const CHUNK_BYTES: usize = 8 << 20;

/// What became of the sessions, by their positions.
#[derive(Default)]
pub struct IngestResult {
    /// All is written.
    pub done: Set<usize>,
    /// The file cannot be read.
    pub failed: HashMap<usize, io::Error>,
}

/// A part with its words, one text after the other for each row of texts.
struct TokenizedChunk {
    part: IngestChunk,
    words: Vec<Vec<String>>,
    known: HashSet<Box<str>>,
    size: usize,
}

/// What a reading thread tells of a session.
enum IngestEvent {
    Chunk(TokenizedChunk),
    Failed(io::Error),
    Changed,
}

/// Takes the texts that sessions lack. `progress` is events how many of them are done with. Stops early when it is
/// cancelled.
pub fn build(
    catalog: &mut Catalog,
    indexer: &mut Indexer,
    starts: &[IngestStart],
    cancelled: &AtomicBool,
    progress: &dyn Fn(usize),
) -> CatalogResult<IngestResult> {
    let next = AtomicUsize::new(0);
    let (sender, events) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        let read = |sender: SyncSender<(usize, IngestEvent)>| {
            let mut buffer = Box::default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(start) = starts.get(at) else { return };
                // Nobody listens any more: it has failed, or was cancelled.
                if read_session(start, &mut buffer, cancelled, &|events| sender.send((at, events)).is_ok()).is_none() {
                    return;
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() - 1).clamp(1, 4);
        for _ in 0..threads.min(starts.len()) {
            let sender = sender.clone();
            // Where no thread can be had, nothing is taken, and the files are looked through.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || read(sender));
        }
        drop(sender);
        write_all(catalog, indexer, events, cancelled, progress)
    })
}

/// Reads a session, part by part. None if that is not wanted any more.
fn read_session(
    start: &IngestStart,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
    tell: &dyn Fn(IngestEvent) -> bool,
) -> Option<()> {
    let mut from = start.from;
    loop {
        let part = match start.read(from, buffer, cancelled) {
            Ok(ReadOutcome::Chunk(part)) => part,
            Ok(ReadOutcome::Changed) => return tell(IngestEvent::Changed).then_some(()),
            Ok(ReadOutcome::Cancelled) => return None,
            Err(error) => {
                // The next file would find no handle either.
                let goes_on = !is_exhausted(&error);
                return (tell(IngestEvent::Failed(error)) && goes_on).then_some(());
            }
        };
        from = part.to;
        let is_last = part.is_last;
        if !tell(IngestEvent::Chunk(tokenized(part))) {
            return None;
        }
        if is_last {
            return Some(());
        }
    }
}

fn tokenized(part: IngestChunk) -> TokenizedChunk {
    let mut known: HashSet<Box<str>> = HashSet::new();
    let mut size = 0;
    let mut words_of = |text: &[u8]| {
        size += text.len();
        let mut each = |word: &str| {
            if !known.contains(word) {
                known.insert(word.into());
            }
        };
        index_words(&unicode(text), &mut each).into_owned()
    };
    let words = part.batches.iter().map(|batch| batch.as_row().iter().map(|text| words_of(text.text)).collect());
    let words = words.collect();
    TokenizedChunk { part, words, known, size }
}

fn write_all(
    catalog: &mut Catalog,
    indexer: &mut Indexer,
    events: Receiver<(usize, IngestEvent)>,
    cancelled: &AtomicBool,
    progress: &dyn Fn(usize),
) -> CatalogResult<IngestResult> {
    let mut built = IngestResult::default();
    let mut ended = 0;
    while let Ok(first) = events.recv() {
        let mut parts = Vec::new();
        let mut size = 0;
        let mut next = Some(first);
        while let Some((at, event)) = next {
            match event {
                IngestEvent::Chunk(part) => {
                    size += part.size;
                    parts.push((at, part));
                }
                IngestEvent::Failed(error) => {
                    ended += usize::from(built.failed.insert(at, error).is_none());
                }
                IngestEvent::Changed => ended += 1,
            }
            next = if size < CHUNK_BYTES { events.try_recv().ok() } else { None };
        }
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        let written = catalog.write(|transaction| {
            indexer.refresh(transaction)?;
            parts.iter().map(|(_, part)| write(transaction, indexer, part)).collect::<CatalogResult<Vec<bool>>>()
        })?;
        for ((at, tokenized), is_written) in parts.into_iter().zip(written) {
            indexer.learn(tokenized.known);
            if tokenized.part.is_last {
                ended += 1;
                if is_written {
                    built.done.insert(at);
                }
            }
        }
        progress(ended);
    }
    Ok(built)
}

fn write(transaction: &Transaction<'_>, indexer: &Indexer, tokenized: &TokenizedChunk) -> CatalogResult<bool> {
    let TokenizedChunk { part, words, known, .. } = tokenized;
    let is_written = part.write(transaction, |at, batch, session| {
        let row = batch.put(transaction, session, true)?;
        put_words(transaction, row, words.get(at).map(Vec::as_slice).unwrap_or_default())
    })?;
    // Words that are nowhere would do no harm, but these would be learnt.
    indexer.add(transaction, known)?;
    Ok(is_written)
}
