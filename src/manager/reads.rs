//! Reads from a manager: rows from the core, objects from the cache. A path here is the entries from the root to an
//! entry.

use std::cell::RefCell;

use napi::{Result, ValueType};

use super::context_messages;
use super::materialize::{ensure, object};
use super::state::ManagerState;
use crate::convert::errors::OrThrow;
use crate::convert::object::FieldValue;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::{collect, with_capacity};
use pi_session_core::addon::{memory, target_key, unordered_parents};
use pi_session_core::projection::{project, Projection, Settings};
use pi_session_core::wtf8::trim;
use pi_session_core::{ChildrenOf, RowNo, Tree};

/// The row of an id argument. None if it is not a string, or if no entry has it.
pub fn row_of(state: &RefCell<ManagerState>, js: JsEnv<'_>, id: JsVal<'_>) -> Result<Option<RowNo>> {
    let id = js.text(id)?;
    Ok(id.and_then(|id| state.borrow().session.tree().find(&id)))
}

/// A new list of these entries.
pub fn list_of<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, rows: &[RowNo]) -> Result<JsVal<'env>> {
    ensure(state, js, rows.iter().copied())?;
    let list = state.borrow().cache.list(js)?;
    match run_of(rows) {
        Some((from, to)) => factory::call(js, FactoryFn::Slice, &[list, js.number(from)?, js.number(to)?]),
        None => factory::call(js, FactoryFn::Pick, &[list, js.u32s(rows)?]),
    }
}

/// The start and the end of these rows if they are consecutive, else None. Most paths are consecutive.
fn run_of(rows: &[RowNo]) -> Option<(f64, f64)> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    let runs = rows.windows(2).all(|pair| matches!(pair, [before, row] if before + 1 == *row));
    runs.then(|| (f64::from(first), f64::from(last) + 1.0))
}

/// A new list of every entry.
pub fn all<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    ensure_all(state, js)?;
    let list = state.borrow().cache.list(js)?;
    factory::call(js, FactoryFn::Slice, &[list])
}

fn ensure_all(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<()> {
    let rows = state.borrow().session.tree().len() as RowNo;
    ensure(state, js, 0..rows)
}

/// An entry, or `undefined`.
pub fn entry_or_undefined<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    row: Option<RowNo>,
) -> Result<JsVal<'env>> {
    row.map_or_else(|| js.undefined(), |row| object(state, js, row))
}

/// The leaf, unless its id is empty.
pub fn leaf(state: &RefCell<ManagerState>) -> Option<RowNo> {
    state.borrow().session.tree().named_leaf()
}

/// The last row of a path argument: the leaf if it is null or undefined.
pub fn path_end(state: &RefCell<ManagerState>, js: JsEnv<'_>, from: JsVal<'_>) -> Result<Option<RowNo>> {
    if js.is_nullish(from)? {
        return Ok(leaf(state));
    }
    let row = row_of(state, js, from)?;
    Ok(row.filter(|&row| !state.borrow().session.tree().id_of(row).is_empty()))
}

/// The path to an entry, or its last `limit` entries.
pub fn branch<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    from: JsVal<'env>,
    limit: Option<usize>,
) -> Result<JsVal<'env>> {
    let mut path = path_rows(state, js, path_end(state, js, from)?)?;
    path.drain(..path.len().saturating_sub(limit.unwrap_or(usize::MAX)));
    list_of(state, js, &path)
}

/// The rows of the path to an entry.
pub fn path_rows(state: &RefCell<ManagerState>, js: JsEnv<'_>, end: Option<RowNo>) -> Result<Vec<RowNo>> {
    let path = end.map_or(Ok(Vec::new()), |end| state.borrow().session.tree().path(end));
    path.or_throw(js)
}

/// The entries of the context at the leaf.
pub fn context_entries<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    let projection = leaf_projection(state, js)?;
    let rows = collect(projection.steps.iter().map(|step| step.row)).or_throw(js)?;
    list_of(state, js, &rows)
}

