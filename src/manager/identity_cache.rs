//! The entries of one manager as JavaScript objects. Each is created once and kept, so that identity is stable.
//!
//! An entry that was appended here is kept as its own fields until somebody reads it, because most are never read.
//!
//! The objects belong to the manager's JavaScript object, through its anchor. Here they are only referenced weakly:
//! otherwise an entry that refers to its manager would keep both alive forever.

use napi::Result;

use crate::convert::errors::OrThrow;
use crate::engine::{JsEnv, JsVal, Persistent};
use pi_session_core::addon::memory::{reserve, resize};
use pi_session_core::RowNo;

/// The state of an entry's row in the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ObjectSlot {
    #[default]
    /// Nothing is kept. The entry's line is in the storage.
    Empty,
    /// An object with the entry's own fields, without its envelope; for a message entry its message.
    Own,
    /// The entry's object.
    Made,
}

/// The name of the list's property with the header.
const HEADER: &[u8] = b"header";

/// The header's object and the entries' objects that were created so far.
pub struct IdentityCache {
    /// A list with one element for each row, or a hole for an empty slot. Its own property `header` is the header's
    /// object, or undefined.
    entries: Persistent,
    slots: Vec<ObjectSlot>,
    missing: usize,
    /// The object that owns the list and lives as long as the manager. Without one the cache keeps the list alive.
    anchor: Option<Persistent>,
}

impl IdentityCache {
    /// An empty cache for a session of `rows` entries.
    pub fn new(js: JsEnv<'_>, rows: usize) -> Result<Self> {
        let list = js.array(rows)?;
        js.define(list, js.string(HEADER)?, js.undefined()?)?;
        let entries = js.keep(list)?;
        let mut cache = Self { entries, slots: Vec::new(), missing: 0, anchor: None };
        cache.grow(js, rows)?;
        Ok(cache)
    }

    /// Passes the objects to an anchor, which drops its earlier ones.
    pub fn hold_by(&mut self, js: JsEnv<'_>, anchor: JsVal<'_>) -> Result<()> {
        js.set(anchor, c"entries", js.kept(&self.entries)?)?;
        js.weaken(&self.entries)?;
        let anchor = js.keep(anchor)?;
        js.weaken(&anchor)?;
        self.anchor = Some(anchor);
        Ok(())
    }

    /// The object that owns the list.
    pub fn anchor<'env>(&self, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
        self.anchor.as_ref().map(|anchor| js.kept(anchor)).transpose()
    }

    /// Whether the manager's object was collected, and with it all entries' objects.
    pub fn is_collected(&self, js: JsEnv<'_>) -> Result<bool> {
        self.anchor.as_ref().map_or(Ok(false), |anchor| js.is_gone(anchor))
    }

    /// Forgets the objects after they were collected.
    pub fn clear(&mut self) {
        (self.slots, self.missing) = (Vec::new(), 0);
    }

    /// Reserves memory for one more row, so that the next `grow` by one cannot fail.
    pub fn make_room(&mut self, js: JsEnv<'_>) -> Result<()> {
        reserve(&mut self.slots, 1).or_throw(js)
    }

    /// Adds slots for new rows.
    pub fn grow(&mut self, js: JsEnv<'_>, rows: usize) -> Result<()> {
        if rows > self.slots.len() {
            let more = rows - self.slots.len();
            reserve(&mut self.slots, more).or_throw(js)?;
            self.slots.resize(rows, ObjectSlot::Empty);
            self.missing += more;
        }
        Ok(())
    }

    /// Renumbers rows. `rows` contains the old number of each row, if it had one. Drops the header's object unless
    /// `same_header`.
    pub fn renumber(&mut self, js: JsEnv<'_>, rows: &[Option<RowNo>], same_header: bool) -> Result<()> {
        let old = self.list(js)?;
        let new = js.array(rows.len())?;
        let mut slots = Vec::new();
        resize(&mut slots, rows.len()).or_throw(js)?;
        for (row, (slot, was)) in slots.iter_mut().zip(rows).enumerate() {
            let Some(was) = was.filter(|&was| self.slot(was) != ObjectSlot::Empty) else { continue };
            *slot = self.slot(was);
            js.scoped(|js, _| js.set_at(new, row as RowNo, js.at(old, was)?))?;
        }
        let header = if same_header { js.get(old, c"header")? } else { js.undefined()? };
        js.define(new, js.string(HEADER)?, header)?;
        let kept = js.keep(new)?;
        if let Some(anchor) = self.anchor(js)? {
            js.set(anchor, c"entries", new)?;
            js.weaken(&kept)?;
        }
        self.missing = slots.iter().filter(|slot| **slot != ObjectSlot::Made).count();
        self.slots = slots;
        self.entries = kept;
        Ok(())
    }

    /// The list of entries, including its holes.
    pub fn list<'env>(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        js.kept(&self.entries)
    }

    /// The header's object, if it was created.
    pub fn header<'env>(&self, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
        let header = js.get(self.list(js)?, c"header")?;
        Ok(if js.is_undefined(header)? { None } else { Some(header) })
    }

    /// Keeps the header's object.
    pub fn set_header(&mut self, js: JsEnv<'_>, header: JsVal<'_>) -> Result<()> {
        js.define(self.list(js)?, js.string(HEADER)?, header)
    }

    /// Whether an entry's object was created.
    pub fn has(&self, row: RowNo) -> bool {
        self.slot(row) == ObjectSlot::Made
    }

    /// Whether an entry is kept as its own fields.
    pub fn has_own(&self, row: RowNo) -> bool {
        self.slot(row) == ObjectSlot::Own
    }

    fn slot(&self, row: RowNo) -> ObjectSlot {
        self.slots.get(row as usize).copied().unwrap_or(ObjectSlot::Empty)
    }

    /// Whether every entry's object was created.
    pub fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// The content of an entry's slot: its object, its own fields, or `undefined`.
    pub fn get<'env>(&self, js: JsEnv<'env>, row: RowNo) -> Result<JsVal<'env>> {
        js.at(self.list(js)?, row)
    }

    /// Keeps an entry's object.
    pub fn set(&mut self, js: JsEnv<'_>, row: RowNo, object: JsVal<'_>) -> Result<()> {
        js.set_at(self.list(js)?, row, object)?;
        self.mark(js, row, ObjectSlot::Made)
    }

    /// Keeps the own fields of an entry that was appended.
    pub fn set_own(&mut self, js: JsEnv<'_>, row: RowNo, own: JsVal<'_>) -> Result<()> {
        js.set_at(self.list(js)?, row, own)?;
        self.mark(js, row, ObjectSlot::Own)
    }

    fn mark(&mut self, js: JsEnv<'_>, row: RowNo, kept: ObjectSlot) -> Result<()> {
        self.grow(js, row as usize + 1)?;
        if let Some(slot) = self.slots.get_mut(row as usize).filter(|slot| **slot != ObjectSlot::Made) {
            self.missing -= usize::from(kept == ObjectSlot::Made);
            *slot = kept;
        }
        Ok(())
    }

    /// Records that the objects of these rows are in the list.
    pub fn mark_made(&mut self, js: JsEnv<'_>, mut rows: impl Iterator<Item = RowNo>) -> Result<()> {
        rows.try_for_each(|row| self.mark(js, row, ObjectSlot::Made))
    }
}
