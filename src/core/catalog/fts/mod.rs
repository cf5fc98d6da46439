pub mod build;
pub mod index;
pub mod tokenizer;
pub mod vocabulary;
