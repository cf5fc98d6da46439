#![doc = include_str!("../README.md")]
//!
//! | To | |
//! | --- | --- |
//! | open, make a session | [`Session::open`], [`Session::create`] |
//! | append to it | [`Session::append_message`], [`Session::append`] |
//! | walk its entries | [`Session::tree`], [`Tree::path`] |
//! | read an entry, a message, a line | [`Session::entry`], [`Session::message`], [`Session::line`] |
//! | continue from an earlier entry | [`Session::set_leaf`], [`ParentChoice`] |
//! | see what the model sees | [`Session::context`], [`projection::project`] |
//! | fork a session | [`ForkSource`] |
//! | know what entries and messages contain | [`file_format`], [`session_entry`], [`agent_message`] |
//! | read the changes of other processes | [`Session::refresh`], [`Session::take_remap`] |
//! | find, list and search sessions, add up their usage | [`find_session`], `list`, `usage`, `Search` |
//! | verify, repair, redact | [`verify()`], [`repair()`], [`redact()`] |
//! | find out why a call failed | [`Error`] |
//!
//! The serde form of public types is the format of the addon's reports and of the catalog. It may change at any time.

#![cfg_attr(not(test), warn(missing_docs))]
// Some public items are unused if a feature is off, and in tests.
#![cfg_attr(all(feature = "lists", feature = "search", not(test)), warn(unreachable_pub))]
// A room may have the same name as its main file.
#![allow(clippy::module_inception)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
// Some helpers are used only by tests that run on Unix.
#![cfg_attr(all(test, not(unix)), allow(dead_code, unused_imports))]
// Only lists, search and the addon use some items.
#![cfg_attr(not(all(feature = "lists", feature = "search")), allow(dead_code, unused_imports))]

mod base;
#[cfg(feature = "lists")]
mod catalog;
mod context;
#[doc = include_str!("../file-format.md")]
pub mod file_format {}
mod format;
mod index;
mod io;
mod json;
mod lines;
mod listing;
mod locks;
mod rewrite;
#[cfg(feature = "search")]
mod search;
mod session;
mod storage;
mod summary;
#[cfg(test)]
mod testing;
mod tree;

pub use crate::base::error::{Error, ErrorCode, Result};
pub use crate::base::options::{Durability, Lock, SessionFileOptions};
pub use crate::format::entry::{Damage, EntryKind};
pub use crate::format::header::{NewHeader, ParentSession};
#[cfg(feature = "search")]
pub use crate::format::kind_facts::TextScope;
pub use crate::format::other_format::OtherFormat;
pub use crate::format::{agent_message, message_parts, session_entry};
pub use crate::io::dirs::make_dir as make_session_dir;

pub use crate::index::{DamagedLine, Index};
pub use crate::session::diagnostics::{Diagnostics, ForeignChange, RepairMade};
pub use crate::session::fork::ForkSource;
pub use crate::session::open::OpenResult;
pub use crate::session::typed::{Context, ModelRef};
pub use crate::session::{ChangeCount, ForeignChangeKind, NewEntry, ParentChoice, Persistence, RowRemap, Session};
pub use crate::tree::labels::Labels;
pub use crate::tree::{ChildrenOf, IdNo, ParentRef, Row, RowNo, Tree};

pub use crate::index::damage_report::{Cycle, DuplicateId, FaultReport, Orphan, Totals};
pub use crate::index::unpaired_calls::{Unpaired, UnpairedCall};
pub use crate::index::verify::{verify, VerifyReport};
pub use crate::rewrite::belongings::{belongings, Belongings};
pub use crate::rewrite::move_session::{move_session, set_parent_session, Move};
pub use crate::rewrite::redact::{redact, redact_lines, LineRedaction, RedactReport, RedactedLine, Redaction};
pub use crate::rewrite::repair::{repair, Repair, RepairReport};

#[cfg(feature = "lists")]
pub use crate::catalog::{
    forget_file,
    location::{location as catalog_location, CatalogLocation},
};
pub use crate::listing::configured_dir::{configured_dir, ConfiguredDir};
#[cfg(feature = "lists")]
pub use crate::listing::list::{list, ListedFile, PartialLists};
pub use crate::listing::scope::ListScope;
#[cfg(feature = "search")]
pub use crate::search::{
    query::{Query, SearchOptions},
    run::{HitSession, Search, SessionHits},
    session_search::Hit,
};
pub use crate::summary::session_summary::{ListedSession, SessionSummary};

