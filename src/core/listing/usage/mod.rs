//! What the model calls of many sessions used: each call once, by model, time, project or session.

pub mod add_up;
pub mod calendar;
pub mod collect;
pub mod report;
pub(crate) mod subagents;
