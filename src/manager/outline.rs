//! The outline: the tree without the contents of entries. It is built from the index, so no line is read for it.

use std::cell::RefCell;

use napi::Result;
use serde::{Serialize, Serializer};

use super::materialize::ensure;
use super::reads::{leaf, path_rows, tree_shape, TreeShape};
use super::state::ManagerState;
use crate::convert::errors::OrThrow;
use crate::engine::{to_js, JsEnv, JsVal, Wtf8};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::collect;
use pi_session_core::agent_message::Role;
use pi_session_core::time::{iso, Time};
use pi_session_core::{EntryKind, Row, RowNo, Tree};

/// The tree, and the ids of the path to the leaf (pi's branch).
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
        (to_js(js, &Places(state.session.tree()))?, tree_shape(js, state.session.tree())?, state.cache.list(js)?)
    };
    let branch = js.u32s(&branch)?;
    let shape = [js.i32s(&parents)?, js.i32s(&labels)?, js.u32s(&unordered)?];
    factory::call(js, FactoryFn::Outline, &[&[list, places, branch], &shape[..]].concat())
}

/// The type, role and time of an entry in the index. None if the index does not contain one of them.
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

/// One entry of an outline, read from the index only.
#[derive(Serialize)]
struct Place<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: Wtf8<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<PlaceMessage>,
}

#[derive(Serialize)]
struct PlaceMessage {
    role: &'static str,
}

/// The entries of an outline. None for an entry that the index does not contain completely.
struct Places<'a>(&'a Tree);

impl Serialize for Places<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let tree = self.0;
        serializer.collect_seq(tree.rows().iter().map(|row| {
            let (kind, role, time) = place_of(row)?;
            let message = role.map(|role| PlaceMessage { role });
            Some(Place { kind, id: Wtf8(tree.id_bytes(row.id)), timestamp: iso(time), message })
        }))
    }
}
