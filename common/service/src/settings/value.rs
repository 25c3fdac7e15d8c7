//! What a setting can hold, and how it reads as text.
//!
//! **Invariant:** `parse(text(x)) == x`, and `text` gives equal texts for equal values: texts can be compared.

use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;
use std::str::FromStr;

/// A type that settings can have.
pub trait Value: Sized {
    /// From text; `None` if it cannot be read.
    fn parse(text: &str) -> Option<Self>;

    /// As text.
    fn text(&self) -> String;

    /// What is allowed, for people.
    fn kind() -> String;
}

/// A value that can be held to a range of `B`.
pub trait Within<B> {
    /// True if it lies in the range, or there is nothing to hold to it.
    fn within(&self, range: &impl RangeBounds<B>) -> bool;
}

impl<T: PartialOrd> Within<T> for T {
    fn within(&self, range: &impl RangeBounds<T>) -> bool {
        range.contains(self)
    }
}

impl<T: PartialOrd> Within<T> for Option<T> {
    fn within(&self, range: &impl RangeBounds<T>) -> bool {
        self.as_ref().is_none_or(|value| range.contains(value))
    }
}

/// From text, if it lies in a range.
pub fn parse_in<T: Value + Within<B>, B>(text: &str, range: impl RangeBounds<B>) -> Option<T> {
    T::parse(text).filter(|value| value.within(&range))
}

/// From text, if it is one of the names.
pub fn parse_choice<T: FromStr>(text: &str, names: &[&str]) -> Option<T> {
    names.contains(&text).then(|| text.parse().ok()).flatten()
}

/// What is allowed by a range.
pub fn allowed_in<T: Value, B: Value>(range: impl RangeBounds<B>) -> String {
    let from = match range.start_bound() {
        Bound::Included(from) => Some(format!("from {}", from.text())),
        Bound::Excluded(from) => Some(format!("above {}", from.text())),
        Bound::Unbounded => None,
    };
    let to = match range.end_bound() {
        Bound::Included(to) => Some(format!("to {}", to.text())),
        Bound::Excluded(to) => Some(format!("below {}", to.text())),
        Bound::Unbounded => None,
    };
    let range: Vec<String> = from.into_iter().chain(to).collect();
    format!("{} {}", T::kind(), range.join(" "))
}

/// What is allowed by names.
pub fn allowed_choices(names: &[&str]) -> String {
    format!("one of {}", names.join(", "))
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Option<Self> {
                text.replace('_', "").parse().ok()
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn kind() -> String {
                "a whole number".into()
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i32 i64);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Option<Self> {
                text.replace('_', "").parse().ok().filter(|x: &$ty| x.is_finite())
            }

            fn text(&self) -> String {
                let text = format!("{self:?}"); // the shortest that reads back the same
                text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
            }

            fn kind() -> String {
                "a number".into()
            }
        }
    )*};
}

floats!(f32 f64);

impl Value for bool {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn kind() -> String {
        "true or false".into()
    }
}

impl Value for String {
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn text(&self) -> String {
        self.clone()
    }

    fn kind() -> String {
        "any text".into()
    }
}

impl Value for PathBuf {
    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn text(&self) -> String {
        self.display().to_string()
    }

    fn kind() -> String {
        "a path".into()
    }
}

/// Not set is the empty text.
impl<T: Value> Value for Option<T> {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { T::parse(text).map(Some) }
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(String::new, T::text)
    }

    fn kind() -> String {
        format!("nothing, or {}", T::kind())
    }
}

/// A number of bytes, as text with a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];

impl Value for ByteSize {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number.trim_end(), *unit)))
            .unwrap_or((text, 1));
        if let Some(whole) = u64::parse(number) {
            return whole.checked_mul(unit).map(Self);
        }
        let bytes = f64::parse(number)? * unit as f64;
        (bytes >= 0.0 && bytes < u64::MAX as f64).then_some(Self(bytes as u64))
    }

    /// In the largest binary unit that gives a whole number.
    fn text(&self) -> String {
        let fits = |&&(_, unit): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(unit);
        match UNITS[..4].iter().find(fits) {
            Some((name, unit)) => format!("{}{name}", self.0 / unit),
            None => format!("{}B", self.0),
        }
    }

    fn kind() -> String {
        "a size such as 512MiB or 2GiB".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_reads_back_from_its_own_text() {
        fn check<T: Value + PartialEq + std::fmt::Debug>(value: T, text: &str) {
            assert_eq!(value.text(), text);
            assert_eq!(T::parse(text), Some(value));
        }
        check(7_u16, "7");
        check(-7_i64, "-7");
        check(1e-7_f64, "1e-7");
        check(0.1_f32, "0.1");
        check(2.0_f64, "2");
        check(true, "true");
        check(None::<u64>, "");
        check(Some(0.5_f64), "0.5");
        check(PathBuf::from("a/b"), "a/b");
        check(ByteSize(0), "0B");
        check(ByteSize(3 << 29), "1536MiB"); // 1.5 GiB
        check(ByteSize(1000), "1000B");
    }

    #[test]
    fn sizes_are_read_in_all_units_and_numbers_with_underscores() {
        assert_eq!(ByteSize::parse("1.5GiB"), Some(ByteSize(1_610_612_736))); // 1.5 * 2^30
        assert_eq!(ByteSize::parse("2 MB"), Some(ByteSize(2_000_000)));
        assert_eq!(ByteSize::parse("4096"), Some(ByteSize(4096)));
        assert_eq!(u64::parse("1_000_000"), Some(1_000_000));
        for bad in ["", "GiB", "-1GiB", "1GX", "99999999TiB", "nan"] {
            assert_eq!(ByteSize::parse(bad), None, "{bad}");
        }
        assert_eq!(f64::parse("inf"), None);
        assert_eq!(u8::parse("256"), None);
    }

    #[test]
    fn ranges_hold_and_are_said_for_numbers_and_options_of_them() {
        assert_eq!(parse_in::<u32, _>("3", 1..=3), Some(3));
        assert_eq!(parse_in::<u32, _>("4", 1..=3), None);
        assert_eq!(parse_in::<Option<f64>, _>("", 0.5..), Some(None));
        assert_eq!(parse_in::<Option<f64>, _>("0.4", 0.5..), None);
        assert_eq!(allowed_in::<f64, _>(1e-7..=1.0), "a number from 1e-7 to 1");
        assert_eq!(allowed_in::<Option<u64>, _>(1_u64..), "nothing, or a whole number from 1");
        assert_eq!(allowed_in::<f64, _>(0.0..1.0), "a number from 0 below 1");
        assert_eq!(parse_choice::<String>("a", &["a", "b"]), Some("a".into()));
        assert_eq!(parse_choice::<String>("c", &["a", "b"]), None);
    }
}
