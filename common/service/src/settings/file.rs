//! The settings file: one flat TOML table.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::settings::mistake::{Mistake, Origin};

/// Key, text and place of each entry, and what cannot be understood.
pub(crate) fn parse(path: &Path, content: &str) -> (Vec<(String, String, Origin)>, Vec<Mistake>) {
    let at = |offset: usize| {
        let line = 1 + content.as_bytes()[..offset.min(content.len())].iter().filter(|&&b| b == b'\n').count();
        Origin::File(path.to_owned(), line)
    };
    let (table, errors) = DeTable::parse_recoverable(content);
    let mut mistakes: Vec<Mistake> = errors
        .iter()
        .map(|e| Mistake::File { origin: at(e.span().map_or(0, |span| span.start)), reason: e.message().to_owned() })
        .collect();
    let mut entries = Vec::new();
    if mistakes.is_empty() {
        for (key, value) in table.get_ref().iter() {
            let origin = at(key.span().start);
            match text(value.get_ref()) {
                Some(text) => entries.push((key.get_ref().to_string(), text, origin)),
                None => {
                    let kind = value.get_ref().type_str();
                    let article = if kind.starts_with('a') { "an" } else { "a" };
                    let reason = format!("{} holds {article} {kind}; settings are single values", key.get_ref());
                    mistakes.push(Mistake::File { origin, reason });
                }
            }
        }
    }
    (entries, mistakes)
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
