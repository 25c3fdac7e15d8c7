//! The games whose rows are moved: a few, sent again and again under other numbers.

use std::sync::Arc;

use fogfall_game::{Game, Layout};
use fogfall_games::Battle;
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_proto::{GameResult, Manifest, NamedLen, PartId, PartOfGame, Row, Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Budget, Cached};
use fogfall_selfplay::{Origin, PlaySettings, Worker};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Different games, rows of one that is made up, and simulations of a search in one that is played.
const GAMES: usize = 200;
const MADE_UP_ROWS: usize = 32;
const SIMULATIONS: u32 = 8;
/// Network that is trained: the learner's default.
const WIDTH: usize = 128;
const BLOCKS: usize = 2;
/// Numbers in an observation and actions that make 2 KiB: 40 + 4 * 405 + 12 * 32 + 4 = 2048.
const OBSERVATION: usize = 405;
const ACTIONS: usize = 32;

/// Games of one kind.
#[derive(Clone)]
pub struct Games {
    /// The kind.
    pub name: &'static str,
    /// What the run is.
    pub manifest: Manifest,
    /// The network over its rows.
    pub shape: Shape,
    games: Vec<Trajectory>,
}

impl Games {
    /// Battle, played by an untrained network.
    pub fn of_battle() -> anyhow::Result<Self> {
        let game = Arc::new(Battle::new(None)?);
        let info = game.info();
        let settings = PlaySettings::new(info, Budget::Simulations(SIMULATIONS));
        let shape = Shape::new(info, WIDTH, BLOCKS);
        let manifest = manifest(&info.name, info.rules.clone(), &shape, &info.hidden);
        let origin = Origin {
            wire: WIRE_VERSION,
            run: manifest.run.clone(),
            rules_hash: manifest.rules_hash(),
            settings_hash: manifest.settings_hash(),
            publisher: 1,
            seed: 1,
        };
        let evaluator = NetEvaluator::new(Arc::new(Net::new(&Weights::random(shape.clone(), 1)?)));
        let evaluator = Cached::new(evaluator, 0, info.num_actions());
        let mut worker = Worker::new(Arc::clone(&game), settings, origin, 32, Version::default(), evaluator);
        let mut games = Vec::new();
        while games.len() < GAMES {
            worker.round(&mut games);
        }
        Ok(Self { name: "battle", manifest, shape, games })
    }

    /// Rows of 2 KiB without a zero.
    pub fn of_2_kib() -> Self {
        let actions = (0..ACTIONS).map(|action| format!("action {action}")).collect();
        let observation = Layout::new([("all", OBSERVATION)]);
        let shape = Shape { observation, actions, width: WIDTH, blocks: BLOCKS, tower: None };
        let manifest = manifest("none", None, &shape, &Layout::new::<&str>([]));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut games = Vec::new();
        for _ in 0..GAMES {
            let mut rows = Vec::new();
            for _ in 0..MADE_UP_ROWS {
                let mut numbers = |n: usize| (0..n).map(|_| rng.random_range(0.1..1.0)).collect::<Vec<f32>>();
                let row = Row {
                    version: Version { epoch: 1, step: 1 },
                    observation: numbers(OBSERVATION),
                    legal: (0..ACTIONS as u16).collect(),
                    policy: vec![1.0 / ACTIONS as f32; ACTIONS],
                    prior: numbers(ACTIONS),
                    visits: (1..=ACTIONS as u32).collect(),
                    policy_weight: 1.0,
                    value_weight: 1.0,
                    ..Row::default()
                };
                manifest.row_layout().write(&row, &mut rows);
            }
            games.push(Trajectory {
                wire: WIRE_VERSION,
                run: manifest.run.clone(),
                rules_hash: manifest.rules_hash(),
                settings_hash: manifest.settings_hash(),
                part: PartId { publisher: 0, sequence: 0 },
                part_of_game: PartOfGame::WHOLE,
                slot: 0,
                seed: 0,
                result: GameResult::Finished(1.0),
                decisions: MADE_UP_ROWS as u32,
                evaluations: 0,
                row_count: MADE_UP_ROWS as u32,
                rows,
            });
        }
        Self { name: "2 KiB", manifest, shape, games }
    }

    /// The game with a number, from 0.
    pub fn game(&self, number: u64) -> Trajectory {
        let game = &self.games[number as usize % self.games.len()];
        Trajectory { part: PartId { publisher: 1, sequence: number }, ..game.clone() }
    }

    /// How many games have at least so many rows together: all of them so many times.
    pub fn games_with(&self, rows: u64) -> u64 {
        let all: u64 = self.games.iter().map(|game| u64::from(game.row_count)).sum();
        rows.div_ceil(all) * self.games.len() as u64
    }

    /// Rows of as many games, where they are all of them some times.
    pub fn rows_of(&self, games: u64) -> u64 {
        (0..games).map(|number| self.rows_in(number)).sum()
    }

    fn rows_in(&self, number: u64) -> u64 {
        u64::from(self.games[number as usize % self.games.len()].row_count)
    }
}

fn manifest(game: &str, rules: Option<String>, shape: &Shape, hidden: &Layout) -> Manifest {
    let named =
        |layout: &Layout| layout.fields().iter().map(|f| NamedLen { name: f.name.clone(), len: f.len }).collect();
    Manifest {
        wire: WIRE_VERSION,
        run: "bench".into(),
        game: game.into(),
        rules,
        observation: named(&shape.observation),
        actions: shape.actions.clone(),
        hidden: named(hidden),
        width: WIDTH,
        blocks: BLOCKS,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}
