pub mod merge;
pub mod migrate;
pub mod repair;
pub mod replace;
pub mod report;
pub mod verify;
