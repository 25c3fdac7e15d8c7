//! `learner status --nats URL [--redis URL] --run ID`: how a run on servers stands, on one screen for an operator. It asks
//! the servers, never the processes, changes nothing, and needs no more rights than the role `operator` has.
//!
//! It ends with 0 if all is well, [`EXIT_NEEDS_OPERATOR`] if somebody should do something, and 1 if a server could not be
//! asked; then the rest is shown all the same. With `--until-moving` it ends with 0 as soon as the run moves, and with 1 if
//! it does not in time.

pub mod ask;
mod moving;
mod verdict;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::{ArgMatches, Command};
use fogfall_bus::{NatsBus, NatsSettings};
use fogfall_pipeline::{NatsFlags, RedisFlags};
use fogfall_replay::RedisServer;
use fogfall_service::settings::{Loader, Mistakes, with_config, with_settings};
use serde::Serialize;

use self::moving::Moving;
pub use self::{
    ask::{Asked, LogFacts, Overview, Person},
    verdict::{Verdict, judge},
};
use crate::{cli, show};

/// The subcommand's name.
pub const NAME: &str = "status";
/// Something needs an operator.
const EXIT_NEEDS_OPERATOR: u8 = 3;
/// Longest wait for one answer of a server.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Time between two looks at whether a run moves.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Empties a terminal and goes to its top left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

fogfall_service::settings! {
    /// Status
    pub struct StatusFlags {
        /// The run's id, as its learner says it.
        run: String = String::new(), class Operational;
        /// Print JSON.
        json: bool = false, class Operational;
        /// Look again after so many seconds, until interrupted; 0 to look once.
        watch: u64 = 0, in 0..=86_400, class Operational;
        /// Look until rows have been stored and train steps made since the first look; fail if that takes more seconds
        /// than this. 0 to look as --watch says.
        until_moving: u64 = 0, in 0..=86_400, class Operational;
    }
}

/// The command.
pub fn command() -> Command {
    let command = Command::new(NAME)
        .about("Shows how a run on servers stands: who is alive, how fast, what holds it back")
        .long_about(
            "Shows how a run on servers stands: who is alive, how fast, how full everything is, and what holds it back. \
             Exits with 0 if all is well, 3 if something needs an operator, 1 if a server could not be asked.",
        );
    with_settings::<RedisFlags>(with_settings::<NatsFlags>(with_settings::<StatusFlags>(with_config(command))))
}

/// What is asked for.
struct Order {
    flags: StatusFlags,
    bus: NatsSettings,
    redis: Option<RedisServer>,
}

impl Order {
    fn read(matches: &ArgMatches, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Mistakes> {
        let mut loader = Loader::from_process(matches, variables);
        let (flags, nats, redis): (StatusFlags, NatsFlags, RedisFlags) = (loader.load(), loader.load(), loader.load());
        // A settings file or an environment may be shared with the learner itself.
        cli::Flags::accept(&mut loader);
        if nats.nats.is_empty() {
            loader.refuse("--nats is missing: the servers of the run's bus, such as nats://127.0.0.1:4222");
        }
        if let Some(mistake) = nats.mistake() {
            loader.refuse(mistake);
        }
        if flags.run.is_empty() {
            loader.refuse("--run is missing: the id of the run to look at");
        }
        if flags.until_moving > 0 && redis.redis.is_empty() {
            loader.refuse("--until-moving needs --redis: it looks whether rows are stored there");
        }
        loader.finish()?;
        let (connect_within, answer_within) = (ANSWER_WITHIN, ANSWER_WITHIN);
        Ok(Self {
            bus: NatsSettings { connect_within, answer_within, ..nats.settings(false) },
            redis: (!redis.redis.is_empty()).then(|| RedisServer {
                connect_timeout: ANSWER_WITHIN,
                answer_timeout: ANSWER_WITHIN,
                ..redis.server()
            }),
            flags,
        })
    }
}

/// Looks, once or again and again.
///
/// # Errors
/// Mistakes in flags, environment and file; a run id that is none.
pub fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let order = Order::read(matches, std::env::vars())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match order.flags.until_moving {
        0 => runtime.block_on(watch(&order)),
        seconds => runtime.block_on(until_moving(&order, Duration::from_secs(seconds))),
    }
}

/// Who asks, connected to the bus or about to be.
struct Asker<'a> {
    order: &'a Order,
    bus: Option<NatsBus>,
}

impl Asker<'_> {
    async fn ask(&mut self) -> Overview {
        let mut unreachable = String::new();
        if self.bus.is_none() {
            match NatsBus::connect(&self.order.bus, &self.order.flags.run).await {
                Ok(connected) => self.bus = Some(connected),
                Err(error) => unreachable = error.to_string(),
            }
        }
        ask::ask(self.bus.as_ref().ok_or(unreachable), self.order.redis.as_ref(), &self.order.flags.run).await
    }
}

/// Looks until the run moves, shows how it stands then, and says what does not move if time runs out.
async fn until_moving(order: &Order, within: Duration) -> anyhow::Result<ExitCode> {
    let (mut asker, mut moving) = (Asker { order, bus: None }, Moving::default());
    let until = tokio::time::Instant::now() + within;
    loop {
        let overview = asker.ask().await;
        moving.look(&overview);
        let (missing, late) = (moving.missing(), tokio::time::Instant::now() >= until);
        if missing.is_empty() || late {
            print(order, &overview, &judge(&overview))?;
            ensure!(
                missing.is_empty(),
                "the run does not move: within {} s, {}",
                within.as_secs(),
                missing.join(", and ")
            );
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn watch(order: &Order) -> anyhow::Result<ExitCode> {
    let mut asker = Asker { order, bus: None };
    loop {
        let overview = asker.ask().await;
        let verdict = judge(&overview);
        print(order, &overview, &verdict)?;
        if order.flags.watch == 0 {
            return Ok(match (overview.is_whole(), verdict.needs.is_empty()) {
                (false, _) => ExitCode::FAILURE,
                (_, false) => ExitCode::from(EXIT_NEEDS_OPERATOR),
                _ => ExitCode::SUCCESS,
            });
        }
        tokio::time::sleep(Duration::from_secs(order.flags.watch)).await;
    }
}

/// One line of JSON.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    overview: &'a Overview,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

fn print(order: &Order, overview: &Overview, verdict: &Verdict) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = if order.flags.json {
        serde_json::to_string(&Record { overview, verdict })? + "\n"
    } else {
        let clear = if order.flags.watch > 0 && out.is_terminal() { CLEAR } else { "" };
        format!("{clear}{}", show::overview(overview, verdict))
    };
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
