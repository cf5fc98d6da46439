//! Enums whose values have names: in files, in options, or as codes of errors.

/// Defines an enum: each value is written beside its name. After a `;` there may be a last value, which represents all
/// other names.
macro_rules! named {
    ($(#[$attribute:meta])* $vis:vis enum $enum:ident {
        $($(#[$doc:meta])* $value:ident = $name:literal),+ $(,)?
        $(; $(#[$other_doc:meta])* $other:ident $(,)?)?
    }) => {
        $(#[$attribute])*
        $vis enum $enum {
            $($(#[$doc])* $value,)+
            $($(#[$other_doc])* $other,)?
        }

        // Not each enum uses all of it.
        #[allow(dead_code, unreachable_pub)]
        impl $enum {
            /// Each value that has a name, with its name.
            pub const NAMED: [(Self, &'static str); [$($name),+].len()] = [$((Self::$value, $name)),+];

            /// The value with a name.
            #[doc(hidden)]
            pub fn named(name: &[u8]) -> Option<Self> {
                match name {
                    $(name if name == $name.as_bytes() => Some(Self::$value),)+
                    _ => None,
                }
            }

            /// The value's name; empty for the value without a name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                    $(Self::$other => "",)?
                }
            }
        }
    };
}
pub(crate) use named;