/// Ids of sessions.
pub mod ids {
    pub use crate::format::ids::{check_session_id, session_id};
}

/// Paths of files as pi reads and writes them, and the directories of its sessions.
pub mod paths {
    pub use crate::base::paths::{
        agent_dir, default_session_dir, is_same_path, join, normalize, parent, resolve, sessions_dir, Process,
        StdProcess,
    };
}

/// Times in sessions.
pub mod time {
    pub use crate::base::time::{iso, timestamp, Time};
}

/// Texts as WTF-8 bytes, because they may contain lone surrogates, which Rust strings cannot.
pub mod wtf8 {
    pub use crate::base::wtf8::{from_utf16, into_string_lossy, one_line, shown, to_string_lossy, to_utf16, trim};
}

/// The part of a path that the model sees. A path here is the entries from the root to an entry.
pub mod projection {
    pub use crate::context::projection::{context_rows, project, Contribution, Projection, Settings, Step};
}

/// Finds one session among many files.
pub mod find_session {
    pub use crate::listing::find_session::{by_id, by_id_prefix, lookup_filter, most_recent, FoundSession};
}

/// Sums of the usage of many sessions' model calls.
#[cfg(feature = "lists")]
pub mod usage {
    pub use crate::listing::usage::add_up::{report, utc_days, IdOf};
    pub use crate::listing::usage::calendar::{Calendar, Period};
    pub use crate::listing::usage::collect::{large_entry_id, Collected, Collection, UsageSource};
    pub use crate::listing::usage::report::{
        Grouping, LargeRow, LeftOut, LeftOutCalls, LeftOutFile, Report, ReportOptions, RowSession, Sum, Text, UsageRow,
        UsageSession,
    };
    pub use crate::summary::usage::call::{Amounts, CallErrors};
    pub use crate::summary::usage::session_usage::{LargeEntry, NamedSession, SessionUsage};
}

/// Items that only the addon uses. They may change at any time.
#[cfg(all(feature = "lists", feature = "search"))]
#[doc(hidden)]
pub mod addon {
    pub use crate::base::error::code_of;
    pub use crate::base::escape_sequences::wtf8_without_sequences;
    pub use crate::base::utf16::push_quoted;
    pub use crate::context::context_edit::{edited, needs_block_list, Edited};
    pub use crate::context::system_prompt::{replay, Date, SystemMessage};
    pub use crate::format::body::BodyOf;
    pub use crate::format::entry::{head_of, target_key, EntryFields, EntryHead, Parent};
    pub use crate::format::header::{new_file_name, Version, CURRENT_VERSION};
    pub use crate::format::kinds::{search_roles, EntryKinds};
    pub use crate::format::message_head::MessageHead;
    pub use crate::format::serialize::{line, NewHead};
    pub use crate::index::entry_lines::{each_entry_line, header_text};
    pub use crate::index::read_entries::{TakeBody, BODY_PLACEHOLDER};
    pub use crate::json::{is_json, Value};
    pub use crate::listing::list::{list_events, received, ListEvent};
    pub use crate::locks::file_mutex::FileMutex;
    pub use crate::locks::held_lock_files::release_all as release_all_locks;
    pub use crate::locks::lock_file::held as lock_holder;
    pub use crate::search::scope::hit_role;
    pub use crate::session::body_text::{BodyPlace, MissingBody};
    pub use crate::session::branch::{plan as plan_branch, BranchLabel, BranchLines, BranchPlan, BranchStep};
    pub use crate::session::open::cwd_in_header;
    pub use crate::session::{AppendPlan, TextNeed};
    pub use crate::storage::file::FileStorage;
    pub use crate::summary::line_scanner::ScannedLine;
    pub use crate::summary::usage::session_usage::{LargeEntry, SessionUsage, LARGEST_KEPT};
    pub use crate::tree::ancestors::path_to;
    pub use crate::tree::sibling_order::unordered_parents;

    pub mod memory {
        pub use crate::base::memory::{
            append, collect, copy_of_bytes, joined, keep, push, reserve, resize, with_capacity, OutOfMemory, Result,
        };
    }
    pub mod threads {
        pub use crate::base::threads::{locked, on_threads, panicked};
    }
    pub mod listed_text {
        pub use crate::summary::listed_text::{text, ListedState};
    }
    pub mod merge {
        pub use crate::rewrite::merge::{create, merge, Since};
    }
    pub mod migrate {
        pub use crate::rewrite::migrate::{MigrationEdit, Migrator, OldFields};
    }
}
