//! Ingests and indexes many sessions at once: other threads read files and tokenize texts, the calling thread writes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};

use hashbrown::HashSet;
use rusqlite::Transaction;

use super::index::{put_words, tokenized, Indexer};
use crate::catalog::connection::Catalog;
use crate::catalog::error::CatalogResult;
use crate::catalog::ingest::{IngestChunk, IngestStart};
use crate::catalog::text_rows::TextRowBuilder;

/// How many chunks wait to be written, and how many bytes of text one transaction writes. More would make other writers wait;
/// fewer would give the index more segments.
const WAITING: usize = 4;
const CHUNK_BYTES: usize = 8 << 20;

/// A chunk, its texts tokenized row by row, and their distinct words.
struct TokenizedChunk {
    chunk: IngestChunk,
    texts: Vec<Vec<String>>,
    words: HashSet<Box<str>>,
    size: usize,
}

/// What a reading thread sends.
enum IngestEvent {
    Chunk(TokenizedChunk),
    /// A session's file changed or cannot be read.
    Failed,
}

/// Ingests and indexes the texts that sessions lack. `progress` is told how many sessions are finished.
pub fn build(
    catalog: &mut Catalog,
    indexer: &mut Indexer,
    starts: &[IngestStart],
    cancelled: &AtomicBool,
    progress: &dyn Fn(usize),
) -> CatalogResult<()> {
    let next = AtomicUsize::new(0);
    let (sender, events) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        let read = |sender: SyncSender<IngestEvent>| {
            let mut buffer = Box::default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(start) = starts.get(at) else { return };
                // The receiver is gone: writing failed, or this was cancelled.
                if read_session(start, &mut buffer, cancelled, &|event| sender.send(event).is_ok()).is_none() {
                    return;
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() - 1).clamp(1, 4);
        for _ in 0..threads.min(starts.len()) {
            let sender = sender.clone();
            // Without a thread nothing is ingested, and the search reads the files.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || read(sender));
        }
        drop(sender);
        write_all(catalog, indexer, events, cancelled, progress)
    })
}

/// Reads a session in chunks. None if nobody receives them any more.
fn read_session(
    start: &IngestStart,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
    tell: &dyn Fn(IngestEvent) -> bool,
) -> Option<()> {
    let mut from = start.from;
    loop {
        let Ok(Some(chunk)) = start.read(from, buffer, cancelled) else {
            return tell(IngestEvent::Failed).then_some(());
        };
        from = chunk.to;
        let is_last = chunk.is_last;
        if !tell(IngestEvent::Chunk(tokenize(chunk))) {
            return None;
        }
        if is_last {
            return Some(());
        }
    }
}

fn tokenize(chunk: IngestChunk) -> TokenizedChunk {
    let mut words = HashSet::new();
    let texts = chunk.batches.iter().map(|batch| tokenized(&batch.as_row(), &mut words)).collect();
    let size = chunk.batches.iter().map(TextRowBuilder::size).sum();
    TokenizedChunk { chunk, texts, words, size }
}

fn write_all(
    catalog: &mut Catalog,
    indexer: &mut Indexer,
    events: Receiver<IngestEvent>,
    cancelled: &AtomicBool,
    progress: &dyn Fn(usize),
) -> CatalogResult<()> {
    let mut ended = 0;
    while let Ok(first) = events.recv() {
        let mut chunks = Vec::new();
        let mut size = 0;
        let mut next = Some(first);
        while let Some(event) = next {
            match event {
                IngestEvent::Chunk(chunk) => {
                    size += chunk.size;
                    chunks.push(chunk);
                }
                IngestEvent::Failed => ended += 1,
            }
            next = if size < CHUNK_BYTES { events.try_recv().ok() } else { None };
        }
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        catalog.write(|transaction| {
            indexer.refresh(transaction)?;
            chunks.iter().try_for_each(|chunk| write(transaction, indexer, chunk))
        })?;
        for tokenized in chunks {
            indexer.learn(tokenized.words);
            ended += usize::from(tokenized.chunk.is_last);
        }
        progress(ended);
    }
    Ok(())
}

fn write(transaction: &Transaction<'_>, indexer: &Indexer, tokenized: &TokenizedChunk) -> CatalogResult<()> {
    let TokenizedChunk { chunk, texts, words, .. } = tokenized;
    chunk.write(transaction, |at, batch, session| {
        let row = batch.put(transaction, session, true)?;
        put_words(transaction, row, texts.get(at).map(Vec::as_slice).unwrap_or_default())
    })?;
    // Even if no text was written: from here on the words count as known.
    indexer.add(transaction, words)
}
