//! The commands and their flags, as clap sees them; [`cli`](crate::cli) does what they ask for.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use fogfall_game::GameSet;
use fogfall_pipeline::{LogFlags, NatsFlags, RedisFlags, SearchFlags};
use fogfall_service::settings::{with_config, with_settings};

use crate::{
    agent::ChoiceFlags,
    cluster::{PlayerFlags, ProcessFlags},
    promote::PromoteFlags,
};

/// The flag by which a service only checks its settings.
pub const CHECK_CONFIG: &str = "check-config";

/// The flag by which a match has a referee.
pub const REFEREE: &str = "referee";

/// What an agent can be, for help.
const AGENTS: &str = "\
Agents:
  random          uniformly random legal actions
  PLAYER          a rule-based player of the game, by name
  search:N        search with random playouts, N simulations a move
  search:cpu      the same with as many simulations as take the other side's CPU time (match)
  FILE            search with the network of a weights file
  cheat:N         no player but a ceiling: search of the true game, all that is hidden open,
  cheat:FILE      with random playouts or a network

An agent may have settings of its own: AGENT,key=value,key=value. The keys are those of the flags of search and choice:
  runs/battle-1/weights.safetensors,simulations=200,belief=reach,choice=sample";

/// The actor's command.
pub fn command<S: GameSet>() -> Command {
    let game = || game::<S>().required(true);
    let rules = || {
        Arg::new("rules")
            .long("rules")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Rules file of the game, for games whose rules are data")
    };
    let games_arg = |default: &'static str, which: &str| {
        Arg::new("games")
            .long("games")
            .value_name("N")
            .value_parser(value_parser!(u32).range(2..))
            .default_value(default)
            .help(format!("Games{which}, in pairs with seats swapped and the same chance seeds; an even number"))
    };
    let playthroughs = Arg::new("playthroughs")
        .long("playthroughs")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Recorded games, one JSON object a line");
    let r#match = Command::new("match")
        .about("Plays two agents against each other and prints the score with its 95 % interval over pairs")
        .long_about(
            "Plays two agents against each other and prints the score with its 95 % interval over pairs, and what a move \
             took each side: CPU time of the playing threads, evaluations, simulations.",
        )
        .after_long_help(AGENTS)
        .args([game(), rules(), agent("a", "First agent"), agent("b", "Second agent"), games_arg("400", ""), referee()])
        .args([seed(), json()]);
    let exact = Command::new("exact")
        .about("Measures an agent exactly in a small game: mistakes in all positions, or NashConv")
        .after_long_help(AGENTS)
        .args([game(), rules(), agent("a", "The agent"), seed(), json()]);
    let promote = promote_command(game(), rules());
    let ladder = ladder_command(game().required(false), rules(), games_arg("100", " of each meeting"));
    let replay = Command::new("replay")
        .about("Replays recorded games and compares movers, legal actions, chance outcomes and returns at every step")
        .args([game(), rules(), playthroughs]);
    let iterations = Arg::new("iterations")
        .long("iterations")
        .value_name("N")
        .value_parser(value_parser!(u32))
        .default_value("1000")
        .help("Iterations of CFR+");
    let solve = Command::new("solve")
        .about("Solves a small game by CFR+ and prints NashConv and seat 0's value on the way from the uniform policy")
        .args([game(), rules(), iterations, json()]);
    let random_games = Arg::new("games")
        .long("games")
        .value_name("N")
        .value_parser(value_parser!(u32).range(2..=10_000_000))
        .default_value("5000")
        .help("Games played at random");
    let suitability = Command::new("suitability")
        .about("Measures how well determinized search suits a game (Long et al. 2010) and says what follows")
        .args([game(), rules(), random_games, seed(), json()]);
    self_play_command()
        .args_conflicts_with_subcommands(true)
        .subcommand(ingest_command())
        .subcommand(with_agents(r#match))
        .subcommand(with_agents(exact))
        .subcommand(with_agents(ladder))
        .subcommand(with_settings::<PromoteFlags>(with_agents(promote)))
        .subcommand(with_agents(engine_command(game(), rules())))
        .subcommand(solve)
        .subcommand(replay)
        .subcommand(rules_command::<S>())
        .subcommand(suitability)
}

/// Decisions for other programs.
fn engine_command(game: Arg, rules: Arg) -> Command {
    let weights = Arg::new("weights").long("weights").value_name("FILE|none").required(true);
    Command::new("engine")
        .about("Decides for other programs: one JSON object a line on standard input and output")
        .long_about(
            "Decides for other programs: reads one JSON object a line from standard input and answers each with one line \
             on standard output. Whoever asks applies moves and chance outcomes and says when to decide; a line that \
             cannot be followed gets an error object and changes nothing. docs/engine.md has the protocol.",
        )
        .args([game, rules, weights.help("The weights that decide; 'none' for random playouts")])
}

/// Without a subcommand: self-play of a run.
fn self_play_command() -> Command {
    let command = Command::new("actor")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Plays: a run's games by its newest weights, matches, exact figures, recorded games, checks of rules")
        .long_about(
            "With --nats and --run it plays a run's games and publishes them: game, rules and search settings are the \
             run's, and weights are the newest that its learner has published. It waits for what is not there yet. On \
             SIGTERM it publishes the games that have ended and exits with 0. With a subcommand it does another job.",
        )
        .arg(check_config());
    with_settings::<PlayerFlags>(with_process(command))
}

fn ingest_command() -> Command {
    let command = Command::new("ingest")
        .about("Takes a run's games from the bus and stores their rows in the replay log; any number may run")
        .arg(check_config());
    with_settings::<LogFlags>(with_settings::<RedisFlags>(with_process(command)))
}

/// Adds what every service of a run needs to know.
fn with_process(command: Command) -> Command {
    with_settings::<NatsFlags>(with_settings::<ProcessFlags>(with_config(command)))
}

fn check_config() -> Arg {
    let help = "Check all settings, say what is wrong with them, and exit with 0 or 2";
    Arg::new(CHECK_CONFIG).long(CHECK_CONFIG).action(ArgAction::SetTrue).help(help)
}

/// Adds what says how agents search and choose.
fn with_agents(command: Command) -> Command {
    with_settings::<ChoiceFlags>(with_settings::<SearchFlags>(with_config(command)))
}

fn agent(name: &'static str, which: &str) -> Arg {
    let help = format!("{which}: random, a rule-based player of the game, search:N, or a weights file; see --help");
    Arg::new(name).long(name).value_name("AGENT").required(true).help(help)
}

/// The sequential test.
fn promote_command(game: Arg, rules: Arg) -> Command {
    Command::new("promote")
        .about("Tests whether a candidate is stronger than the champion: exits with 0 promoted, 1 not, 2 undecided")
        .long_about(
            "Tests whether a candidate is stronger than the champion, by a sequential test over pairs of games (GSPRT) \
             whose hypotheses and error rates are declared by flags. Plays until it is decided or --max-pairs are \
             played. Exits with 0 if the candidate is promoted, 1 if not, 2 if undecided or on an error. It decides and \
             does not measure: the score of a match that a test has stopped is biased.",
        )
        .after_long_help(AGENTS)
        .args([game, rules, agent("candidate", "Who may be promoted"), agent("champion", "Who is to be replaced")])
        .args([seed(), json()])
}

/// Ratings over a run.
fn ladder_command(game: Arg, rules: Arg, games: Arg) -> Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf))
    };
    let most = Arg::new("checkpoints")
        .long("checkpoints")
        .value_name("N")
        .value_parser(value_parser!(u32).range(1..=1000))
        .default_value("8")
        .help("The most checkpoints that are rated: first, last, and others evenly between");
    let anchor = Arg::new("anchor").long("anchor").value_name("PLAYER").default_value("random");
    let agents = Arg::new("agents").value_name("AGENT").num_args(0..).help("More players; they meet everybody");
    Command::new("ladder")
        .about("Rates a run's checkpoints and fixed players in Elo points with 95 % intervals")
        .long_about(
            "Rates players in Elo points with 95 % intervals by bootstrap over pairs: the averaged weights of a run's \
             checkpoints, its untrained network, random, the game's rule-based players, and the agents named. A \
             checkpoint meets its next two neighbours and all that are no checkpoints; those meet everybody.",
        )
        .after_long_help(AGENTS)
        .args([
            path("run", "DIR").help("A run's directory; game and rules are the run's"),
            agents,
            game.required_unless_present("run").help("The game; needed without --run"),
            rules,
            most,
            anchor.help("The player whose rating is 0"),
            games,
            path("svg", "FILE").help("Draw the curve of Elo over train steps"),
            seed(),
            json(),
        ])
}

