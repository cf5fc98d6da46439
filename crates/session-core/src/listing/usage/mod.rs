//! The usage of the model calls of many sessions, each call counted once, by model, time, project or session. The key
//! of a session's row is the path of its file, as in a list:
//!
//! ```
//! use pi_session_core::{list, ListScope};
//! use pi_session_core::paths::StdProcess;
//! use pi_session_core::usage::*;
//!
//! let scope = ListScope::dir("/the/sessions".into(), None);
//! let source = UsageSource::Sessions(scope.clone());
//! let collection = Collection {
//!     source: &source,
//!     process: &StdProcess,
//!     location: None,
//!     largest: 0,
//!     cancelled: &false.into(),
//!     progress: &|_, _| {},
//! };
//! let Collected { sessions, left_out } = collection.run().unwrap().expect("it was not cancelled");
//! let options = ReportOptions { by: vec![Grouping::Session], ..ReportOptions::default() };
//! let sums = report(&sessions, left_out, &Calendar::Utc, &options, &large_entry_id).unwrap();
//! for file in list(&scope, None).unwrap() {
//!     let row = sums.by[0].1.iter().find(|row| *row.key.0 == *file.path.as_bytes());
//!     println!("{}: {} dollars", file.path, row.map_or(0.0, |row| row.sum.amounts.cost));
//! }
//! ```

pub(crate) mod add_up;
pub(crate) mod calendar;
pub(crate) mod collect;
pub(crate) mod named_subagents;
pub(crate) mod report;
