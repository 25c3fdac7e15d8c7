//! [`softmax`]: logits to probabilities, the same bits on every machine.

/// Sums in this many accumulators.
const LANES: usize = 8;

/// Turns logits into probabilities that sum to 1, in place. Each is at least `e^-87` over the sum, so all stay finite
/// even if logits are not: NaN counts as the least of logits, and several infinite ones share.
pub(crate) fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x = exp(*x - most));
    let factor = 1.0 / sum(row);
    row.iter_mut().for_each(|x| *x *= factor);
}

/// `e^x` for `x <= 0`, to 3e-7 of it; below -87, and for NaN, `e^-87`.
///
/// Not `f32::exp`: that one is the C library's, whose bits differ from machine to machine, and it does not vectorise.
/// `e^x = 2^n * e^r` with whole `n` and `|r| <= ln(2) / 2`, where seven terms of the series leave an error of
/// `r^7 / 7! < 1.2e-7`.
fn exp(x: f32) -> f32 {
    /// Added to a small number, this leaves it rounded in the lowest bits.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    const LN_2_HIGH: f32 = 0.693_359_4; // few enough bits that n * LN_2_HIGH is exact
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.max(-87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    let series = 1.0 / 720.0;
    let series = [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0].iter().fold(series, |sum, term| sum * r + term);
    let power = (rounded.to_bits() << 23).wrapping_add(1.0f32.to_bits()); // n moved to the exponent of 1.0
    series * f32::from_bits(power)
}

fn sum(row: &[f32]) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mut row: Vec<f32>) -> Vec<f32> {
        softmax(&mut row);
        row
    }

    #[test]
    fn exp_agrees_with_the_double_precision_one() {
        for i in 0..=870_000 {
            let x = -(i as f32) * 1e-4;
            let wanted = f64::from(x).exp();
            let error = (f64::from(exp(x)) - wanted).abs() / wanted;
            assert!(error < 3e-7, "e^{x} = {}, wanted {wanted}", exp(x));
        }
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn probabilities_sum_to_1_whatever_the_length() {
        for len in 1..=100 {
            let row = of((0..len).map(|i| (i * 7 % 13) as f32).collect());
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{row:?}");
        }
        assert_eq!(of(vec![5.0]), [1.0]);
        assert_eq!(of(vec![2.0, 2.0, 2.0, 2.0]), [0.25; 4]);
        assert!(of(vec![]).is_empty());
    }

    #[test]
    fn hopeless_actions_keep_a_trace() {
        let row = of(vec![0.0, -1e6]);
        assert_eq!(row[0], 1.0);
        assert!(row[1] > 0.0 && row[1] < 1e-37); // e^-87 = 1.6e-38
    }

    #[test]
    fn logits_that_are_not_finite_give_finite_probabilities() {
        assert_eq!(of(vec![f32::NAN, f32::NAN]), [0.5, 0.5]);
        assert_eq!(of(vec![f32::INFINITY, f32::INFINITY]), [0.5, 0.5]);
        assert_eq!(of(vec![f32::NEG_INFINITY, f32::NEG_INFINITY]), [0.5, 0.5]);
        assert_eq!(of(vec![f32::NAN, 3.0])[1], 1.0);
    }
}
