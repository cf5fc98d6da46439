//! Structs of named fields. serde's derived structs reject repeated keys, which `JSON.parse` accepts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// An object's key as WTF-8: it may have escapes and lone surrogates.
pub struct FieldKey<'de>(pub Cow<'de, [u8]>);

impl<'de> Deserialize<'de> for FieldKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = FieldKey<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(FieldKey(Cow::Borrowed(bytes)))
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(FieldKey(Cow::Owned(bytes.to_vec())))
            }
        }
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

/// Defines a struct of optional fields that reads itself from a JSON object or a JavaScript one: keys in any order,
/// unknown ones skipped, the last of a repeated key kept. Each type parameter is the type that a field's value is read as.
macro_rules! fields {
    ($(#[$doc:meta])* $vis:vis struct $name:ident<$($param:ident),+> {
        $($(#[$field_doc:meta])* $field:ident: $kind:ident = $key:literal,)+
    }) => {
        $(#[$doc])*
        $vis struct $name<$($param),+> {
            $($(#[$field_doc])* pub $field: Option<$kind>,)+
        }

        #[allow(dead_code)]
        impl<Each> $name<$($crate::json::fields::each!($param, Each)),+> {
            /// Reads the fields one by one, in their order, by their keys.
            pub fn from_each<E>(
                mut read: impl FnMut(&'static str) -> std::result::Result<Option<Each>, E>,
            ) -> std::result::Result<Self, E> {
                Ok($name { $($field: read($key)?,)+ })
            }
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
                        while let Some(key) = map.next_key::<$crate::json::fields::FieldKey<'de>>()? {
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

/// The second argument, once for each first one.
macro_rules! each {
    ($param:ident, $each:ident) => {
        $each
    };
}
pub(crate) use each;

#[cfg(test)]
mod tests {
    use crate::json::reader::{read, Raw};

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
}
