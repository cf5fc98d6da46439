//! Full-text search over all sessions, in their files.
//!
//! ```
//! use pi_session_core::paths::StdProcess;
//! use pi_session_core::{ListScope, Query, Search, SearchOptions};
//!
//! Search {
//!     scope: &ListScope::dir("/the/sessions".into(), Some("/project".into())),
//!     process: &StdProcess,
//!     location: None,
//!     query: &Query::new("flaky test").expect("words"),
//!     options: &SearchOptions::default(),
//!     cancelled: &false.into(),
//!     progress: &|_searched, _all| {},
//!     each: &|found| Ok(found.hits.iter().for_each(|hit| println!("{}: {}", found.session.path, hit.snippet))),
//! }
//! .run()
//! .unwrap();
//! ```

pub(crate) mod matcher;
pub(crate) mod prefilter;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod scope;
pub(crate) mod session_search;
pub(crate) mod snippet;
