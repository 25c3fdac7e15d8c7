//! The history as JSON: series of points as columns of numbers, so that no name is sent twice. The newest point of each
//! series has the same form, so that a browser adds it to what it has.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::show::History;

/// The whole history.
pub(super) fn history(history: &History) -> Value {
    told(history, usize::MAX)
}

/// The newest point of every series.
pub(super) fn newest(history: &History) -> Value {
    told(history, 1)
}

/// `most` points of every series, the newest.
fn told(history: &History, most: usize) -> Value {
    let win_rates = history.win_rates().map(|results| named("opponent", tail(results, most)));
    let figures = history.figures().map(|figures| named("name", tail(figures, most)));
    json!({
        "run_s": round(history.run_s()),
        "starts": history.starts(),
        "training": columns(tail(history.training(), most)),
        "pace": columns(tail(history.pace(), most)),
        "win_rates": win_rates.collect::<Vec<_>>(),
        "figures": figures.collect::<Vec<_>>(),
    })
}

fn tail<T>(points: &[T], most: usize) -> &[T] {
    &points[points.len().saturating_sub(most)..]
}

/// Columns of points that share a name, and the name.
fn named<T: Serialize>(name: &str, points: &[T]) -> Value {
    let mut columns = columns(points);
    let names = columns.remove(name).unwrap_or_default();
    let name_of_all = names.into_iter().next().unwrap_or_default();
    json!({ "name": name_of_all, "points": columns })
}

/// The fields of `points`, each as a column.
fn columns<T: Serialize>(points: &[T]) -> BTreeMap<String, Vec<Value>> {
    let mut columns = BTreeMap::<String, Vec<Value>>::new();
    for point in points {
        let Ok(Value::Object(fields)) = serde_json::to_value(point) else { continue };
        add(&mut columns, fields);
    }
    columns
}

fn add(columns: &mut BTreeMap<String, Vec<Value>>, fields: Map<String, Value>) {
    for (name, value) in fields {
        let value = if value.is_f64() { round(value.as_f64().unwrap_or(f64::NAN)) } else { value };
        columns.entry(name).or_default().push(value);
    }
}

/// To six digits: more cannot be drawn.
fn round(value: f64) -> Value {
    format!("{value:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Losses, Status, WinRate};

    fn status(step: u64, score: f64) -> Status {
        let rate = WinRate { opponent: "random".into(), score, step, ..WinRate::default() };
        Status {
            step,
            elapsed_s: step as f64,
            games_per_s: 1.0 / 3.0,
            gradient_norm: f64::NAN,
            loss: Some(Losses { total: 2.0, ..Losses::default() }),
            win_rates: vec![rate],
            ..Status::default()
        }
    }

    #[test]
    fn points_become_columns_with_numbers_that_can_be_drawn() {
        let past = History::of(&[status(1, 0.5), status(2, 0.75)]);
        let whole = history(&past);
        assert_eq!(whole["training"]["step"], json!([1, 2]));
        assert_eq!(whole["training"]["total"], json!([2.0, 2.0]));
        assert_eq!(whole["training"]["gradient_norm"], json!([null, null]), "not a number");
        assert_eq!(whole["pace"]["games_per_s"], json!([0.333333, 0.333333]));
        let random = &whole["win_rates"][0];
        assert_eq!((&random["name"], &random["points"]["score"]), (&json!("random"), &json!([0.5, 0.75])));
    }

    #[test]
    fn the_newest_points_have_the_form_of_the_whole() {
        let past = History::of(&[status(1, 0.5), status(2, 0.75)]);
        let last = newest(&past);
        assert_eq!(last["pace"]["run_s"], json!([2.0]));
        assert_eq!(last["win_rates"][0]["points"]["score"], json!([0.75]));
        assert_eq!(newest(&History::default())["training"], json!({}));
    }

    #[test]
    fn a_long_run_is_told_in_a_thousand_points_a_series() {
        let past = History::of(&(1..=5_000).map(|step| status(step, 0.5)).collect::<Vec<_>>());
        let whole = history(&past);
        let steps = whole["training"]["step"].as_array().unwrap();
        assert!(steps.len() <= 1_000 && steps.len() >= 500, "{}", steps.len());
        assert_eq!((steps.first(), steps.last()), (Some(&json!(1)), Some(&json!(5_000))));
        assert!(whole.to_string().len() < 300_000, "{}", whole.to_string().len());
    }
}
