//! Reads TOML so that every mistake is found at once: each value is asked for with what it may be, what is missing or
//! wrong is noted with its line, and reading goes on with a stand-in. Knows nothing of battles.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Mistakes found in a text so far.
pub(crate) struct Mistakes<'t> {
    text: &'t str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'t> Mistakes<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    /// Notes a mistake at a place in the text.
    pub(crate) fn add(&self, at: &Range<usize>, what: impl Into<String>) {
        let line = 1 + self.text[..at.start.min(self.text.len())].matches('\n').count();
        self.found.borrow_mut().push((line, what.into()));
    }

    /// How many there are so far.
    pub(crate) fn len(&self) -> usize {
        self.found.borrow().len()
    }

    fn quote(&self, at: &Range<usize>) -> &'t str {
        let quoted = self.text[at.clone()].lines().next().unwrap_or_default();
        &quoted[..quoted.floor_char_boundary(40)]
    }

    /// All of them by line.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(line, _)| *line);
        found.into_iter().map(|(line, what)| format!("line {line}: {what}")).collect()
    }
}

/// A table being read.
pub(crate) struct Reader<'t> {
    /// What the table describes, for messages.
    pub(crate) what: String,
    pub(crate) span: Range<usize>,
    table: &'t DeTable<'t>,
    asked: RefCell<Vec<&'static str>>,
    mistakes: &'t Mistakes<'t>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(
        what: impl Into<String>,
        span: Range<usize>,
        table: &'t DeTable<'t>,
        mistakes: &'t Mistakes<'t>,
    ) -> Self {
        Self { what: what.into(), span, table, asked: RefCell::default(), mistakes }
    }

    /// Notes a mistake in a value of this table, or in the table where the value is missing.
    pub(crate) fn wrong(&self, key: &str, allowed: &str) {
        let prefix = self.prefix();
        match self.table.get(key) {
            Some(value) => {
                let value = value.span();
                let quote = self.mistakes.quote(&value);
                self.mistakes.add(&value, format!("{prefix}{key} = {quote}; must be {allowed}"));
            }
            None => self.mistakes.add(&self.span, format!("{prefix}{key} is missing; must be {allowed}")),
        }
    }

    /// Notes that the value at a path of keys must be something else, seen from the whole text.
    pub(crate) fn mistake_at(&self, path: &[&str], allowed: &str) {
        let mut place = self.span.clone();
        let mut table = Some(self.table);
        for key in path {
            let value = table.and_then(|table| table.get(*key));
            place = value.map_or(place, Spanned::span);
            table = value.and_then(|value| value.get_ref().as_table());
        }
        self.mistakes.add(&place, format!("{}: must be {allowed}", path.join(": ")));
    }

    /// Notes a mistake of an entry of a list of tables as a whole.
    pub(crate) fn mistake_in(&self, key: &str, entry: usize, what: &str) {
        let list = self.table.get(key).and_then(|v| v.get_ref().as_array());
        let entry = list.and_then(|list| list.get(entry));
        let id =
            entry.and_then(|v| v.get_ref().as_table()).and_then(|t| t.get("id")).and_then(|v| v.get_ref().as_str());
        let place = entry.map_or(self.span.clone(), Spanned::span);
        self.mistakes.add(&place, format!("{key} {}: {what}", id.unwrap_or_default()));
    }

    fn get(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// How many mistakes the whole text has so far.
    pub(crate) fn mistakes_so_far(&self) -> usize {
        self.mistakes.len()
    }

    /// Takes these keys as known: after a mistake it is not clear whether they belong here.
    pub(crate) fn excuse(&self, keys: &[&'static str]) {
        self.asked.borrow_mut().extend(keys);
    }

    /// True if the table has the key; does not count as asking for it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A whole number. Without a default it must be there.
    pub(crate) fn int(&self, key: &'static str, range: RangeInclusive<i64>, default: Option<i64>) -> i64 {
        let value = match (self.get(key), default) {
            (None, Some(default)) => return default,
            (value, _) => value.and_then(|v| to_int(v.get_ref())),
        };
        match value {
            Some(value) if range.contains(&value) => value,
            _ => {
                self.wrong(key, &format!("a whole number from {} to {}", range.start(), range.end()));
                default.unwrap_or(*range.start())
            }
        }
    }

    /// A list of whole numbers; empty after a mistake.
    pub(crate) fn ints(&self, key: &'static str, len: RangeInclusive<usize>, range: RangeInclusive<i64>) -> Vec<i64> {
        let list = self.get(key).and_then(|v| v.get_ref().as_array());
        let list: Option<Vec<i64>> =
            list.and_then(|list| list.iter().map(|v| to_int(v.get_ref()).filter(|n| range.contains(n))).collect());
        match list {
            Some(list) if len.contains(&list.len()) => list,
            _ => {
                let (fewest, most) = (len.start(), len.end());
                let (least, greatest) = (range.start(), range.end());
                let count = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
                self.wrong(key, &format!("a list of {count} whole numbers from {least} to {greatest}"));
                Vec::new()
            }
        }
    }

    /// True or false, false if it is not there.
    pub(crate) fn flag(&self, key: &'static str) -> bool {
        let Some(value) = self.get(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong(key, "true or false");
            false
        })
    }

    /// The identifier as it stands, empty if there is none; whether it may be one is for [`Reader::id`] to say.
    pub(crate) fn raw_id(&self) -> String {
        self.table.get("id").and_then(|v| v.get_ref().as_str()).unwrap_or_default().to_owned()
    }

    /// An identifier: letters, digits and underscores, lower case.
    pub(crate) fn id(&self) -> String {
        let id = self.get("id").and_then(|v| v.get_ref().as_str()).filter(|id| {
            !id.is_empty()
                && id.len() <= 24
                && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        });
        id.map(str::to_owned).unwrap_or_else(|| {
            self.wrong("id", "1 to 24 characters of a-z, 0-9 and _");
            String::new()
        })
    }

    /// The place of one of these words. `None` after a mistake, or if it is not there and need not be.
    pub(crate) fn word(&self, key: &'static str, words: &[impl AsRef<str>], needed: bool) -> Option<usize> {
        let value = self.get(key);
        if value.is_none() && !needed {
            return None;
        }
        let word = value.and_then(|v| v.get_ref().as_str());
        let place = word.and_then(|word| words.iter().position(|w| w.as_ref() == word));
        if place.is_none() {
            let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
            self.wrong(key, &format!("one of {}", words.join(", ")));
        }
        place
    }

    /// A table in this one; `None` if it is not there or after a mistake.
    pub(crate) fn table(&self, key: &'static str, needed: bool) -> Option<Reader<'t>> {
        let value = self.get(key);
        let table = value.and_then(|v| v.get_ref().as_table());
        if table.is_none() && (needed || value.is_some()) {
            self.wrong(key, "a table");
        }
        let what = if self.what.is_empty() { key.to_owned() } else { format!("{}: {key}", self.what) };
        table.zip(value).map(|(table, value)| Reader::new(what, value.span(), table, self.mistakes))
    }

    /// A list of tables; empty if it is not there or after a mistake.
    pub(crate) fn tables(&self, key: &'static str, len: RangeInclusive<usize>) -> Vec<Reader<'t>> {
        let value = self.get(key);
        if value.is_none() && *len.start() == 0 {
            return Vec::new();
        }
        let list = value.and_then(|v| v.get_ref().as_array()).map(|list| {
            list.iter().map(|one| one.get_ref().as_table().map(|table| (one.span(), table))).collect::<Option<Vec<_>>>()
        });
        let allowed = format!("a list of {} to {} tables", len.start(), len.end());
        let Some(list) = list.flatten() else {
            self.wrong(key, &allowed);
            return Vec::new();
        };
        if !len.contains(&list.len()) {
            let at = list.last().map_or(self.span.clone(), |(span, _)| span.clone());
            self.mistakes.add(&at, format!("{}{key} has {} entries; must be {allowed}", self.prefix(), list.len()));
        }
        let named = |table: &DeTable<'t>| {
            let id = table.get("id").and_then(|v| v.get_ref().as_str().map(str::to_owned));
            id.map_or_else(|| key.to_owned(), |id| format!("{key} {id}"))
        };
        let what = |table| format!("{}{}", self.prefix(), named(table));
        list.into_iter().map(|(span, table)| Reader::new(what(table), span, table, self.mistakes)).collect()
    }

    fn prefix(&self) -> String {
        if self.what.is_empty() { String::new() } else { format!("{}: ", self.what) }
    }

    /// Ends reading: keys that nobody asked for are mistakes.
    pub(crate) fn finish(self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table.iter().filter(|(key, _)| !asked.contains(&key.get_ref().as_ref())) {
            let known = asked.join(", ");
            self.mistakes
                .add(&key.span(), format!("{}unknown key {}; known are {known}", self.prefix(), key.get_ref()));
        }
    }
}

fn to_int(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
