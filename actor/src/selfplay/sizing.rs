//! How large self-play may be: slots and caches that fit into the memory of this machine or container. The arithmetic is a
//! pure function of what a game and its settings need; the figures are estimates from above.

use std::{fmt, sync::Arc};

use fogfall_game::{Game, GameVisitor};
use fogfall_net::Shape;
use fogfall_pipeline::{PlayFlags, Preset, SearchFlags};
use fogfall_proto::RowLayout;
use fogfall_search::{Belief, TreeLife, cache_bytes, tree_bytes};
use fogfall_selfplay::PlaySettings;
use fogfall_service::{host, settings::Loader};

use crate::cluster::PlayerFlags;

/// Share of the memory limit that self-play may take. The rest is for what nobody has counted, and for the system's own
/// copy of what is written.
const SHARE: f64 = 0.6;
/// A cache is made no smaller while there are slots to give up.
const LEAST_CACHE: usize = 1024;
/// Networks in play at once, each with a cache: that of the newest weights, and one of weights that end their games.
const NETWORKS: u64 = 2;
/// Copies of a network's numbers: as a file that is fetched, as read from it, and in each of three networks.
const NETWORK_COPIES: u64 = 5;
/// Bytes of the program, its threads and its connections.
const BASE_BYTES: u64 = 24 << 20;
/// Finished games on their way to the bus.
const GAMES_ON_THEIR_WAY: u64 = 80;
/// Bytes of a world in a pool besides its state: what it holds elsewhere.
const WORLD_BYTES: usize = 1024;
/// Network that is taken for a run that is not known yet: hidden width and blocks.
const USUAL_NETWORK: (usize, usize) = (128, 2);

/// How large self-play is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Threads.
    pub threads: usize,
    /// Games in progress a thread.
    pub slots: usize,
    /// Evaluations that each thread remembers.
    pub cache_entries: usize,
}

/// Bytes that a run's games need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// A game in progress: its trees, worlds and rows.
    pub slot_bytes: u64,
    /// An evaluation remembered.
    pub cache_entry_bytes: u64,
    /// What there is once.
    pub fixed_bytes: u64,
}

/// A size that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The size.
    pub size: Size,
    /// What was asked for.
    pub asked: Size,
    /// Bytes that the size needs.
    pub bytes: u64,
    /// Bytes that the process may use, as far as the system says.
    pub limit: Option<u64>,
}

impl Size {
    /// The size asked for.
    ///
    /// # Errors
    /// If the system does not say how many cores there are.
    pub fn of(flags: &PlayerFlags) -> std::io::Result<Self> {
        Ok(Self { threads: flags.play_threads()?, slots: flags.slots, cache_entries: flags.cache_entries })
    }

    /// Bytes that it needs.
    fn bytes(&self, needs: &Needs) -> u64 {
        let places = if self.cache_entries == 0 { 0 } else { self.cache_entries.next_power_of_two() as u64 };
        let cache = places.saturating_mul(needs.cache_entry_bytes) * NETWORKS;
        let thread = (self.slots as u64).saturating_mul(needs.slot_bytes).saturating_add(cache);
        needs.fixed_bytes.saturating_add(thread.saturating_mul(self.threads as u64))
    }
}

impl Needs {
    /// Those of a run with a network of this shape.
    pub fn of<G: Game>(game: &G, play: &PlaySettings, shape: &Shape) -> Self {
        let info = game.info();
        let (observation, actions) = (info.observation_len(), info.num_actions());
        let row = RowLayout::new(observation, actions, info.hidden.len()).row_bytes();
        let nodes = play.full.size() as usize;
        let trees = play.trees() as usize;
        // Those of a generation take what is left to them.
        let tree_nodes = match play.search.life {
            TreeLife::Move => nodes + 1,
            TreeLife::Game | TreeLife::Generation { .. } => play.game_nodes(info) as usize,
        };
        let worlds = match play.search.belief {
            Belief::Reach { pool, .. } => pool as usize * (size_of::<G::State>() + WORLD_BYTES),
            Belief::Uniform => 0,
        };
        let rows = play.max_decisions.min(info.max_decisions) * row;
        let evaluation = 4 * (2 * observation + shape.features_len() + 4 * actions + 8 * shape.width);
        let network = 4 * shape.num_parameters() as u64;
        Self {
            slot_bytes: (trees * tree_bytes(tree_nodes, actions) + worlds + rows + evaluation) as u64,
            cache_entry_bytes: cache_bytes(1 << 10, actions) as u64 >> 10,
            fixed_bytes: BASE_BYTES + NETWORK_COPIES * network + GAMES_ON_THEIR_WAY * rows as u64,
        }
    }
}

