//! What a manager keeps between two reports of usage.

use pi_session_core::summary::usage::session_usage::SessionUsage;
use pi_session_core::tree::tree::RowNo;

/// What was collected of a manager's session so far.
pub struct CollectedUsage {
    pub usage: SessionUsage,
    pub generation: u64,
    /// How many rows it covers, and the id of the last one: rows move if others wrote before ours.
    pub rows: RowNo,
    pub last: Vec<u8>,
}
