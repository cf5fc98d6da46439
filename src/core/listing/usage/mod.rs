//! What the model calls of many sessions used: each call once, by model, time, project or session.
//!
//! ```
//! use pi_session_core::listing::usage::{add_up::report, calendar::Calendar, collect::*, report::ReportOptions};
//! use pi_session_core::{ListScope, StdProcess};
//!
//! let source = UsageSource::Sessions(ListScope::dir("/the/sessions".into(), None));
//! let collection = Collection {
//!     source: &source,
//!     process: &StdProcess,
//!     location: None,
//!     largest: 0,
//!     cancelled: &false.into(),
//!     progress: &|_, _| {},
//! };
//! let Collected { sessions, left_out } = collection.run().unwrap().expect("it was not cancelled");
//! let sums = report(&sessions, &left_out, &Calendar::Utc, &ReportOptions::default(), &large_entry_id).unwrap();
//! assert_eq!((sums.total.calls, sums.total.amounts.cost), (0, 0.0));
//! ```

pub mod add_up;
pub mod calendar;
pub mod collect;
pub mod report;
pub(crate) mod subagents;
