//! Checks the odds of drawn worlds where they are known exactly: at the first decision, before any choice, the hidden
//! label of the truth and of a world have the same distribution and are independent given the view.

use crate::{Game, Seat, Turn, stream};

use super::Settings;
use super::probe::{Probe, digest, number_of};
use super::rule::{Findings, Rule};
use super::statistics::{Counts, SURPRISE};

/// Streams below the root seed.
const OPENING: u64 = 10;
const OPENING_WORLD: u64 = 11;

pub(super) fn check<G: Game>(probe: &Probe<'_, G>, settings: &Settings, findings: &mut Findings) {
    if probe.game.info().hidden.is_empty() {
        return;
    }
    for seat in [0, 1] {
        check_seat(probe, settings, seat, findings);
    }
}

fn check_seat<G: Game>(probe: &Probe<'_, G>, settings: &Settings, seat: Seat, findings: &mut Findings) {
    let game = probe.game;
    let mut labels = Counts::default();
    let mut numbers: Vec<Counts> = (0..game.info().hidden.len()).map(|_| Counts::default()).collect();
    let mut agreement = Agreement::default();
    for opening in 0..settings.draws as u64 {
        let mut rng = stream(settings.seed, &[OPENING, opening]);
        let mut state = game.start(&mut rng);
        game.settle(&mut state, &mut rng);
        if !matches!(game.turn(&state), Turn::Player(_)) {
            continue;
        }
        let world = |k: u64| {
            let mut rng = stream(settings.seed, &[OPENING_WORLD, opening, u64::from(seat), k]);
            probe.hidden(&game.determinize(&game.view(&state, seat), &mut rng), seat)
        };
        let (truth, first, second) = (probe.hidden(&state, seat), world(0), world(1));
        labels.add(digest(&truth), 0);
        labels.add(digest(&first), 1);
        for (counts, (&truth, &guess)) in numbers.iter_mut().zip(truth.iter().zip(&first)) {
            counts.add(u64::from(truth), 0);
            counts.add(u64::from(guess), 1);
        }
        agreement.add(first == truth, first == second);
    }
    let mut expect = |surprise: f64, what: &dyn Fn() -> String| {
        findings.expect(surprise < SURPRISE, Rule::WorldOdds, || {
            format!(
                "{}: {surprise:.1} standard deviations apart, at the first decision of {} games from seed {}, as seat {seat} \
                 sees it",
                what(),
                settings.draws,
                settings.seed
            )
        });
    };
    expect(labels.surprise(), &|| {
        "expected hidden() of worlds as often as of true states, found other odds".to_owned()
    });
    for (place, counts) in numbers.iter().enumerate() {
        let number = || number_of(&game.info().hidden, place);
        expect(counts.surprise(), &|| {
            format!("expected the odds of true states for {} of hidden(), found others", number())
        });
    }
    expect(agreement.surprise(), &|| {
        "expected worlds to agree with the truth as often as with each other, found them more often right".to_owned()
    });
}

/// How much more often a world's label equals the truth's than another world's.
#[derive(Default)]
struct Agreement {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Agreement {
    fn add(&mut self, with_truth: bool, with_world: bool) {
        let difference = f64::from(u8::from(with_truth)) - f64::from(u8::from(with_world));
        self.count += 1.0;
        self.sum += difference;
        self.squares += difference * difference;
    }

    /// In standard deviations; the sign test's, since each difference is -1, 0 or 1.
    fn surprise(&self) -> f64 {
        if self.squares == 0.0 { 0.0 } else { self.sum / self.squares.sqrt() }
    }
}
