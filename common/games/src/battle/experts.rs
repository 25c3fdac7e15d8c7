//! The rule-based players. Both see a view and nothing else.
//!
//! **Invariant:** their decisions are frozen by a golden file, for they are what trained characters are measured by.

use fogfall_game::{Action, Rng};
use rand::RngExt;

use super::moves::Move;
use super::state::{Due, View};
use super::tables::Tables;
use super::worth::{MANA_WORTH, TURN_DAMAGE, Worth};

/// Their names, weakest first.
pub(crate) const EXPERTS: &[&str] = &["greedy", "scripted"];

/// How the scripted player plays just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// A move at hand is expected to end the fight.
    Finish,
    /// Little health is left.
    Save,
    /// The foe is about to strike hard.
    Brace,
    /// Nothing presses.
    Press,
}

/// Share of health below which the scripted player saves itself.
const SAVE_BELOW: f32 = 0.35;
/// Worth of a hidden thing shown, and price of an item, in points of health.
const SHOWN_WORTH: f32 = 1.0;
const ITEM_PRICE: f32 = 3.0;

impl Tables {
    /// The move of a rule-based player.
    ///
    /// # Panics
    /// If there is no such player.
    pub(crate) fn expert_move(&self, expert: &str, view: &View, legal: &[Action], rng: &mut Rng) -> Action {
        match expert {
            "greedy" => best(legal, rng, |action| self.greed(view, action)),
            "scripted" => self.scripted(view, legal, rng),
            _ => unreachable!("{expert} is not a player of battle"),
        }
    }

    /// Damage or heal expected from this move alone.
    fn greed(&self, view: &View, action: Action) -> f32 {
        let worth = self.worth(view, action);
        if worth.trap > 0.0 { 0.0 } else { worth.damage + worth.heal }
    }

    fn scripted(&self, view: &View, legal: &[Action], rng: &mut Rng) -> Action {
        if matches!(view.public.due, Due::Pick(_)) {
            // A loadout that can be foreseen is half revealed.
            let worths: Vec<f32> = legal.iter().map(|&action| self.special_worth(view, action)).collect();
            let worths = worths.into_iter().map(|worth| worth * rng.random_range(0.6..1.4)).collect::<Vec<f32>>();
            let best = (0..legal.len()).max_by(|&a, &b| worths[a].total_cmp(&worths[b]));
            return legal[best.expect("a mover has a legal action")];
        }
        let mood = self.mood(view, legal);
        best(legal, rng, |action| self.script_worth(view, action, mood))
    }

    fn mood(&self, view: &View, legal: &[Action]) -> Mood {
        let (own, foe) =
            (&view.public.fighters[usize::from(view.seat)], &view.public.fighters[usize::from(1 - view.seat)]);
        let wall = f32::from(foe.health + foe.shield);
        if legal.iter().any(|&action| self.finishes(view, action, wall)) {
            Mood::Finish
        } else if f32::from(own.health) < SAVE_BELOW * f32::from(own.max_health) {
            Mood::Save
        } else if self.gathers(foe) && !own.guarding {
            Mood::Brace
        } else {
            Mood::Press
        }
    }

    fn finishes(&self, view: &View, action: Action, wall: f32) -> bool {
        let worth = self.worth(view, action);
        worth.trap == 0.0 && worth.damage >= wall
    }

    fn script_worth(&self, view: &View, action: Action, mood: Mood) -> f32 {
        let worth = self.worth(view, action);
        if mood == Mood::Finish {
            return self.greed(view, action);
        }
        let (heal, guard) = match mood {
            Mood::Save => (1.3, 0.75),
            Mood::Brace => (0.9, 1.3),
            _ => (0.9, 0.5),
        };
        let guarded = if worth.guard { guard * TURN_DAMAGE } else { 0.0 };
        let opens = (self.opens(view, action) - 2.0 * TURN_DAMAGE).max(0.0) * 0.7;
        points(&worth, heal) + guarded + opens
    }

    /// Worth of choosing a special, as if it could be used at once. One that waits for a buff is used less often.
    fn special_worth(&self, view: &View, action: Action) -> f32 {
        let worth = points(&self.worth(view, action), 0.9);
        let Move::Pick(skill) = self.play(action) else { return worth };
        if self.skills[usize::from(skill)].requires.is_some() { 0.75 * worth } else { worth }
    }
}

/// A move's expected results in points of health.
fn points(worth: &Worth, heal: f32) -> f32 {
    let item = if worth.item { ITEM_PRICE } else { 0.0 };
    let likely = if worth.trap > 0.0 { worth.trap } else { 1.0 };
    let done = worth.damage
        + heal * worth.heal
        + 0.8 * worth.shield
        + 0.9 * worth.lasting
        + worth.buffs
        + TURN_DAMAGE * (worth.stun + worth.time)
        + SHOWN_WORTH * worth.shown;
    likely * done + MANA_WORTH * worth.mana - item
}

/// The action with the largest worth; equal ones by lot.
fn best(legal: &[Action], rng: &mut Rng, worth: impl Fn(Action) -> f32) -> Action {
    let mut best = (f32::NEG_INFINITY, 0, 0);
    for &action in legal {
        let worth = worth(action);
        if worth > best.0 {
            best = (worth, action, 1);
        } else if worth == best.0 {
            best.2 += 1;
            if rng.random_range(0..best.2) == 0 {
                best.1 = action;
            }
        }
    }
    best.1
}
