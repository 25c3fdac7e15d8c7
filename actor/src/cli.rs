//! The command line: one subcommand a job.

use std::{fs::File, io::BufReader, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use fogfall_game::{GameSet, GameVisitor};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_service::settings::{Loader, with_config, with_settings};
use serde::Serialize;

use crate::rules::{Check, RulesReport};
use crate::suitability::Measure;
use crate::{exact::Exact, matches::Match, replay::Replay, solve::Solve};

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
    let agent = |name: &'static str, which: &str| {
        let help = format!("{which} agent: random, a rule-based player of the game, search:N, or a weights file");
        Arg::new(name).long(name).value_name("AGENT").required(true).help(help)
    };
    let games_arg = Arg::new("games")
        .long("games")
        .value_name("N")
        .value_parser(value_parser!(u32).range(2..))
        .default_value("400")
        .help("Games, in pairs with seats swapped and the same chance seeds; rounded up to an even number");
    let playthroughs = Arg::new("playthroughs")
        .long("playthroughs")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Recorded games, one JSON object a line");
    let r#match = Command::new("match")
        .about("Plays two agents against each other and prints the score with its 95 % interval over pairs")
        .args([game(), rules(), agent("a", "First"), agent("b", "Second"), games_arg, seed(), json()]);
    let exact = Command::new("exact")
        .about("Measures an agent exactly in a small game: mistakes in all positions, or NashConv")
        .args([game(), rules(), agent("a", "The"), seed(), json()]);
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
    Command::new("actor")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Plays: matches, exact figures, recorded games, checks of rules")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings::<SearchFlags>(with_config(r#match)))
        .subcommand(with_settings::<SearchFlags>(with_config(exact)))
        .subcommand(solve)
        .subcommand(replay)
        .subcommand(rules_command::<S>())
        .subcommand(suitability)
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

fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON")
}

/// Does what is asked for.
///
/// # Errors
/// Mistakes in flags, environment, file, rules or agents.
pub fn run<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (job, matches) = matches.subcommand().context("a subcommand is required")?;
    match job {
        "match" => {
            let flags = flags(matches)?;
            let order = Match {
                a: text(matches, "a"),
                b: text(matches, "b"),
                pairs: matches.get_one::<u32>("games").map_or(200, |n| n.div_ceil(2)),
                seed: seed_of(matches),
                flags,
            };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "exact" => {
            let order = Exact { a: text(matches, "a"), seed: seed_of(matches), flags: flags(matches)? };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "solve" => {
            let iterations = matches.get_one::<u32>("iterations").copied().context("--iterations has a default")?;
            print(matches, &with::<S, _>(matches, Solve { iterations })??)
        }
        "rules" => {
            let (_, matches) = matches.subcommand().context("a subcommand is required")?;
            return check_rules::<S>(matches);
        }
        "suitability" => {
            let games = matches.get_one::<u32>("games").copied().context("--games has a default")?;
            print(matches, &with::<S, _>(matches, Measure { games, seed: seed_of(matches) })?)
        }
        _ => {
            let path = matches.get_one::<PathBuf>("playthroughs").context("--playthroughs is required")?;
            let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            match with::<S, _>(matches, Replay(BufReader::new(file)))? {
                Ok(agreement) => say(&agreement.to_string()),
                Err(difference) => {
                    say(&format!("{}: {difference}", path.display()))?;
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

fn text(matches: &ArgMatches, name: &str) -> String {
    matches.get_one::<String>(name).cloned().unwrap_or_default()
}

fn check_rules<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let pairs = |name| matches.get_one::<u32>(name).map_or(2, |games| games.div_ceil(2));
    let file = matches.get_one::<PathBuf>("rules").and_then(|path| path.file_name());
    let order = Check {
        source: file.map_or("the rules that ship with it".to_owned(), |name| name.to_string_lossy().into_owned()),
        pairs: pairs("fights"),
        search_pairs: pairs("search-fights"),
        weights: matches.get_one::<String>("weights").cloned(),
        seed: seed_of(matches),
        flags: flags(matches)?,
    };
    let report: RulesReport = with::<S, _>(matches, order)??;
    print(matches, &report)?;
    if let Some(dir) = matches.get_one::<PathBuf>("out") {
        let page = report.write(dir)?;
        if !matches.get_flag("json") {
            say(&format!("see {}", page.display()))?;
        }
    }
    Ok(if report.counts().0 == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn seed_of(matches: &ArgMatches) -> u64 {
    matches.get_one::<u64>("match-seed").copied().unwrap_or(1)
}

fn flags(matches: &ArgMatches) -> anyhow::Result<SearchFlags> {
    let mut loader = Loader::from_process(matches, std::env::vars());
    let flags = loader.load::<SearchFlags>();
    // A settings file may be shared with the learner.
    loader.accept::<PlayFlags>();
    loader.finish()?;
    Ok(flags)
}

fn with<S: GameSet, V: GameVisitor>(matches: &ArgMatches, visitor: V) -> anyhow::Result<V::Out> {
    let rules = match matches.get_one::<PathBuf>("rules") {
        None => None,
        Some(path) => {
            Some(std::fs::read_to_string(path).with_context(|| format!("cannot read rules {}", path.display()))?)
        }
    };
    Ok(S::with(&text(matches, "game"), rules.as_deref(), visitor)?)
}

fn print<T: Serialize + ToString>(matches: &ArgMatches, report: &T) -> anyhow::Result<()> {
    if matches.get_flag("json") { say(&serde_json::to_string(report)?) } else { say(&report.to_string()) }
}

fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{text}").context("cannot write to standard output")
}
