//! The exported functions: on the caller's plain lists of entries, and on files. A path of entries is the entries from
//! the root to an entry.

use std::cell::Cell;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use crate::convert::args;
use crate::convert::errors::{thrown, wrong_argument, OrThrow};
use crate::convert::object::with_entry_head;
use crate::convert::paths::{on_paths, resolved};
use crate::convert::values::parse;
use crate::engine::{to_js, JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use crate::manager::context_messages;
use crate::manager::from_objects::{self, objects};
use pi_session_core::addon::memory::{push, OutOfMemory};
use pi_session_core::addon::{
    each_entry_line, header_text, path_to, wtf8_without_sequences, EntryKinds, FileMutex, FileStorage, Parent,
};
use pi_session_core::projection::{context_rows, project, Contribution};
use pi_session_core::{paths, RowNo, Tree};

/// The literal 3 in the hand-written types.
pub type SessionVersion = u32;

#[napi]
pub const CURRENT_SESSION_VERSION: SessionVersion = pi_session_core::addon::CURRENT_VERSION;

/// A path of the caller's entries, with its index.
struct JsPath<'env> {
    tree: Tree,
    entries: Vec<JsVal<'env>>,
    rows: Vec<RowNo>,
}

/// The path to `leaf_id`: empty for null, and the path to the last entry for an unknown or missing id. If `by_id`, a
/// map of the caller, is given, entries are looked up in it instead of in the list.
fn path<'env>(js: JsEnv<'env>, entries: JsVal<'env>, leaf_id: JsVal<'env>, by_id: JsVal<'env>) -> Result<JsPath<'env>> {
    let list = args::list(js, entries, "entries")?;
    let mut path = JsPath { tree: Tree::default(), entries: Vec::new(), rows: Vec::new() };
    let count = js.len(list)?;
    if js.kind(leaf_id)? == ValueType::Null || count == 0 && !js.is_truthy(by_id)? {
        return Ok(path);
    }
    let by_id = entries_by_id(js, list, by_id)?;
    let truthy = |value| Ok::<_, Error>(if js.is_truthy(value)? { Some(value) } else { None });
    let find = |id| match truthy(id)? {
        Some(id) => truthy(factory::call(js, FactoryFn::MapGet, &[by_id, id])?),
        None => Ok(None),
    };
    let mut at = find(leaf_id)?;
    if at.is_none() && count > 0 {
        at = truthy(js.at(list, count - 1)?)?;
    }
    let visited = factory::call(js, FactoryFn::NewSet, &[])?;
    let is_new = |entry: &JsVal<'env>| {
        args::object(js, *entry, "each of entries")?;
        js.is_truthy(factory::call(js, FactoryFn::AddNew, &[visited, js.get(*entry, c"id")?])?)
    };
    let refused = |error: OutOfMemory| thrown(js, &error.into());
    for entry in path_to(at, refused, is_new, |entry| find(js.get(*entry, c"parentId")?))? {
        let row = with_entry_head(js, entry, |_, mut head| {
            head.parent = Parent::Null;
            path.tree.push(&head, true)
        })?
        .or_throw(js)?;
        push(&mut path.rows, row).or_throw(js)?;
        push(&mut path.entries, entry).or_throw(js)?;
    }
    Ok(path)
}

/// The caller's map of entries by id, or one of the entries in the list.
fn entries_by_id<'env>(js: JsEnv<'env>, list: JsVal<'env>, by_id: JsVal<'env>) -> Result<JsVal<'env>> {
    if !js.is_truthy(by_id)? {
        objects(js, list, "entries")?;
        return factory::call(js, FactoryFn::EntriesById, &[list]);
    }
    if js.is_object(by_id)? && js.kind(js.get(by_id, c"get")?)? == ValueType::Function {
        Ok(by_id)
    } else {
        Err(wrong_argument(js, "byId must be a Map"))
    }
}

impl<'env> JsPath<'env> {
    fn list(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        js.array_of(&self.entries)
    }

    fn projected(&self, js: JsEnv<'env>, how: FactoryFn, wrap: FactoryFn) -> Result<JsVal<'env>> {
        let projection = project(&self.tree, &self.rows).or_throw(js)?;
        let is_message = |row: RowNo| self.tree.row(row).is_some_and(|row| row.message.is_some());
        context_messages::context(js, self.list(js)?, &projection, &is_message, how, wrap)
    }
}

#[napi(catch_unwind)]
pub fn build_context_entries<'env>(
    env: &'env Env,
    entries: JsVal<'env>,
    leaf_id: JsVal<'env>,
    by_id: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = path(js, entries, leaf_id, by_id)?;
    let rows = context_rows(&path.tree, &path.rows).or_throw(js)?;
    factory::call(js, FactoryFn::Pick, &[path.list(js)?, js.u32s(&rows)?])
}

