//! Converts values between JavaScript and the core: arguments in, results and errors out.

pub mod agent_message;
pub mod args;
pub mod errors;
pub mod object;
pub mod paths;
pub mod text;
pub mod usage;
pub mod values;
