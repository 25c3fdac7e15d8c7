//! The command line: one subcommand a job.

use std::{fs::File, io::BufReader, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use fogfall_game::{GameSet, GameVisitor};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_service::settings::{Loader, with_config, with_settings};
use serde::Serialize;

use crate::{exact::Exact, matches::Match, replay::Replay, solve::Solve};

/// The actor's command.
pub fn command<S: GameSet>() -> Command {
    let games = S::names().join(", ");
    let game = || Arg::new("game").long("game").value_name("GAME").required(true).help(format!("The game: {games}"));
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
    let seed = || {
        Arg::new("match-seed")
            .long("match-seed")
            .value_name("N")
            .value_parser(value_parser!(u64))
            .default_value("1")
            .help("Root of all randomness")
    };
    let json = || Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON");
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
    Command::new("actor")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Plays: matches, exact figures, recorded games")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings::<SearchFlags>(with_config(r#match)))
        .subcommand(with_settings::<SearchFlags>(with_config(exact)))
        .subcommand(solve)
        .subcommand(replay)
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
                seed: seed(matches),
                flags,
            };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "exact" => {
            let order = Exact { a: text(matches, "a"), seed: seed(matches), flags: flags(matches)? };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "solve" => {
            let iterations = matches.get_one::<u32>("iterations").copied().context("--iterations has a default")?;
            print(matches, &with::<S, _>(matches, Solve { iterations })??)
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

fn seed(matches: &ArgMatches) -> u64 {
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
