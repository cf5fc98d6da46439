//! Sessions made from the caller's own objects, and the migration of objects in place.

use napi::{Error, Result};

use super::config::ManagerConfig;
use super::identity_cache::IdentityCache;
use super::open::new_session;
use crate::convert::args::Options;
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::object::{field, with_entry_head};
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::{push, with_capacity};
use pi_session_core::addon::migrate::{MigrationEdit, Migrator, OldFields};
use pi_session_core::addon::{Value, Version, CURRENT_VERSION};
use pi_session_core::Session;

/// The objects of a list. Fails with an error that names the element if one is not an object.
pub fn objects<'env>(js: JsEnv<'env>, list: JsVal<'env>, name: &str) -> Result<Vec<JsVal<'env>>> {
    let mut values = Vec::new();
    for at in 0..js.len(list)? {
        let value = js.at(list, at)?;
        if !js.is_object(value)? {
            return Err(wrong_argument(js, format!("{name}[{at}] must be an object")));
        }
        push(&mut values, value).or_throw(js)?;
    }
    Ok(values)
}

fn type_of(js: JsEnv<'_>, value: JsVal<'_>) -> Result<Vec<u8>> {
    Ok(js.text(js.get(value, c"type")?)?.unwrap_or_default())
}

/// A session with these objects as its entries, unchanged. It has the id in their header; without a header it gets a
/// new id. Objects of an old version are migrated in place.
pub fn session_from_objects(
    js: JsEnv<'_>,
    config: &ManagerConfig,
    options: &Options<'_>,
    list: JsVal<'_>,
) -> Result<(Session, IdentityCache)> {
    let values = objects(js, list, "entries")?;
    let mut header = None;
    let mut entries = with_capacity(values.len()).or_throw(js)?;
    for value in &values {
        match type_of(js, *value)?.as_slice() {
            b"session" => header = header.or(Some(*value)),
            _ => entries.push(*value),
        }
    }
    let (mut session, mut cache) = match header {
        None => new_session(js, config, None, options)?,
        Some(header) => {
            let id = field(js, header, "id")?;
            let id = id.as_ref().map_or(Ok(None), Value::text).or_throw(js)?;
            let id = id
                .map(|id| id.into_owned())
                .ok_or_else(|| wrong_argument(js, "entries: the header's id must be a string"))?;
            migrate(js, &values, version_of(js, header)?)?;
            let mut cache = IdentityCache::new(js, 0)?;
            cache.set_header(js, header)?;
            (Session::new(id, config.persistence, None), cache)
        }
    };
    take_entries(js, &entries, &mut session, &mut cache)?;
    Ok((session, cache))
}

fn take_entries(js: JsEnv<'_>, entries: &[JsVal<'_>], session: &mut Session, cache: &mut IdentityCache) -> Result<()> {
    for &value in entries {
        // As in a file: an entry without a string id could not be found again, nor be the leaf.
        let row = with_entry_head(js, value, |fields, head| {
            let has_id = fields.id.as_ref().is_some_and(|id| id.text().is_ok_and(|id| id.is_some()));
            has_id.then(|| session.push_local(&head, None))
        })?;
        if let Some(row) = row.transpose().or_throw(js)? {
            cache.set(js, row, value)?;
        }
    }
    Ok(())
}

/// Migrates objects in place, including the header, from the version in their header.
pub fn migrate_objects(js: JsEnv<'_>, list: JsVal<'_>) -> Result<()> {
    let values = objects(js, list, "entries")?;
    let mut version = Version::V1;
    for value in &values {
        if type_of(js, *value)? == b"session" {
            version = version_of(js, *value)?;
            break;
        }
    }
    migrate(js, &values, version)
}

/// The version in a header.
fn version_of(js: JsEnv<'_>, header: JsVal<'_>) -> Result<Version> {
    Version::of(field(js, header, "version")?.as_ref()).or_throw(js)
}

fn migrate(js: JsEnv<'_>, values: &[JsVal<'_>], version: Version) -> Result<()> {
    if version == Version::Current {
        return Ok(());
    }
    let mut migrator = Migrator::new(version);
    for value in values {
        let field = |name| field(js, *value, name);
        let fields = OldFields {
            kind: field("type")?,
            message: field("message")?,
            first_kept_index: field("firstKeptEntryIndex")?,
        };
        let is_hook = |message: JsVal<'_>| {
            Ok::<_, Error>(
                js.is_object(message)? && js.text(js.get(message, c"role")?)?.as_deref() == Some(b"hookMessage"),
            )
        };
        for change in migrator.changes(&fields).or_throw(js)? {
            let (object, key, new) = match change {
                MigrationEdit::Version => (*value, c"version", js.number(f64::from(CURRENT_VERSION))?),
                MigrationEdit::Id(id) => (*value, c"id", js.string(id.as_bytes())?),
                MigrationEdit::Parent(Some(id)) => (*value, c"parentId", js.string(id.as_bytes())?),
                MigrationEdit::Parent(None) => (*value, c"parentId", js.null()?),
                MigrationEdit::FirstKept(id) => (*value, c"firstKeptEntryId", js.string(id.as_bytes())?),
                MigrationEdit::FirstKeptLater(at) => match values.get(at) {
                    Some(later) if type_of(js, *later)? != b"session" => {
                        (*value, c"firstKeptEntryId", js.get(*later, c"id")?)
                    }
                    _ => continue,
                },
                MigrationEdit::FirstKeptIndexRemoved => {
                    factory::call(js, FactoryFn::Remove, &[*value, js.string(b"firstKeptEntryIndex")?])?;
                    continue;
                }
                MigrationEdit::CustomRole => match &fields.message {
                    Some(message) if is_hook(message.value())? => (message.value(), c"role", js.string(b"custom")?),
                    _ => continue,
                },
            };
            // As in strict mode, an object that refuses the change, for example a frozen one, causes a TypeError.
            factory::call(js, FactoryFn::Assign, &[object, js.string(key.to_bytes())?, new])?;
        }
    }
    Ok(())
}
