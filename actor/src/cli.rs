//! The command line: does what the commands ask for, one a job.

use std::{collections::BTreeMap, fs::File, io::BufReader, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail, ensure};
use clap::ArgMatches;
use fogfall_game::{GameError, GameSet, GameVisitor};
use fogfall_pipeline::{PlayFlags, Preset, SearchFlags};
use fogfall_service::{
    host,
    settings::{Loader, Mistakes},
    telemetry,
};
use serde::Serialize;

use crate::{
    agent::{AgentFlags, ChoiceFlags},
    cluster::{IngestOrder, PlayOrder},
    commands::{CHECK_CONFIG, REFEREE},
    engine::Engine,
    exact::Exact,
    ingest,
    ladder::{self, Ladder, RunWeights},
    matches::Match,
    promote::{EXIT_UNDECIDED, Promote, PromoteFlags},
    referee::refereed,
    replay::Replay,
    rules::{Check, RulesReport},
    seams::Seams,
    selfplay::{self, Usual},
    solve::Solve,
    suitability::Measure,
};

/// Bad usage: flags, settings, rules.
const EXIT_USAGE: u8 = 2;
/// What `--check-config` says if it finds nothing.
const IN_ORDER: &str = "the settings are in order";

/// Does what is asked for.
///
/// # Errors
/// Mistakes in flags, environment, file, rules or agents.
pub fn run<S: GameSet>(matches: &ArgMatches, seams: &Seams) -> anyhow::Result<ExitCode> {
    let Some((job, matches)) = matches.subcommand() else { return self_play::<S>(matches, seams) };
    if job == "ingest" {
        return ingest::<S>(matches, seams);
    }
    telemetry::init(telemetry::LogFormat::Text, std::env::var(telemetry::FILTER_ENV).ok().as_deref())?;
    match job {
        "match" => {
            let order = Match {
                agents: [text(matches, "a"), text(matches, "b")],
                pairs: pairs(matches, "games"),
                seed: seed_of(matches),
                flags: flags::<S>(matches)?,
                referee: matches.get_flag(REFEREE).then_some(refereed::<S>),
            };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "ladder" => climb::<S>(matches),
        "promote" => return promote::<S>(matches),
        "exact" => {
            let order = Exact { a: text(matches, "a"), seed: seed_of(matches), flags: flags::<S>(matches)? };
            print(matches, &with::<S, _>(matches, order)??)
        }
        "engine" => {
            let engine = Engine {
                weights: text(matches, "weights"),
                flags: flags::<S>(matches)?,
                requests: std::io::stdin().lock(),
                answers: std::io::stdout().lock(),
            };
            with::<S, _>(matches, engine)?
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

fn self_play<S: GameSet>(matches: &ArgMatches, seams: &Seams) -> anyhow::Result<ExitCode> {
    let order = PlayOrder::read(matches, std::env::vars())?;
    if matches.get_flag(CHECK_CONFIG) {
        say(IN_ORDER)?;
        let limit = host::memory_limit().map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
        say(&format!("memory limit {limit}; by the games' own defaults this process would play"))?;
        for game in S::names() {
            say(&format!("  {}", S::with(game, None, Usual(&order.player))??))?;
        }
    } else {
        selfplay::run::<S>(&order, seams)?
    }
    Ok(ExitCode::SUCCESS)
}

fn ingest<S: GameSet>(matches: &ArgMatches, seams: &Seams) -> anyhow::Result<ExitCode> {
    let order = IngestOrder::read(matches, std::env::vars())?;
    if matches.get_flag(CHECK_CONFIG) {
        say(IN_ORDER)?
    } else {
        ingest::run::<S>(&order, seams)?
    }
    Ok(ExitCode::SUCCESS)
}

fn text(matches: &ArgMatches, name: &str) -> String {
    matches.get_one::<String>(name).cloned().unwrap_or_default()
}

/// Games asked for, as pairs.
fn pairs(matches: &ArgMatches, name: &str) -> u32 {
    matches.get_one::<u32>(name).map_or(2, |games| games.div_ceil(2))
}

fn climb<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<()> {
    let most = matches.get_one::<u32>("checkpoints").copied().context("--checkpoints has a default")?;
    let run = matches.get_one::<PathBuf>("run").map(|dir| RunWeights::read(dir, most as usize)).transpose()?;
    let svg = matches.get_one::<PathBuf>("svg");
    ensure!(svg.is_none() || run.is_some(), "--svg draws the curve of a run: it needs --run");
    let asked = matches.get_one::<String>("game");
    let game = match (asked, run.as_ref().map(|run| &run.manifest)) {
        (Some(game), Some(of)) if *game != of.game => bail!("--game {game}: the run is of {}", of.game),
        (Some(game), _) => game.clone(),
        (None, Some(of)) => of.game.clone(),
        (None, None) => bail!("--game is required without --run"),
    };
    let rules = rules(matches)?.or_else(|| run.as_ref().and_then(|run| run.manifest.rules.clone()));
    let defaults = match &run {
        Some(run) => run.manifest.settings.clone(),
        None => S::with(&game, rules.as_deref(), Preset)?,
    };
    let order = Ladder {
        run,
        agents: matches.get_many::<String>("agents").into_iter().flatten().cloned().collect(),
        anchor: text(matches, "anchor"),
        pairs: pairs(matches, "games"),
        seed: seed_of(matches),
        flags: agent_flags(loader(matches), &defaults)?,
    };
    let report = S::with(&game, rules.as_deref(), order)??;
    print(matches, &report)?;
    match svg {
        Some(path) => ladder::write_plot(&report, path),
        None => Ok(()),
    }
}

fn promote<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let mut loader = loader(matches);
    let test = loader.load::<PromoteFlags>();
    if let Some(mistake) = test.mistake() {
        loader.refuse(mistake);
    }
    let order = Promote {
        candidate: text(matches, "candidate"),
        champion: text(matches, "champion"),
        test,
        seed: seed_of(matches),
        flags: agent_flags(loader, &with::<S, _>(matches, Preset)?)?,
    };
    let report = with::<S, _>(matches, order)??;
    print(matches, &report)?;
    Ok(report.exit_code())
}

/// The exit code of an error: bad usage apart from others, but for scripts that ask for a verdict.
pub fn error_code(matches: &ArgMatches, error: &anyhow::Error) -> ExitCode {
    if matches.subcommand_name() == Some("promote") {
        ExitCode::from(EXIT_UNDECIDED)
    } else if error.is::<Mistakes>() || error.is::<GameError>() {
        ExitCode::from(EXIT_USAGE)
    } else {
        ExitCode::FAILURE
    }
}

fn check_rules<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let file = matches.get_one::<PathBuf>("rules").and_then(|path| path.file_name());
    let order = Check {
        source: file.map_or("the rules that ship with it".to_owned(), |name| name.to_string_lossy().into_owned()),
        pairs: pairs(matches, "fights"),
        search_pairs: pairs(matches, "search-fights"),
        weights: matches.get_one::<String>("weights").cloned(),
        seed: seed_of(matches),
        flags: flags::<S>(matches)?,
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

fn loader(matches: &ArgMatches) -> Loader {
    Loader::from_process(matches, std::env::vars())
}

/// How agents search and choose; what is not given is as the game asks for.
fn flags<S: GameSet>(matches: &ArgMatches) -> anyhow::Result<AgentFlags> {
    agent_flags(loader(matches), &with::<S, _>(matches, Preset)?)
}

fn agent_flags(mut loader: Loader, defaults: &BTreeMap<String, String>) -> anyhow::Result<AgentFlags> {
    loader.stored("defaults", defaults);
    let flags = AgentFlags { search: loader.load::<SearchFlags>(), choice: loader.load::<ChoiceFlags>() };
    // A settings file may be shared with the learner, and with other commands.
    loader.accept::<PlayFlags>();
    loader.accept::<PromoteFlags>();
    loader.finish()?;
    Ok(flags)
}

fn with<S: GameSet, V: GameVisitor>(matches: &ArgMatches, visitor: V) -> anyhow::Result<V::Out> {
    Ok(S::with(&text(matches, "game"), rules(matches)?.as_deref(), visitor)?)
}

/// The rules text, if a file was given.
fn rules(matches: &ArgMatches) -> anyhow::Result<Option<String>> {
    let Some(path) = matches.get_one::<PathBuf>("rules") else { return Ok(None) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read rules {}", path.display()))?;
    Ok(Some(text))
}

fn print<T: Serialize + ToString>(matches: &ArgMatches, report: &T) -> anyhow::Result<()> {
    if matches.get_flag("json") { say(&serde_json::to_string(report)?) } else { say(&report.to_string()) }
}

fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{text}").context("cannot write to standard output")
}
