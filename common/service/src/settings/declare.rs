//! The macro that declares a group of settings.

/// Declares a group of settings: a struct with its default, and its [`Settings`](crate::settings::Settings).
///
/// ```text
/// settings! {
///     /// Title of the group.
///     pub struct Name {
///         /// Shown by --help.
///         key: Type = default, in range, class Learning;           // numbers, and options of them
///         /// Shown by --help.
///         key: Type = default, one_of NAMES, class Identity;        // FromStr + Display, among names
///         /// Shown by --help.
///         key: Type = default, class Operational;                   // any `Value`
///     }
/// }
/// ```
#[macro_export]
macro_rules! settings {
    (
        #[doc = $title:literal]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $key:ident : $ty:ty = $default:expr,
                $(in $range:expr,)?
                $(one_of $choices:expr,)?
                class $class:ident;
            )*
        }
    ) => {
        #[doc = $title]
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $(
                $(#[doc = $help])+
                pub $key: $ty,
            )*
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::settings::Settings for $name {
            const TITLE: &'static str = $title;

            fn keys() -> &'static [$crate::settings::Key] {
                static KEYS: ::std::sync::LazyLock<::std::vec::Vec<$crate::settings::Key>> =
                    ::std::sync::LazyLock::new(|| {
                        let default = $name::default();
                        ::std::vec![$($crate::settings::Key {
                            key: stringify!($key),
                            help: [$($help.trim()),+].join(" "),
                            default: $crate::setting!(text $ty, &default.$key $(, one_of $choices)?),
                            allowed: $crate::setting!(allowed $ty $(, in $range)? $(, one_of $choices)?),
                            switch: ::std::any::TypeId::of::<$ty>() == ::std::any::TypeId::of::<bool>(),
                            class: $crate::settings::Class::$class,
                        }),*]
                    });
                &KEYS
            }

            fn set(&mut self, key: &str, text: &str) -> ::std::result::Result<(), $crate::settings::SetError> {
                match key {
                    $(stringify!($key) => {
                        let value = $crate::setting!(parse $ty, text $(, in $range)? $(, one_of $choices)?);
                        self.$key = value.ok_or($crate::settings::SetError::Value)?;
                        Ok(())
                    })*
                    _ => Err($crate::settings::SetError::Unknown),
                }
            }

            fn get(&self, key: &str) -> ::std::option::Option<::std::string::String> {
                match key {
                    $(stringify!($key) => Some($crate::setting!(text $ty, &self.$key $(, one_of $choices)?)),)*
                    _ => None,
                }
            }
        }
    };
}

/// What [`settings!`](crate::settings!) does with one setting of a kind.
#[doc(hidden)]
#[macro_export]
macro_rules! setting {
    (parse $ty:ty, $text:expr) => {
        <$ty as $crate::settings::Value>::parse($text)
    };
    (parse $ty:ty, $text:expr, in $range:expr) => {
        $crate::settings::parse_in::<$ty, _>($text, $range)
    };
    (parse $ty:ty, $text:expr, one_of $choices:expr) => {
        $crate::settings::parse_choice::<$ty>($text, $choices)
    };
    (text $ty:ty, $value:expr) => {
        <$ty as $crate::settings::Value>::text($value)
    };
    (text $ty:ty, $value:expr, one_of $choices:expr) => {
        ::std::string::ToString::to_string($value)
    };
    (allowed $ty:ty) => {
        <$ty as $crate::settings::Value>::kind()
    };
    (allowed $ty:ty, in $range:expr) => {
        $crate::settings::allowed_in::<$ty, _>($range)
    };
    (allowed $ty:ty, one_of $choices:expr) => {
        $crate::settings::allowed_choices($choices)
    };
}
