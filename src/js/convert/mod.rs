pub mod args;
pub mod errors;
pub mod object;
pub mod values;