/// The commands for those who write rules.
fn rules_command<S: GameSet>() -> Command {
    let number = |name: &'static str, default: &'static str, least: i64| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(value_parser!(u32).range(least..=10_000_000))
            .default_value(default)
    };
    let file = Arg::new("rules")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("The rules; without them, those that ship with the game");
    let weights = Arg::new("weights")
        .long("weights")
        .value_name("FILE")
        .help("Weights to search with, in place of random playouts");
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("A folder for report.html, one page that needs no other file, and its plots as SVG");
    let check = Command::new("check")
        .about("Reports all mistakes of a rules file; if there are none, plays by it and says what is out of balance")
        .long_about(
            "Reports all mistakes of a rules file, each with its line and what is allowed, and exits with 2. If there \
             are none, plays by the rules: by lot, the game's rule-based players and search, each against itself and \
             others. Says whether games end, whether play matters, whether an option is dead or dominant, and whether \
             a seat, a kind of character or a match-up loses hopelessly. Exits with 1 if something is bad.",
        )
        .args([
            file,
            game::<S>().default_value(S::names().first().copied().unwrap_or_default()),
            number("fights", "2000", 4).help("Games of each two players that do not search"),
            number("search-fights", "300", 4).help("Games of each two players of which one searches"),
            weights,
            out,
            seed(),
            json(),
        ]);
    Command::new("rules")
        .about("For those who write rules of a game")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings::<SearchFlags>(with_config(check)))
}

fn game<S: GameSet>() -> Arg {
    Arg::new("game").long("game").value_name("GAME").help(format!("The game: {}", S::names().join(", ")))
}

fn seed() -> Arg {
    Arg::new("match-seed")
        .long("match-seed")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .default_value("1")
        .help("Root of all randomness")
}

fn referee() -> Arg {
    let help = "Also ask both agents for their move in each of the referee's solved positions, and print in what share of \
                them they keep the game-theoretic value";
    Arg::new(REFEREE).long(REFEREE).action(ArgAction::SetTrue).help(help)
}

fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON")
}
