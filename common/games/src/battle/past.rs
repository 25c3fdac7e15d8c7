//! A fight fought again: the past of a world, and worlds carried on to a later view.
//!
//! The log holds all that was seen, a world's private parts the rest: the cards dealt are those in the bags and those
//! used, the specials stand in the order in which they were chosen, and of a veiled skill either the trap has gone off
//! or the private part says what is pending (a trap never ends unseen).

use fogfall_game::{Action, Actions, Rng, Seat};

use super::limits::MAX_ITEMS;
use super::log::Entry;
use super::moves::Move;
use super::state::{Due, Private, State, View};
use super::tables::Tables;
use super::world::draw_bit;

impl Tables {
    /// [`fogfall_game::Game::past`]. Worlds are drawn around cards that the foe used as if those had been shown by lot:
    /// a bag with two herbs comes twice as often when a herb was used, and the odds returned take that back.
    pub(crate) fn past(
        &self,
        view: &View,
        world: &State,
        seat: Seat,
        visit: &mut dyn FnMut(&State, Action),
    ) -> Option<f64> {
        world.public.log.len()?;
        let mut odds = 1.0;
        let mut then = self.opening(world);
        self.repeat(&mut then, world, &mut |then, action, ways| {
            if let Due::Pick(mover) | Due::Act(mover) = then.public.due {
                if mover == seat {
                    visit(then, action);
                }
                if mover != view.seat {
                    odds /= f64::from(ways);
                }
            }
        })?;
        Some(odds)
    }

    /// [`fogfall_game::Game::carry`]. A card that was shown by lot was the likelier the more there are of it.
    pub(crate) fn carry(
        &self,
        view: &View,
        world: &State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&State, Action),
    ) -> Option<(State, f64)> {
        let from = world.public.log.len()?;
        let (own, foe) = (usize::from(view.seat), usize::from(1 - view.seat));
        let mut now = State { public: view.public, private: [view.private; 2] };
        let (specials, picks) = self.draw_picks(&view.public.fighters[foe], &world.private[foe], rng)?;
        let laid = view.public.log.since(from).any(|entry| entry == Entry::Hidden(1 - view.seat));
        let veil = if laid { draw_bit(view.public.fighters[foe].candidates, rng) } else { world.private[foe].veil };
        now.private[foe] = Private { specials, picks, veil, ..world.private[foe] };
        let (mut then, mut odds) = (*world, 1.0);
        self.repeat(&mut then, &now, &mut |then, action, ways| match then.public.due {
            Due::Pick(mover) | Due::Act(mover) if mover == seat => visit(then, action),
            Due::Reveal if then.public.revealer() == view.seat => odds *= f64::from(ways),
            _ => {}
        })?;
        (then.public == view.public && then.private[own] == view.private).then_some((then, odds))
    }

    /// A fight before the first special is chosen, with the cards that `world` was dealt.
    fn opening(&self, world: &State) -> State {
        let fighters = world.public.fighters.map(|f| self.fighter(f.sect, f.level, f.pet, f.equipment));
        let mut state = self.match_up(fighters);
        for (seat, fighter) in world.public.fighters.iter().enumerate() {
            let bag: [u8; MAX_ITEMS] = std::array::from_fn(|item| world.private[seat].bag[item] + fighter.used[item]);
            state.private[seat].bag = bag;
            state.public.fighters[seat].bag_left = bag.iter().sum();
        }
        self.prepare(&mut state);
        state
    }

    /// Brings `then` to where `now` is by what `now` has logged, with the hidden actions of its private parts. Tells
    /// `step` each action and each roll before it is applied, and how many [`ways`](Self::ways) there are to it. None if
    /// there is no way.
    fn repeat(&self, then: &mut State, now: &State, step: &mut dyn FnMut(&State, Action, u32)) -> Option<()> {
        let mut legal = Actions::new();
        let mut apply = |then: &mut State, action| {
            let ways = self.ways(then, action, &mut legal);
            if ways > 0 {
                step(then, action, ways);
                self.apply(then, action);
            }
            (ways > 0).then_some(())
        };
        while let Due::Pick(seat) = then.public.due {
            let at = usize::from(seat);
            let chosen = then.public.fighters[at].chosen;
            if chosen >= now.public.fighters[at].chosen {
                break;
            }
            apply(then, self.special_action(then, seat, now.private[at].picks[usize::from(chosen)]))?;
        }
        for entry in now.public.log.since(then.public.log.len()?) {
            let action = match (entry, then.public.due) {
                (Entry::Seen(action), _) => action,
                (Entry::Hidden(owner), Due::Act(mover)) if owner == mover => {
                    self.veiled_action(then, owner, now.private[usize::from(owner)].veil)?
                }
                (Entry::Hidden(_), _) => return None,
            };
            apply(then, action)?;
        }
        Some(())
    }

    /// In how many ways an action can be taken or a roll can fall, as the odds of worlds count them: a card that the
    /// other side has not seen in as many as there are of it. 0 if it is not possible.
    fn ways(&self, state: &State, action: Action, legal: &mut Actions) -> u32 {
        match state.public.due {
            Due::Pick(seat) | Due::Act(seat) => {
                let (fighter, private) = (&state.public.fighters[usize::from(seat)], &state.private[usize::from(seat)]);
                self.legal(&state.public, private, legal);
                match legal.contains(&action).then(|| self.play(action)) {
                    None => 0,
                    Some(Move::Item(item)) if fighter.known[usize::from(item)] == 0 => {
                        private.bag[usize::from(item)].into()
                    }
                    Some(_) => 1,
                }
            }
            // Cards are not logged one by one.
            Due::Deal(_) | Due::Over => 0,
            _ => self.weight(state, action),
        }
    }
}
