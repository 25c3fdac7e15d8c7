//! Where a fight starts, what a seat sees of it, and worlds drawn from that.

use fogfall_game::{Rng, Seat, mix};
use rand::RngExt;

use super::chance::pick_weighted;
use super::engine::bits;
use super::limits::{MAX_FRAMES, MAX_ITEMS, MAX_PICKS, RECENT, SLOTS};
use super::log::Log;
use super::state::{Due, Event, Fighter, Frame, Private, Public, Stage, State, View};
use super::tables::{Stat, Tables};

/// Counter of the lot that puts a foe's specials in order.
const ORDER: u64 = 1;

impl Tables {
    /// A match-up: each side's sect, level, pet and equipment, drawn independently, levels close to each other.
    pub(crate) fn start(&self, setup: &mut Rng) -> State {
        let fight = &self.fight;
        let levels = loop {
            let levels: [u8; 2] = std::array::from_fn(|_| setup.random_range(fight.min_level..=fight.max_level));
            if levels[0].abs_diff(levels[1]) <= fight.level_gap {
                break levels;
            }
        };
        let fighters = levels.map(|level| {
            let sect = setup.random_range(0..self.sects.len() as u32) as u8;
            let pet = setup.random_range(0..self.pets.len() as u32) as u8;
            let worn = std::array::from_fn(|slot| {
                let pieces: &[u8] = &self.wardrobe[slot];
                pieces[setup.random_range(0..pieces.len() as u32) as usize]
            });
            self.fighter(sect, level, pet, worn)
        });
        let mut state = self.match_up(fighters);
        self.prepare(&mut state);
        state
    }

    /// Two fighters who face each other with nothing dealt.
    pub(crate) fn match_up(&self, fighters: [Fighter; 2]) -> State {
        let public = Public {
            fighters,
            due: Due::Over,
            stage: Stage::Next,
            mover: 0,
            turn: 0,
            depth: 0,
            frames: [Frame::default(); MAX_FRAMES],
            recent: [Event::default(); RECENT],
            chain: fighters.iter().fold(0, |chain, f| mix(chain, f.match_up())),
            log: Log::default(),
        };
        State { public, private: [Private::default(); 2] }
    }

    /// A fighter before the fight.
    pub(crate) fn fighter(&self, sect: u8, level: u8, pet: u8, equipment: [u8; SLOTS]) -> Fighter {
        let class = &self.sects[usize::from(sect)];
        let mut base = class.stats;
        for scaled in [Stat::Attack, Stat::Magic] {
            base[scaled as usize] = self.grown(base[scaled as usize].into(), level) as i16;
        }
        let pieces = equipment.iter().map(|&piece| &self.equipment[usize::from(piece)].stats);
        for stats in pieces.chain([&self.pets[usize::from(pet)].stats]) {
            base.iter_mut().zip(stats).for_each(|(sum, more)| *sum += more);
        }
        let health = self.grown(class.health, level) as i16;
        let mut fighter = Fighter {
            base,
            health,
            max_health: health,
            mana: (class.mana * self.fight.start_mana / 100) as i16,
            max_mana: class.mana as i16,
            sect,
            level,
            pet,
            equipment,
            ..Fighter::default()
        };
        self.add_up(&mut fighter);
        fighter
    }

    /// Draws what the view's seat has not seen: cards from the deck without those seen, specials and traps uniformly
    /// from those not ruled out.
    pub(crate) fn determinize(&self, view: &View, rng: &mut Rng) -> State {
        let foe = &view.public.fighters[usize::from(1 - view.seat)];
        let bag = self.draw_bag(foe, rng);
        let picks = self.draw_picks(foe, &Private::default(), rng);
        let (specials, picks) = picks.expect("nothing is shown that was not chosen");
        let drawn = Private { bag, specials, picks, veil: draw_bit(foe.candidates, rng) };
        let private = if view.seat == 0 { [view.private, drawn] } else { [drawn, view.private] };
        State { public: view.public, private }
    }

    fn draw_bag(&self, foe: &Fighter, rng: &mut Rng) -> [u8; MAX_ITEMS] {
        let mut left = self.deck_left(&foe.cards_seen());
        let mut cards: u32 = left.iter().map(|&n| u32::from(n)).sum();
        let mut bag = foe.known;
        for _ in 0..foe.unseen_cards() {
            let item = pick_weighted(left.iter().map(|&n| n.into()), rng.random_range(0..cards));
            left[item] -= 1;
            cards -= 1;
            bag[item] += 1;
        }
        bag
    }

    /// The foe's specials, as a mask and in order: those of `before`, then by lot those shown and as many more as it
    /// has chosen. None if it has not chosen as many.
    pub(crate) fn draw_picks(&self, foe: &Fighter, before: &Private, rng: &mut Rng) -> Option<(u8, [u8; MAX_PICKS])> {
        let all = ((1u16 << self.sects[usize::from(foe.sect)].specials.len()) - 1) as u8;
        let mut specials = before.specials | foe.shown;
        for _ in 0..u32::from(foe.chosen).checked_sub(specials.count_ones())? {
            specials |= draw_bit(all & !specials, rng);
        }
        let mut picks = before.picks;
        let new = &mut picks[before.specials.count_ones() as usize..usize::from(foe.chosen)];
        new.iter_mut().zip(bits((specials & !before.specials).into())).for_each(|(pick, bit)| *pick = bit as u8);
        // The order is drawn apart: what follows in a simulation does not hang on a fact that no longer matters.
        let mut lot = mix(rng.clone().random(), ORDER);
        for last in (1..new.len()).rev() {
            let places = last as u64 + 1;
            new.swap(last, (lot % places) as usize);
            lot /= places;
        }
        Some((specials, picks))
    }
}

/// One of the set bits, uniformly; 0 if there is none.
pub(crate) fn draw_bit(mask: u8, rng: &mut Rng) -> u8 {
    match mask.count_ones() {
        0 => 0,
        1 => mask,
        n => {
            let skip = rng.random_range(0..n);
            let left = (0..skip).fold(mask, |left, _| left & (left - 1));
            left & left.wrapping_neg()
        }
    }
}

impl Fighter {
    /// Cards of this side that the other has seen, used or not, by kind.
    pub(crate) fn cards_seen(&self) -> [u8; MAX_ITEMS] {
        std::array::from_fn(|item| self.known[item] + self.used[item])
    }

    fn match_up(&self) -> u64 {
        let facts = [self.sect, self.level, self.pet].into_iter().chain(self.equipment);
        facts.fold(0, |sum, fact| sum << 8 | u64::from(fact))
    }
}

impl State {
    /// What `seat` has seen.
    pub(crate) fn view(&self, seat: Seat) -> View {
        View { seat, public: self.public, private: self.private[usize::from(seat)] }
    }

    /// The public events and the seat's own part. Damage spread is left out: states with one key differ in points,
    /// not in what happened, and trees get deeper than one move.
    pub(crate) fn tree_key(&self, seat: Seat) -> u64 {
        mix(mix(self.public.chain, seat.into()), self.private[usize::from(seat)].key())
    }
}
