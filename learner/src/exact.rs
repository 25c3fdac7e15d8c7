//! Exact figures of a run, for games that have them: how often the newest weights keep the value in the referee's positions, or
//! NashConv of their policy, of the network alone, and of the run's average policy so far. The average goes on over resumes, in
//! a file of the run's directory.

use std::{fs, path::PathBuf, sync::Arc};

use fogfall_eval::{Average, ExactError, ExactFigures, GameTree, played_profile};
use fogfall_game::Game;
use fogfall_search::{Belief, Budget, Choice};
use fogfall_selfplay::Searcher;
use serde::{Deserialize, Serialize};

use crate::{board::Board, status::Figure};

/// Exact figures of a run in progress.
pub struct RunFigures<G: Game> {
    game: Arc<G>,
    figures: ExactFigures<G>,
    kept: Kept,
    /// Where it is kept.
    file: PathBuf,
}

/// The run's policies so far.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    /// Train step of the last weights that were measured.
    step: u64,
    /// None before the first.
    average: Option<Average>,
}

impl<G: Game> RunFigures<G> {
    /// Lays the game out, and takes up what is kept of a run that goes on at `step`; none for a game without exact
    /// figures.
    pub fn open(game: &Arc<G>, file: PathBuf, step: u64, board: &Board) -> Option<Self> {
        let figures = ExactFigures::new(&**game)?;
        let mut kept = Kept { step, average: None };
        if let (true, ExactFigures::NashConv(tree)) = (step > 0, &figures) {
            let found = fs::read(&file).ok().and_then(|bytes| rmp_serde::from_slice::<Kept>(&bytes).ok());
            match found.filter(|found| found.step <= step && found.average.as_ref().is_none_or(|a| a.fits(tree))) {
                Some(found) => kept = found,
                None => {
                    board.notice(format!("the average policy begins anew at step {step}: none is kept up to there"))
                }
            }
        }
        Some(Self { game: Arc::clone(game), figures, kept, file })
    }

    /// Measures the weights of a train step by the player that searches with them, and shows what was found.
    pub fn measure(&mut self, mut player: Searcher, step: u64, seed: u64, board: &Board) {
        let Self { game, figures, kept, .. } = self;
        let (measured, unit) = match figures {
            ExactFigures::Mistakes(_) | ExactFigures::Kept(_) => {
                let unit = if matches!(figures, ExactFigures::Kept(_)) { Figure::SHARE } else { "" };
                // As in matches: the lot is for self-play, which shall see more than the best moves.
                if player.choice != Choice::Label {
                    player.choice = Choice::Visits;
                }
                (figures.measure(game, &mut player, seed).map(|value| vec![(figures.name(), value)]), unit)
            }
            ExactFigures::NashConv(tree) => (nash_convs(game, tree, kept, player, step, seed), "payoff"),
        };
        match measured {
            Ok(found) => found.into_iter().for_each(|(name, value)| {
                board.figure(Figure { name, unit: unit.to_owned(), value, step });
            }),
            Err(error) => board.notice(format!("{}: {error}", figures.name())),
        }
        if let Err(error) = self.keep() {
            board.notice(format!("cannot write {}: {error}", self.file.display()));
        }
    }

    fn keep(&self) -> std::io::Result<()> {
        if self.kept.average.is_none() {
            return Ok(());
        }
        let new = self.file.with_extension("new");
        fs::write(&new, rmp_serde::to_vec(&self.kept).expect("numbers can be written"))?;
        fs::rename(&new, &self.file)
    }
}

/// NashConv of the player, of its network alone, and of the average, to which the player's policy is added: it stands for
/// all train steps since the one measured before it.
fn nash_convs<G: Game>(
    game: &Arc<G>,
    tree: &GameTree<G::View>,
    kept: &mut Kept,
    mut player: Searcher,
    step: u64,
    seed: u64,
) -> Result<Vec<(String, f64)>, ExactError> {
    let searched = played_profile(game, tree, &mut player, seed)?;
    // A search of one simulation has tried nothing: it plays by the network's priors, which follow from what is seen. To weigh
    // worlds for it would cost as much as the search above and change nothing.
    player.search.belief = Belief::Uniform;
    (player.budget, player.choice) = (Budget::Simulations(1), Choice::Sample { temperature: 1.0 });
    let alone = played_profile(game, tree, &mut player, seed)?;
    let average = kept.average.get_or_insert_with(|| Average::new(tree));
    average.add(tree, step.saturating_sub(kept.step).max(1) as f64, &searched);
    kept.step = step;
    let profiles = [("searched", searched), ("the network alone", alone), ("the run's average", average.profile(tree))];
    let nash_conv = |profile| tree.exploitability(profile).nash_conv;
    Ok(profiles.iter().map(|(what, profile)| (format!("NashConv, {what}"), nash_conv(profile))).collect())
}