/// The children of an id; also of null and undefined.
pub fn children<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, of: JsVal<'env>) -> Result<JsVal<'env>> {
    let text = js.text(of)?;
    let asked = match (&text, js.kind(of)?, js.number_value(of)?) {
        (Some(id), ..) => Some(ChildrenOf::Id(id)),
        (_, ValueType::Null, _) => Some(ChildrenOf::Null),
        (_, ValueType::Undefined, _) => Some(ChildrenOf::Missing),
        (.., Some(number)) => Some(ChildrenOf::Number(number)),
        _ => None,
    };
    let rows = asked.map_or(Ok(Vec::new()), |asked| state.borrow().session.tree().children(asked));
    list_of(state, js, &rows.or_throw(js)?)
}

/// The label of an id, or `undefined`.
pub fn label<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, id: JsVal<'env>) -> Result<JsVal<'env>> {
    let id = FieldValue::of(js, id);
    let key = target_key(Some(&id).filter(|id| !id.is_undefined())).or_throw(js)?;
    let row = key.and_then(|id| {
        let state = state.borrow();
        let tree = state.session.tree();
        tree.labels().row_of(tree.id_no(&id)?)
    });
    match row {
        Some(row) => js.get(object(state, js, row)?, c"label"),
        None => js.undefined(),
    }
}

/// The session's name: the name in the newest session_info, trimmed; `undefined` if it is empty.
pub fn name<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    let row = state.borrow().session.tree().last_info();
    let Some(row) = row else {
        return js.undefined();
    };
    let name = js.text(js.get(object(state, js, row)?, c"name")?)?;
    js.optional_string(name.as_deref().map(trim).filter(|name| !name.is_empty()))
}

/// The path of the session's file, or `undefined`.
pub fn session_file<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    js.optional_string(state.borrow().session.file().map(str::as_bytes))
}

/// The whole tree.
pub fn tree<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    ensure_all(state, js)?;
    let (TreeShape { parents, labels, unordered }, list) = {
        let state = state.borrow();
        (tree_shape(js, state.session.tree())?, state.cache.list(js)?)
    };
    factory::call(js, FactoryFn::Tree, &[list, js.i32s(&parents)?, js.i32s(&labels)?, js.u32s(&unordered)?])
}

/// The data from which a tree is built, besides its entries.
pub struct TreeShape {
    /// The row of each row's parent, or -1.
    pub parents: Vec<i32>,
    /// The row of each row's label entry, or -1.
    pub labels: Vec<i32>,
    /// The rows whose children must still be sorted by their times.
    pub unordered: Vec<u32>,
}

/// The shape of a tree.
pub fn tree_shape(js: JsEnv<'_>, tree: &Tree) -> Result<TreeShape> {
    let position = |row: Option<RowNo>| row.map_or(-1, |row| row as i32);
    let shape = || -> memory::Result<TreeShape> {
        let known = tree.parents()?;
        let (mut parents, mut labels) = (with_capacity(tree.len())?, with_capacity(tree.len())?);
        parents.extend(known.iter().copied().map(position));
        labels.extend(tree.rows().iter().map(|row| position(tree.labels().row_of(row.id))));
        Ok(TreeShape { unordered: unordered_parents(tree.rows(), &known)?, parents, labels })
    };
    shape().or_throw(js)
}

/// The projection of the path to the leaf.
pub fn leaf_projection(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<Projection> {
    let state = state.borrow();
    let tree = state.session.tree();
    let path = tree.context_end().map_or(Ok(Vec::new()), |end| tree.path(end));
    path.and_then(|path| project(tree, &path)).or_throw(js)
}

/// The list of a manager's entries, with all objects for a projection and its edits.
pub fn ensured<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, projection: &Projection) -> Result<JsVal<'env>> {
    let steps = projection.steps.iter().flat_map(|step| [Some(step.row), step.edit]);
    let Settings { thinking_level, model } = projection.settings;
    ensure(state, js, steps.chain([thinking_level, model]).flatten())?;
    state.borrow().cache.list(js)
}

/// The context at the leaf: the result of `how` for its projection, passed to `wrap` with its settings.
pub fn context<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    how: FactoryFn,
    wrap: FactoryFn,
) -> Result<JsVal<'env>> {
    let projection = leaf_projection(state, js)?;
    let list = ensured(state, js, &projection)?;
    let is_message = |row| state.borrow().session.tree().row(row).is_some_and(|row| row.message.is_some());
    context_messages::context(js, list, &projection, &is_message, how, wrap)
}
