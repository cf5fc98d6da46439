pub mod build;
pub mod index;
pub mod vocabulary;
pub mod words;