#[napi(catch_unwind)]
pub fn build_session_projection<'env>(
    env: &'env Env,
    entries: JsVal<'env>,
    leaf_id: JsVal<'env>,
    by_id: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = path(js, entries, leaf_id, by_id)?;
    path.projected(js, FactoryFn::Project, FactoryFn::WithSettings)
}

#[napi(catch_unwind)]
pub fn build_session_context<'env>(
    env: &'env Env,
    entries: JsVal<'env>,
    leaf_id: JsVal<'env>,
    by_id: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = path(js, entries, leaf_id, by_id)?;
    path.projected(js, FactoryFn::Context, FactoryFn::JustMessages)
}

fn contribution(js: JsEnv<'_>, entry: JsVal<'_>) -> Result<Contribution> {
    if js.is_nullish(entry)? {
        return Err(wrong_argument(js, "entry must be an object"));
    }
    // A value that is not an object has no type, and adds no message.
    if !js.is_object(entry)? {
        return Ok(Contribution::Nothing);
    }
    let mut tree = Tree::default();
    let row = with_entry_head(js, entry, |_, head| tree.push(&head, true))?.or_throw(js)?;
    Ok(tree.row(row).map_or(Contribution::Nothing, Contribution::of))
}

#[napi(catch_unwind)]
pub fn session_entry_to_context_messages<'env>(env: &'env Env, entry: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let gives = contribution(js, entry)?;
    context_messages::messages(js, entry, gives)
}

#[napi(catch_unwind)]
pub fn project_context_entry<'env>(env: &'env Env, entry: JsVal<'env>, edit: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let gives = contribution(js, entry)?;
    if js.is_truthy(edit)? {
        context_messages::edited_messages(js, entry, gives, edit)
    } else {
        context_messages::messages(js, entry, gives)
    }
}

#[napi(catch_unwind)]
pub fn get_latest_compaction_entry<'env>(env: &'env Env, entries: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    if js.is_nullish(entries)? {
        return Err(wrong_argument(js, "entries must be an array"));
    }
    let Some(list) = args::optional_array(js, entries)? else {
        return js.null();
    };
    for at in (0..js.len(list)?).rev() {
        let entry = args::object(js, js.at(list, at)?, "each of entries")?;
        if js.text(js.get(entry, c"type")?)?.as_deref() == Some(b"compaction") {
            return Ok(entry);
        }
    }
    js.null()
}

#[napi(catch_unwind)]
pub fn migrate_session_entries(env: &Env, entries: JsVal<'_>) -> Result<()> {
    let js = JsEnv::new(env);
    from_objects::migrate_objects(js, args::list(js, entries, "entries")?)
}

#[napi(catch_unwind)]
pub fn parse_session_entries<'env>(env: &'env Env, content: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    args::text(js, content, "content")?;
    factory::call(js, FactoryFn::ParseLines, &[content])
}

#[napi(catch_unwind)]
pub fn load_entries_from_file<'env>(env: &'env Env, file_path: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let given = args::path(js, file_path, "filePath")?;
    let file = on_paths(js, |process| paths::normalize(&given, process))?;
    let values = js.array(0)?;
    let storage = match FileStorage::open(&file) {
        Ok(storage) => storage,
        Err(error) if error.is_missing() => return Ok(values),
        Err(error) => return Err(thrown(js, &error)),
    };
    let mut count = 0;
    each_entry_line(
        &storage,
        |error| thrown(js, &error),
        |line| {
            js.scoped(|js, _| js.set_at(values, count, parse(js, line)?))?;
            count += 1;
            Ok(())
        },
    )?;
    Ok(values)
}

#[napi(catch_unwind)]
pub fn read_session_header<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = resolved(js, path, "path")?;
    let storage = FileStorage::open(&path).or_throw(js)?;
    match header_text(&storage).or_throw(js)? {
        Some(text) => parse(js, &text),
        None => js.null(),
    }
}

#[napi(catch_unwind)]
pub fn entry_kinds(env: &Env) -> Result<JsVal<'_>> {
    to_js(JsEnv::new(env), &EntryKinds::table())
}

#[napi(catch_unwind)]
pub fn try_lock_file<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = resolved(js, path, "path")?;
    match FileMutex::try_lock(&path).or_throw(js)? {
        Some(lock) => {
            let lock = Cell::new(Some(lock));
            js.function("release", move |js, _| {
                drop(lock.take());
                js.undefined()
            })
        }
        None => js.null(),
    }
}

#[napi(catch_unwind)]
pub fn without_escape_sequences<'env>(env: &'env Env, text: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let text = args::text(js, text, "text")?;
    js.string(&wtf8_without_sequences(&text).or_throw(js)?)
}
