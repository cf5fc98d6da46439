//! Structs of named fields, read from a JSON object. We do not use serde's derived structs, because they reject
//! repeated keys, which `JSON.parse` accepts.

/// Defines a struct of optional fields that is read from a JSON object. Keys may be in any order, unknown keys are
/// skipped, and a repeated key has its last value. Each type parameter is the type into which a field's value is read.
/// A caller may choose other types, such as values of JavaScript.
macro_rules! fields {
    ($(#[$doc:meta])* $vis:vis struct $name:ident<$($param:ident),+> {
        $($(#[$field_doc:meta])* $field:ident: $kind:ident = $key:literal,)+
    }) => {
        $(#[$doc])*
        #[allow(missing_docs)]
        $vis struct $name<$($param),+> {
            $($(#[$field_doc])* pub $field: Option<$kind>,)+
        }

        #[allow(dead_code)]
        impl<$($param),+> $name<$($param),+> {
            /// The keys of the fields.
            $vis const KEYS: &'static [&'static str] = &[$($key),+];
        }

        impl<$($param),+> Default for $name<$($param),+> {
            fn default() -> Self {
                Self { $($field: None,)+ }
            }
        }

        impl<'a, $($param: $crate::json::reader::FromJson<'a>),+> $crate::json::reader::FromJson<'a> for $name<$($param),+> {
            fn take(
                scanner: &mut $crate::json::scanner::Scanner<&'a str>,
            ) -> $crate::json::scanner::ScanResult<Self, &'a str> {
                #[allow(non_camel_case_types)]
                enum Key { $($field,)+ }
                let find = |key: &[u8]| match key {
                    $(key if key == $key.as_bytes() => Some(Key::$field),)+
                    _ => None,
                };
                let mut fields = Self::default();
                scanner.members(find, |scanner, key| {
                    match key {
                        $(Some(Key::$field) => fields.$field = Some($crate::json::reader::FromJson::take(scanner)?),)+
                        None => scanner.skip_value()?,
                    }
                    Ok(())
                })?;
                Ok(fields)
            }
        }
    };
}
pub(crate) use fields;

#[cfg(test)]
mod tests;
