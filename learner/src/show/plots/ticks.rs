//! Numbers at the axes of a plot: where they stand and how they are written.

use crate::show::text;

/// The labels of a logarithmic axis: 1, 2 and 5 times powers of ten, over three decades powers of ten alone.
pub(super) fn log_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let factors: &[f64] = if high / low < 1e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = low.log10().floor() as i32..=high.log10().floor() as i32;
    let all = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// A number of a few figures with no digit too many.
pub(super) fn plain(value: f64) -> String {
    if (0.99e-4..1e6).contains(&value) { format!("{}", (value * 1e6).round() / 1e6) } else { format!("{value:.0e}") }
}

/// `value` with as many digits as labels `step` apart need.
pub(super) fn tick(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 1e6 || value.abs() < 1e-4 {
        return format!("{value:.1e}");
    }
    if value >= 1_000.0 && step >= 1.0 {
        return text::count(value.round() as u64);
    }
    let digits = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_digits_their_distance_needs() {
        assert_eq!(tick(0.0, 0.1), "0");
        assert_eq!(tick(0.25, 0.05), "0.25");
        assert_eq!(tick(60.0, 20.0), "60");
        assert_eq!(tick(1_500.0, 500.0), "1,500");
        assert_eq!(tick(2e7, 1e7), "2.0e7");
    }

    #[test]
    fn a_logarithmic_axis_is_labelled_at_round_numbers() {
        let labels = |range| log_ticks(range).into_iter().map(plain).collect::<Vec<_>>();
        assert_eq!(labels((0.03, 0.6)), ["0.05", "0.1", "0.2", "0.5"]);
        assert_eq!(labels((3e-5, 0.3)), ["0.0001", "0.001", "0.01", "0.1"]);
        assert_eq!(labels((1.5e-7, 3e-6)), ["2e-7", "5e-7", "1e-6", "2e-6"]);
    }
}