/// The size asked for, or as much of it as fits: first the caches shrink, then there are fewer slots.
pub fn fitted(needs: &Needs, asked: &Size, limit: Option<u64>) -> Fitted {
    let mut size = *asked;
    if let Some(limit) = limit {
        let most = (limit as f64 * SHARE) as u64;
        while size.bytes(needs) > most && size.cache_entries > LEAST_CACHE {
            size.cache_entries /= 2;
        }
        if size.bytes(needs) > most {
            let without = Size { slots: 0, ..size }.bytes(needs);
            let slots = most.saturating_sub(without) / (needs.slot_bytes.max(1) * size.threads.max(1) as u64);
            size.slots = size.slots.min(slots as usize).max(1);
        }
        if size.bytes(needs) > most {
            size.cache_entries = 0;
        }
    }
    Fitted { size, asked: *asked, bytes: size.bytes(needs), limit }
}

impl Fitted {
    /// Says so if it is less than was asked for.
    pub fn say(&self) {
        let (Self { size, asked, .. }, mib) = (self, |bytes: u64| bytes >> 20);
        if size != asked {
            tracing::warn!(
                limit_mib = self.limit.map(mib),
                needs_mib = mib(self.bytes),
                slots = size.slots,
                slots_asked = asked.slots,
                cache_entries = size.cache_entries,
                cache_entries_asked = asked.cache_entries,
                "memory is short: self-play is smaller than asked for"
            );
        }
    }
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { threads, slots, cache_entries } = self.size;
        let mib = self.bytes >> 20;
        write!(f, "{threads} threads, {slots} slots and {cache_entries} cached evaluations each, about {mib} MiB")?;
        let asked = self.asked;
        if self.size != asked {
            write!(f, " (asked for: {} slots, {} evaluations)", asked.slots, asked.cache_entries)?;
        }
        Ok(())
    }
}

/// The size for a game's own defaults, in words: what can be said before the run is known.
pub struct Usual<'a>(pub &'a PlayerFlags);

impl GameVisitor for Usual<'_> {
    type Out = anyhow::Result<String>;

    fn visit<G: Game>(self, game: Arc<G>) -> anyhow::Result<String> {
        let info = game.info();
        let mut loader = Loader::new();
        loader.stored("the game's own defaults", &Preset.visit(Arc::clone(&game)));
        let (search, play): (SearchFlags, PlayFlags) = (loader.load(), loader.load());
        let (width, blocks) = USUAL_NETWORK;
        let needs = Needs::of(game.as_ref(), &play.play(&search, info), &Shape::new(info, width, blocks));
        Ok(format!("{}: {}", info.name, fitted(&needs, &Size::of(self.0)?, host::memory_limit())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: Needs = Needs { slot_bytes: 10, cache_entry_bytes: 1, fixed_bytes: 1000 };
    const ASKED: Size = Size { threads: 2, slots: 100, cache_entries: 4096 };

    fn within(limit: u64) -> Size {
        let fitted = fitted(&NEEDS, &ASKED, Some(limit));
        assert_eq!(fitted.asked, ASKED);
        fitted.size
    }

    #[test]
    fn what_fits_stays_as_asked() {
        // 1000 + 2 * (100 * 10 + 2 * 4096 * 1) = 19,384; 60 % of 32,307 is 19,384.2
        assert_eq!(ASKED.bytes(&NEEDS), 19_384);
        assert_eq!(within(32_307), ASKED);
        assert_eq!(fitted(&NEEDS, &ASKED, None).size, ASKED);
    }

    #[test]
    fn caches_shrink_first_then_slots_go_and_one_is_always_left() {
        assert_eq!(within(32_306), Size { cache_entries: 2048, ..ASKED }); // 11,192 of 19,383
        assert_eq!(within(15_000), Size { cache_entries: 1024, ..ASKED }); // 7,096 of 9,000
        // 60 % of 10,000 is 6,000; without slots 1000 + 2 * 2 * 1024 = 5,096 are needed, and 904 / (2 * 10) = 45.2.
        assert_eq!(within(10_000), Size { slots: 45, cache_entries: 1024, ..ASKED });
        assert_eq!(within(100), Size { slots: 1, cache_entries: 0, ..ASKED });
        let few = Size { slots: 1, cache_entries: 500, ..ASKED };
        assert_eq!(fitted(&NEEDS, &few, Some(1)).size, Size { cache_entries: 0, ..few });
    }

    #[test]
    fn it_says_in_words_what_was_asked_for_and_what_there_is() {
        let text = fitted(&NEEDS, &ASKED, Some(10_000)).to_string();
        let there = "2 threads, 45 slots and 1024 cached evaluations each, about 0 MiB";
        assert_eq!(text, format!("{there} (asked for: 100 slots, 4096 evaluations)"));
    }
}
