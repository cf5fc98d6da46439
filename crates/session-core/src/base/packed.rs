//! Values as bytes, for the catalog. Bytes, texts and lists are copied by allocations that can fail, because serde's
//! own lists and texts abort the process if an allocation fails, and read bytes one by one.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, SeqAccess, Visitor};
use serde::Serialize;

use super::memory::{self, copy_of, copy_of_bytes, push, MemoryWriter, OutOfMemory};

/// Packs a value into bytes.
pub(crate) fn pack(value: &impl Serialize) -> memory::Result<Vec<u8>> {
    // Packing fails only if an allocation fails.
    let packed = postcard::to_io(value, MemoryWriter::default());
    packed.map(|packed| packed.0).map_err(|_| OutOfMemory)
}

/// Unpacks a value. None if the bytes are not a packed value of this type, or if an allocation fails: postcard's errors
/// do not distinguish the two.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// Copies the part of the packed bytes that a field borrows.
fn copied<'de, D: Deserializer<'de>, B: Deserialize<'de>, T>(
    deserializer: D,
    copy: impl FnOnce(B) -> memory::Result<T>,
) -> Result<T, D::Error> {
    copy(B::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A field of bytes.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    copied(deserializer, copy_of_bytes)
}

/// A field of bytes, or none.
pub(crate) fn maybe_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    copied(deserializer, |bytes: Option<&[u8]>| bytes.map(copy_of_bytes).transpose())
}

/// A field of text that does not grow.
pub(crate) fn boxed_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<str>, D::Error> {
    copied(deserializer, |text| Ok(copy_of(text)?.into_boxed_str()))
}

/// A field of text, or none.
pub(crate) fn maybe_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    copied(deserializer, |text: Option<&str>| text.map(copy_of).transpose())
}

/// A list whose elements need no allocation, or allocate by functions of this module.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    list_of(deserializer, Ok)
}

/// A list of bytes.
pub(crate) fn list_of_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error> {
    list_of(deserializer, copy_of_bytes)
}

/// A set of texts.
pub(crate) fn set_of_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HashSet<String>, D::Error> {
    let texts = list_of(deserializer, copy_of)?;
    let mut set = HashSet::new();
    set.try_reserve(texts.len()).map_err(D::Error::custom)?;
    set.extend(texts);
    Ok(set)
}

/// A list. `make` converts each element.
fn list_of<'de, D: Deserializer<'de>, B: Deserialize<'de>, T>(
    deserializer: D,
    make: impl Fn(B) -> memory::Result<T>,
) -> Result<Vec<T>, D::Error> {
    struct Elements<B, M>(M, PhantomData<B>);
    impl<'de, B: Deserialize<'de>, T, M: Fn(B) -> memory::Result<T>> Visitor<'de> for Elements<B, M> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            // Lists are kept for long, so they are allocated exactly. Postcard's size hint is never more than the bytes
            // can contain.
            list.try_reserve_exact(elements.size_hint().unwrap_or_default()).map_err(A::Error::custom)?;
            while let Some(element) = elements.next_element()? {
                let element = (self.0)(element).map_err(A::Error::custom)?;
                push(&mut list, element).map_err(A::Error::custom)?;
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(Elements(make, PhantomData))
}
