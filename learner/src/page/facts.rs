//! What does not change while a run goes on: its settings.

use serde_json::{Value, json};

use crate::cli::{Flags, Order};

/// All settings by group: what each does, its value, and who says so.
pub(super) fn settings(order: &Order) -> Value {
    let texts = order.flags.texts();
    let group = |(title, keys): (&str, &'static [fogfall_service::settings::Key])| {
        let setting = |key: &fogfall_service::settings::Key| {
            let value = texts.get(key.key).cloned().unwrap_or_default();
            let said_by = match order.preset.get(key.key) {
                Some(own) if *own == value => "game",
                _ if key.default == value => "default",
                _ => "you",
            };
            json!({
                "name": key.key,
                "flag": format!("--{}", key.flag()),
                "help": key.help,
                "value": value,
                "default": key.default,
                "allowed": key.allowed,
                "said_by": said_by,
            })
        };
        json!({ "title": title, "settings": keys.iter().map(setting).collect::<Vec<_>>() })
    };
    json!({
        "place": order.place.cluster().map_or_else(|| "--local".to_owned(), |cluster| cluster.arguments()),
        "run_dir": order.run_dir.display().to_string(),
        "groups": Flags::groups().map(group),
    })
}
