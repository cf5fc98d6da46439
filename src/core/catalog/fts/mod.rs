//! The word index of the catalog: an FTS5 table, and a vocabulary for finding parts of words.

pub mod build;
pub mod index;
pub mod tokenizer;
pub mod vocabulary;
