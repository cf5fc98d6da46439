//! Reading JSON text exactly as `JSON.parse` takes it, without building values: named fields of an object as spans
//! of its text, strings as WTF-8, and edits of an object's own keys that leave every other byte alone.
//!
//! serde does the reading. Its derived structs refuse repeated keys and its strings refuse lone surrogates, both of
//! which `JSON.parse` accepts, hence [`fields!`] and raw values.

pub mod reader;
pub mod simd;
pub mod value_to_string;

pub use self::reader::{is_json, read, Raw};
pub use self::simd::{pass_string, Passed};

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A value that came from JSON text or from JavaScript, looked at only as far as asked.
pub trait Value {
    /// The string it is, as WTF-8, or None if it is none.
    fn text(&self) -> Option<Cow<'_, [u8]>>;
    /// The number it is.
    fn number(&self) -> Option<f64>;
    /// Whether it is null (or undefined, which only JavaScript has).
    fn is_null(&self) -> bool;
    /// Whether JavaScript takes it for true in a condition.
    fn is_truthy(&self) -> bool;
    /// Whether it is true or false.
    fn boolean(&self) -> Option<bool>;
}

impl Value for Raw<'_> {
    fn text(&self) -> Option<Cow<'_, [u8]>> {
        string_bytes(self.get())
    }

    fn number(&self) -> Option<f64> {
        number(self.get())
    }

    fn is_null(&self) -> bool {
        self.get() == "null"
    }

    fn is_truthy(&self) -> bool {
        match self.get() {
            "null" | "false" | "\"\"" => false,
            raw => number(raw).is_none_or(|n| n != 0.0),
        }
    }

    fn boolean(&self) -> Option<bool> {
        match self.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

fn number(raw: &str) -> Option<f64> {
    // Rust reads a JSON number to the nearest double, `1e999` to infinity and `-0` to -0, as JavaScript does.
    raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| raw.parse().ok()).flatten()
}

/// The WTF-8 of a JSON string's text, quotes included; None if it is no string.
pub fn string_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    struct Bytes;
    impl<'de> Visitor<'de> for Bytes {
        type Value = Cow<'de, [u8]>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(bytes))
        }
        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(Cow::Owned(bytes.to_vec()))
        }
    }
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    serde_json::Deserializer::from_str(raw).deserialize_bytes(Bytes).ok()
}

/// An object's key, compared as bytes: a key may be escaped, and may hold lone surrogates.
pub struct Key<'de>(pub Cow<'de, [u8]>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(bytes)))
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(bytes.to_vec())))
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text.as_bytes())))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.as_bytes().to_vec())))
            }
        }
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

/// Defines a struct of optional fields that reads itself from a JSON object or a JavaScript one: keys in any order,
/// unknown ones passed over, the last of a repeated key kept. Each type parameter is what a field's value is read as.
macro_rules! fields {
    ($(#[$doc:meta])* $vis:vis struct $name:ident<$($param:ident),+> {
        $($(#[$field_doc:meta])* $field:ident: $kind:ident = $key:literal,)+
    }) => {
        $(#[$doc])*
        $vis struct $name<$($param),+> {
            $($(#[$field_doc])* pub $field: Option<$kind>,)+
        }

        impl<'de, $($param: serde::Deserialize<'de>),+> serde::Deserialize<'de> for $name<$($param),+> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct FieldsVisitor<$($param),+>(std::marker::PhantomData<($($param,)+)>);
                impl<'de, $($param: serde::Deserialize<'de>),+> serde::de::Visitor<'de> for FieldsVisitor<$($param),+> {
                    type Value = $name<$($param),+>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
                        let mut out = $name { $($field: None,)+ };
                        while let Some(key) = map.next_key::<$crate::core::json::Key<'de>>()? {
                            match &*key.0 {
                                $(bytes if bytes == $key.as_bytes() => out.$field = Some(map.next_value()?),)+
                                _ => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_struct(
                    stringify!($name),
                    &[$($key),+],
                    FieldsVisitor(std::marker::PhantomData),
                )
            }
        }
    };
}
pub(crate) use fields;

/// An object's own keys and values in order, each as its text; a repeated key stands where it first stood, with
/// its last value, as in JavaScript.
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

    /// Sets a key's value: in its place if the key is there, else last.
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

    /// The object's text, without white space between its members.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, member) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            crate::core::base::wtf8::push_json_string(out, &member.key);
            out.push(b':');
            out.extend_from_slice(member.value.as_bytes());
        }
        out.push(b'}');
    }
}

/// The JSON text of a string.
pub fn quoted(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    crate::core::base::wtf8::push_json_string(&mut out, text);
    // What push_json_string writes of WTF-8 is UTF-8: lone surrogates are escaped.
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fields! {
        struct Sample<V> {
            id: V = "id",
        }
    }

    fn id_of(text: &str) -> Option<String> {
        let sample: Sample<Raw<'_>> = read(text).ok()?;
        sample.id.map(|raw| raw.get().to_owned())
    }

    #[test]
    fn fields_are_found_as_javascript_finds_them() {
        assert_eq!(id_of(r#"{"x":[1,{"id":9}],"id":1}"#).as_deref(), Some("1"));
        assert_eq!(id_of(r#"{"id":1,"id":2}"#).as_deref(), Some("2"));
        assert_eq!(id_of(r#"{"\u0069d":"\ud83d"}"#).as_deref(), Some(r#""\ud83d""#));
        assert_eq!(id_of(r#"{"\ud83d":0,"id":1e999}"#).as_deref(), Some("1e999"));
        assert_eq!(id_of(r#"{"id":1}x"#), None);
    }

    #[test]
    fn json_is_what_json_parse_takes() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for good in ["0", "-0", "1e999", " {\"a\":\"\\udc00\"}\t\r", "\"\u{2028}\u{7f}\"", "[1,{}]", &deep] {
            assert!(is_json(good), "{}", &good[..good.len().min(40)]);
        }
        for bad in [
            "",
            "01",
            "+1",
            "1.",
            ".5",
            "[1,]",
            "{a:1}",
            "'a'",
            "NaN",
            "\"\t\"",
            "\"\\x\"",
            "\u{FEFF}1",
            "\u{A0}1",
            "[1",
            "1 2",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }

    #[test]
    fn edits_leave_the_rest_alone() {
        let text = r#"{"type":"x", "n":1.0,"a":"\u00e9" ,"n":-0}"#;
        let mut object = ObjectText::read(text).expect("an object");
        object.set("type", "\"y\"");
        object.set("new", "null");
        object.remove("a");
        let mut out = Vec::new();
        object.write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), r#"{"type":"y","n":-0,"new":null}"#);
        assert!(ObjectText::read("[1]").is_none());
    }
}
