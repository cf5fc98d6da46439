//! Edits of an object's own keys that leave every other byte as it was.

use std::borrow::Cow;
use std::{fmt, io};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::fields::Key;
use super::reader::{read, Raw};
use crate::base::memory::{append, reserve};
use crate::base::wtf8::push_json_string;

/// An object's own keys and values in order, each as text. As in JavaScript, a repeated key has its first position and its
/// last value.
#[derive(Default)]
pub struct ObjectText<'a>(Vec<Member<'a>>);

struct Member<'a> {
    key: Cow<'a, [u8]>,
    value: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = ObjectText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut object = ObjectText(Vec::with_capacity(8));
                let mut seen = std::collections::HashMap::new();
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    let value = Cow::Borrowed(map.next_value::<Raw<'de>>()?.get());
                    match seen.get(&key).and_then(|&at: &usize| object.0.get_mut(at)) {
                        Some(member) => member.value = value,
                        None => {
                            seen.insert(key.clone(), object.0.len());
                            object.0.push(Member { key, value });
                        }
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'a> ObjectText<'a> {
    /// Reads a text that must be a JSON object; None if it is not.
    pub fn read(text: &'a str) -> Option<Self> {
        read(text).ok()
    }

    /// The text of a key's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|member| *member.key == *key.as_bytes())?;
        Some(&found.value)
    }

    /// Sets a key's value. A new key becomes the last one.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>) {
        let value = Cow::Owned(value.into());
        match self.0.iter_mut().find(|member| *member.key == *key.as_bytes()) {
            Some(member) => member.value = value,
            None => self.0.push(Member { key: Cow::Borrowed(key.as_bytes()), value }),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|member| *member.key != *key.as_bytes());
    }

    /// Gives each key a new value, or takes it out.
    pub fn map_values(&mut self, mut each: impl FnMut(&[u8], &str) -> Option<String>) {
        self.0.retain_mut(|member| {
            let value = each(&member.key, &member.value);
            let is_kept = value.is_some();
            member.value = value.map_or_else(|| std::mem::take(&mut member.value), Cow::Owned);
            is_kept
        });
    }

    /// The object's text, without white space between its members.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        // A member has quotes, a colon and a comma besides.
        reserve(&mut out, 2 + self.0.iter().map(|member| member.key.len() + member.value.len() + 4).sum::<usize>())?;
        out.push(b'{');
        for (at, member) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            // An escape takes six bytes.
            reserve(&mut out, 6 * member.key.len() + 3)?;
            push_json_string(&mut out, &member.key);
            out.push(b':');
            append(&mut out, member.value.as_bytes())?;
        }
        append(&mut out, b"}")?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_leave_all_other_bytes_as_they_were() {
        let text = r#"{"type":"x", "n":1.0,"a":"\u00e9" ,"n":-0}"#;
        let mut object = ObjectText::read(text).expect("an object");
        object.set("type", "\"y\"");
        object.set("new", "null");
        object.remove("a");
        let out = object.text().expect("memory");
        assert_eq!(String::from_utf8_lossy(&out), r#"{"type":"y","n":-0,"new":null}"#);
        assert!(ObjectText::read("[1]").is_none());
    }
}
