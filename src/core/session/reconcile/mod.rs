pub mod compare_known;
pub mod rebase;
pub mod refresh;
pub mod reserialize;
