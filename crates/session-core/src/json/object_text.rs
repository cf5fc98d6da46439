//! Edits of an object's own keys. The texts of the other values stay the same byte by byte, and so does the order of
//! the keys. An edit loses only what has no meaning in JSON: white space between members, earlier values of a repeated
//! key, and unnecessary escapes in keys.

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::reader::each_member;
use crate::base::memory::{self, append, push, reserve, with_capacity};
use crate::base::wtf8::push_json_string;

/// An object's own keys and values in order, each as text. As in JavaScript, a repeated key has its first position and
/// its last value.
#[derive(Default)]
pub(crate) struct ObjectText<'a>(Vec<Member<'a>>);

struct Member<'a> {
    key: Cow<'a, [u8]>,
    value: Cow<'a, str>,
}

impl<'a> ObjectText<'a> {
    /// Reads a text as a JSON object; None if it is not one. Fails with `OutOfMemory` if the allocation fails.
    pub(crate) fn read(text: &'a str) -> memory::Result<Option<Self>> {
        let mut members: Vec<Member<'a>> = Vec::with_capacity(8);
        // The position of each key.
        let mut seen = HashTable::new();
        let hasher = DefaultHashBuilder::default();
        let is_object = each_member(text, |key, value| {
            let value = Cow::Borrowed(value);
            let hash = hasher.hash_one(&key);
            let is_same = |at: &usize| members.get(*at).is_some_and(|member| member.key == key);
            match seen.find(hash, is_same).copied().and_then(|at: usize| members.get_mut(at)) {
                Some(member) => member.value = value,
                None => {
                    reserve(&mut members, 1)?;
                    let hash_of = |at: &usize| members.get(*at).map_or(0, |member| hasher.hash_one(&member.key));
                    seen.try_reserve(1, hash_of)?;
                    seen.insert_unique(hash, members.len(), hash_of);
                    members.push(Member { key, value });
                }
            }
            Ok(())
        })?;
        Ok(is_object.then_some(Self(members)))
    }

    /// The text of a key's value.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|member| *member.key == *key.as_bytes())?;
        Some(&found.value)
    }

    /// Sets a key's value. A new key becomes the last one.
    pub(crate) fn set(&mut self, key: &'static str, value: impl Into<String>) -> memory::Result<()> {
        let value = Cow::Owned(value.into());
        match self.0.iter_mut().find(|member| *member.key == *key.as_bytes()) {
            Some(member) => member.value = value,
            None => push(&mut self.0, Member { key: Cow::Borrowed(key.as_bytes()), value })?,
        }
        Ok(())
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|member| *member.key != *key.as_bytes());
    }

    /// Replaces each value by the result of `each`. Removes the keys for which `each` returns None.
    pub(crate) fn with_values(
        self,
        mut each: impl FnMut(&[u8], Cow<'a, str>) -> memory::Result<Option<Cow<'a, str>>>,
    ) -> memory::Result<Self> {
        let mut members = with_capacity(self.0.len())?;
        for Member { key, value } in self.0 {
            members.extend(each(&key, value)?.map(|value| Member { key, value }));
        }
        Ok(Self(members))
    }

    /// The object's text, without white space between its members.
    pub(crate) fn text(&self) -> memory::Result<Vec<u8>> {
        let mut out = Vec::new();
        // Each member has two quotes, a colon and a comma.
        reserve(&mut out, 2 + self.0.iter().map(|member| member.key.len() + member.value.len() + 4).sum::<usize>())?;
        out.push(b'{');
        for (at, member) in self.0.iter().enumerate() {
            if at > 0 {
                append(&mut out, b",")?;
            }
            push_json_string(&mut out, &member.key)?;
            append(&mut out, b":")?;
            append(&mut out, member.value.as_bytes())?;
        }
        append(&mut out, b"}")?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
