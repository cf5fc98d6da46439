pub mod migrate;
pub mod repair;
pub mod replace;
pub mod verify;
