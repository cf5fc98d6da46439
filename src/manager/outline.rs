//! The tree without what its entries say: of the index, so that no line is read for it.

use std::cell::RefCell;

use napi::Result;

use super::materialize::ensure;
use super::reads::{leaf, path_rows, tree_shape, TreeShape};
use super::state::ManagerState;
use crate::convert::errors::OrThrow;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::base::memory::{collect, with_capacity};
use pi_session_core::base::time::{iso, Time};
use pi_session_core::base::wtf8::push_json_string;
use pi_session_core::format::agent_message::Role;
use pi_session_core::format::entry::EntryKind;
use pi_session_core::tree::{Row, RowNo, Tree};

/// The tree, and the ids of the branch of the leaf.
pub fn outline<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    let whole: Vec<RowNo> = {
        let state = state.borrow();
        let tree = state.session.tree();
        let unknown = (0..).zip(tree.rows()).filter(|(_, row)| place_of(row).is_none()).map(|(no, _)| no);
        let labels = tree.rows().iter().filter_map(|row| tree.labels().row_of(row.id));
        collect(unknown.chain(labels)).or_throw(js)?
    };
    ensure(state, js, whole.into_iter())?;
    let branch = path_rows(state, js, leaf(state))?;
    let (places, TreeShape { parents, labels, unordered }, list) = {
        let state = state.borrow();
        (places(js, state.session.tree())?, tree_shape(js, state.session.tree())?, state.cache.list(js)?)
    };
    let (places, branch) = (js.string(&places)?, js.u32s(&branch)?);
    let shape = [js.i32s(&parents)?, js.i32s(&labels)?, js.u32s(&unordered)?];
    factory::call(js, FactoryFn::Outline, &[&[list, places, branch], &shape[..]].concat())
}

/// What the index knows of an entry: its type, its role and its time. None if only the entry itself tells one of them.
fn place_of(row: &Row) -> Option<(&'static str, Option<&'static str>, f64)> {
    let role = match (row.kind, row.role()) {
        (EntryKind::Unknown, _) | (EntryKind::Message, None | Some(Role::Other)) => return None,
        (EntryKind::Message, Some(role)) => Some(role.name()),
        _ => None,
    };
    match row.time {
        Time::At(ms) => Some((row.kind.name(), role, ms)),
        Time::Unparsed => None,
    }
}

/// A JSON list of what the index knows of each entry; 0 where it does not know all.
fn places(js: JsEnv<'_>, tree: &Tree) -> Result<Vec<u8>> {
    let longest = tree.rows().iter().map(|row| 128 + 6 * tree.id_bytes(row.id).len()).sum::<usize>() + 2;
    let mut out = with_capacity(longest).or_throw(js)?;
    out.push(b'[');
    for row in tree.rows() {
        if out.len() > 1 {
            out.push(b',');
        }
        let Some((kind, role, time)) = place_of(row) else {
            out.push(b'0');
            continue;
        };
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"id\":");
        push_json_string(&mut out, tree.id_bytes(row.id)).or_throw(js)?;
        if let Some(time) = iso(time) {
            out.extend_from_slice(b",\"timestamp\":\"");
            out.extend_from_slice(time.as_bytes());
            out.push(b'"');
        }
        if let Some(role) = role {
            out.extend_from_slice(b",\"message\":{\"role\":\"");
            out.extend_from_slice(role.as_bytes());
            out.extend_from_slice(b"\"}");
        }
        out.push(b'}');
    }
    out.push(b']');
    Ok(out)
}
