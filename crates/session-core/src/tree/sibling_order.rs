//! The order of siblings in the tree: by time; siblings with one time are in file order.

use super::row::Row;
use crate::base::memory::{self, filled, push};
use crate::base::time::Time;
use crate::tree::RowNo;

/// The rows whose children may not be ordered by time if they are in file order: a child has an earlier time than the
/// one before it, or an unknown time. `parents` contains the parent of each of `rows`.
pub fn unordered_parents(rows: &[Row], parents: &[Option<RowNo>]) -> memory::Result<Vec<RowNo>> {
    let mut newest = filled(f64::NEG_INFINITY, rows.len())?;
    let mut unordered = Vec::new();
    for (row, parent) in rows.iter().zip(parents) {
        let Some((parent, newest)) = parent.and_then(|parent| Some((parent, newest.get_mut(parent as usize)?))) else {
            continue;
        };
        match row.time {
            Time::At(time) if time >= *newest => *newest = time,
            // Infinity marks the parent as found: no time is later.
            _ => {
                if *newest < f64::INFINITY {
                    push(&mut unordered, parent)?;
                }
                *newest = f64::INFINITY;
            }
        }
    }
    Ok(unordered)
}
