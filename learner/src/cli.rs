//! The command line: what is asked for, with all settings checked and every mistake reported together.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use fogfall_game::{Game, GameSet, GameVisitor};
use fogfall_pipeline::{LogFlags, NatsFlags, PlayFlags, Preset, RedisFlags, SearchFlags};
use fogfall_service::settings::{Key, Loader, Settings, with_config, with_settings};

use crate::{
    checkpoint::{self, Checkpoint},
    overview,
    pipeline::self_play_settings,
    place::{Cluster, Place},
    replay,
    resume::{AUTO, RunState, locate},
    run_dir::RunDir,
    settings::{LockstepFlags, NetworkFlags, ReplayFlags, RunFlags, TrainFlags},
};

/// All groups of settings.
#[derive(Clone, Debug)]
pub struct Flags {
    /// Search of self-play and matches.
    pub search: SearchFlags,
    /// Self-play.
    pub play: PlayFlags,
    /// Network.
    pub network: NetworkFlags,
    /// Training.
    pub train: TrainFlags,
    /// Replay.
    pub replay: ReplayFlags,
    /// Replay log.
    pub log: LogFlags,
    /// Lockstep.
    pub lockstep: LockstepFlags,
    /// Run.
    pub run: RunFlags,
}

impl Flags {
    fn load(loader: &mut Loader) -> Self {
        Self {
            search: loader.load(),
            play: loader.load(),
            network: loader.load(),
            train: loader.load(),
            replay: loader.load(),
            log: loader.load(),
            lockstep: loader.load(),
            run: loader.load(),
        }
    }

    /// Takes all their names for known.
    pub fn accept(loader: &mut Loader) {
        loader.accept::<SearchFlags>();
        loader.accept::<PlayFlags>();
        loader.accept::<NetworkFlags>();
        loader.accept::<TrainFlags>();
        loader.accept::<ReplayFlags>();
        loader.accept::<LogFlags>();
        loader.accept::<LockstepFlags>();
        loader.accept::<RunFlags>();
    }

    /// All of them, as text.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let mut texts = self.search.texts();
        let groups = [self.play.texts(), self.network.texts(), self.train.texts(), self.replay.texts()];
        let more = [self.log.texts(), self.lockstep.texts(), self.run.texts()];
        texts.extend(groups.into_iter().chain(more).flatten());
        texts
    }

    /// Those that games are played by, as text.
    pub fn play_texts(&self) -> BTreeMap<String, String> {
        self.search.texts().into_iter().chain(self.play.texts()).collect()
    }

    /// What is known of each.
    pub fn keys() -> impl Iterator<Item = &'static Key> {
        Self::groups().into_iter().flat_map(|(_, keys)| keys)
    }

    /// The groups by title, and what is known of their settings.
    pub fn groups() -> [(&'static str, &'static [Key]); 8] {
        fn group<T: Settings>() -> (&'static str, &'static [Key]) {
            (T::TITLE.trim(), T::keys())
        }
        [
            group::<SearchFlags>(),
            group::<PlayFlags>(),
            group::<NetworkFlags>(),
            group::<TrainFlags>(),
            group::<ReplayFlags>(),
            group::<LogFlags>(),
            group::<LockstepFlags>(),
            group::<RunFlags>(),
        ]
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct End {
    /// After this many train steps of the run.
    pub steps: Option<u64>,
    /// After this much time of this start.
    pub after: Option<Duration>,
}

/// Where the page, metrics and health are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdminAddr {
    /// Nowhere.
    #[default]
    Nowhere,
    /// At [`USUAL_ADDR`], or on a free port if that one is taken.
    Usual,
    /// There and nowhere else.
    At(SocketAddr),
}

/// Where a run on this machine is served if nobody says otherwise.
pub const USUAL_ADDR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

impl AdminAddr {
    /// An address, or `none`.
    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Nowhere);
        }
        text.parse().map(Self::At).map_err(|_| "neither an address such as 127.0.0.1:9090 nor none".to_owned())
    }
}

/// What is asked for.
#[derive(Debug)]
pub struct Order {
    /// The game.
    pub game: String,
    /// Its rules text, if given.
    pub rules: Option<String>,
    /// The run's directory.
    pub run_dir: PathBuf,
    /// The checkpoint to go on from.
    pub checkpoint: Option<Checkpoint<RunState>>,
    /// Weights to start a new run from.
    pub init_from: Option<PathBuf>,
    /// Learning settings may differ from the checkpoint's.
    pub change: bool,
    /// Where its bus and log are.
    pub place: Place,
    /// When to end.
    pub end: End,
    /// One JSON object a line instead of text.
    pub json: bool,
    /// Where the page, metrics and health are served.
    pub admin_addr: AdminAddr,
    /// Settings.
    pub flags: Flags,
    /// Defaults of the game's own.
    pub preset: BTreeMap<String, String>,
}

impl Order {
    /// One line on the defaults of the game's own that are in force; empty if there are none.
    pub fn remark(&self) -> String {
        let texts = self.flags.texts();
        let in_force = Flags::keys().filter(|key| self.preset.get(key.key).is_some_and(|own| *own == texts[key.key]));
        let list: Vec<_> = in_force.map(|key| format!("{} {}", key.key, texts[key.key])).collect();
        if list.is_empty() {
            return String::new();
        }
        format!("{} has defaults of its own: {}", self.game, list.join(", "))
    }
}

/// The learner's command.
pub fn command<S: GameSet>() -> Command {
    let games = S::names().join(", ");
    let path = |name: &'static str, help: String| {
        Arg::new(name).long(name).value_name("PATH").value_parser(value_parser!(PathBuf)).help(help)
    };
    let switch =
        |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let command = Command::new("learner")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Trains a character by self-play: samples batches, steps, writes checkpoints, publishes weights")
        .arg(switch("local", "Play, store and train in this one process; no server is needed"))
        .arg(
            Arg::new("run")
                .long("run")
                .value_name("ID")
                .help("Train this run on the servers given by --nats and --redis, where actors play and others ingest"),
        )
        .arg(
            Arg::new("ingest")
                .long("ingest")
                .value_name("WHERE")
                .value_parser(["apart", "embedded"])
                .default_value("apart")
                .help("With --run: who moves games from the bus into the log, others or this process too"),
        )
        .arg(switch("start-over", "With --run: train anew from step 0 although the bus holds weights of the run"))
        .arg(Arg::new("game").long("game").value_name("GAME").help(format!("The game: {games}")))
        .arg(path("rules", "Rules file of the game, for games whose rules are data".to_owned()))
        .arg(path("run-dir", "Where the run lives [default: the first free runs/GAME-N]".to_owned()))
        .arg(
            Arg::new("minutes")
                .long("minutes")
                .value_name("M")
                .value_parser(value_parser!(f64))
                .help("End after so many minutes"),
        )
        .arg(
            Arg::new("steps")
                .long("steps")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("End after so many train steps of the run"),
        )
        .arg(Arg::new("resume").long("resume").value_name("CHECKPOINT").help(
            "Go on: a checkpoint, a run directory, 'latest' of --run-dir, or 'auto': its latest, or begin anew if it \
                     has none",
        ))
        .arg(switch("change", "With --resume: go on with other learning settings than the checkpoint's"))
        .arg(path("init-from", "Start a new run from these weights; fields and actions are mapped by name".to_owned()))
        .arg(switch("json", "Print one JSON object a line instead of text"))
        .arg(Arg::new("metrics-addr").long("metrics-addr").value_name("ADDR").value_parser(AdminAddr::parse).help(
            format!(
                "Serve a page to look at, /metrics, /healthz, /readyz and /status here, such as 127.0.0.1:9090, or \
                     none [default: with --local {USUAL_ADDR} or a free port, else none]"
            ),
        ));
    let command = with_settings::<RedisFlags>(with_settings::<NatsFlags>(with_config(command)));
    let command = with_settings::<SearchFlags>(command);
    let command = with_settings::<PlayFlags>(command);
    let command = with_settings::<NetworkFlags>(command);
    let command = with_settings::<TrainFlags>(command);
    let command = with_settings::<LogFlags>(with_settings::<ReplayFlags>(command));
    let command = with_settings::<LockstepFlags>(command);
    with_settings::<RunFlags>(command).args_conflicts_with_subcommands(true).subcommand(overview::command())
}

/// Reads what is asked for.
///
/// # Errors
/// Every mistake in flags, environment, file and rules together, or what is wrong with the checkpoint.
pub fn order<S: GameSet>(
    matches: &ArgMatches,
    variables: impl IntoIterator<Item = (String, String)>,
) -> anyhow::Result<Order> {
    let mut loader = Loader::from_process(matches, variables);
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let resumed = match matches.get_one::<String>("resume") {
        Some(resume) => resumed(resume, path("run-dir").as_deref(), &mut loader)?,
        None => None,
    };
    let (run_dir, checkpoint) = resumed.map_or((path("run-dir"), None), |(dir, found)| (Some(dir), Some(found)));
    let begins_anew = checkpoint.is_none();
    let stored = checkpoint.as_ref().map(|c| &c.state.manifest);
    let game = matches.get_one::<String>("game").cloned().or_else(|| stored.map(|m| m.game.clone()));
    let rules = match path("rules") {
        Some(file) => read_rules(&file, &mut loader),
        None => stored.filter(|m| Some(&m.game) == game.as_ref()).and_then(|m| m.rules.clone()),
    };
    let preset = game.as_ref().and_then(|game| S::with(game, rules.as_deref(), Preset).ok()).unwrap_or_default();
    // A run that goes on has all of its settings; what they do not name came later than the checkpoint, and was not in force.
    if begins_anew {
        loader.stored("the game's own defaults", &preset);
    }
    let flags = Flags::load(&mut loader);
    let place = place(matches, &flags, &mut loader);
    refuse_bad_usage(matches, &mut loader);
    if let Err(error) = crate::train::Device::parse(&flags.run.device) {
        loader.refuse(format!("device: {error:#}"));
    }
    match &game {
        None => loader.refuse("--game is missing"),
        Some(game) => {
            match S::with(game, rules.as_deref(), Misfits { flags: &flags, plays: place.cluster().is_none() }) {
                Ok(misfits) => misfits.into_iter().for_each(|misfit| loader.refuse(misfit)),
                Err(error) => loader.refuse(error.to_string().replace('\n', "\n  ")),
            }
        }
    }
    loader.finish()?;
    let game = game.unwrap_or_default();
    let usual = if place.cluster().is_none() { AdminAddr::Usual } else { AdminAddr::Nowhere };
    Ok(Order {
        run_dir: run_dir.unwrap_or_else(|| match place.run() {
            Some(run) => PathBuf::from("runs").join(run),
            None => RunDir::fresh(&game),
        }),
        place,
        game,
        rules,
        checkpoint,
        init_from: path("init-from").filter(|_| begins_anew),
        change: matches.get_flag("change"),
        end: End {
            steps: matches.get_one::<u64>("steps").copied(),
            after: matches.get_one::<f64>("minutes").map(|m| Duration::from_secs_f64(m * 60.0)),
        },
        json: matches.get_flag("json"),
        admin_addr: matches.get_one::<AdminAddr>("metrics-addr").copied().unwrap_or(usual),
        flags,
        preset,
    })
}

/// What `--resume` asks for: the run's directory and the checkpoint, whose settings lie below all others. None if it
/// points nowhere, which is refused but for [`AUTO`].
fn resumed(
    resume: &str,
    run_dir: Option<&Path>,
    loader: &mut Loader,
) -> anyhow::Result<Option<(PathBuf, Checkpoint<RunState>)>> {
    let (dir, path) = match locate(resume, run_dir) {
        Ok(found) => found,
        Err(error) => {
            loader.refuse(format!("{error:#}"));
            return Ok(None);
        }
    };
    let checkpoints = RunDir::checkpoints_in(&dir);
    let Some(path) = path.map_or_else(|| checkpoint::latest(&checkpoints), |path| Ok(Some(path)))? else {
        if resume != AUTO {
            loader.refuse(format!("{} has no checkpoint: begin anew, without --resume", dir.display()));
        }
        return Ok(None);
    };
    let found: Checkpoint<RunState> = checkpoint::load_of(&checkpoints, &path)?;
    loader.stored("the checkpoint", &found.state.settings);
    Ok(Some((dir, found)))
}

fn read_rules(file: &Path, loader: &mut Loader) -> Option<String> {
    let text = std::fs::read_to_string(file);
    text.map_err(|error| loader.refuse(format!("cannot read rules {}: {error}", file.display()))).ok()
}

/// Where the run's bus and log are.
fn place(matches: &ArgMatches, flags: &Flags, loader: &mut Loader) -> Place {
    let (nats, redis): (NatsFlags, RedisFlags) = (loader.load(), loader.load());
    let run = matches.get_one::<String>("run").cloned();
    let servers = !nats.nats.is_empty() || !redis.redis.is_empty();
    match (matches.get_flag("local"), run) {
        (true, None) if !servers => return Place::Local,
        (true, _) => loader.refuse("--local needs no server: give either that, or --run with --nats and --redis"),
        (false, None) => loader.refuse("give --local, or --run with --nats and --redis"),
        (false, Some(_)) if nats.nats.is_empty() || redis.redis.is_empty() => {
            loader.refuse("--run needs --nats and --redis");
        }
        (false, Some(run)) => {
            if flags.lockstep.lockstep {
                loader.refuse("lockstep goes with --local: actors on a cluster wait for nobody");
            }
            if let Some(mistake) = nats.mistake() {
                loader.refuse(mistake);
            }
            let ingest = matches.get_one::<String>("ingest").is_some_and(|place| place == "embedded");
            let start_over = matches.get_flag("start-over");
            return Place::Cluster(Box::new(Cluster { run, nats, redis, ingest, start_over }));
        }
    }
    Place::Local
}

/// Refuses flags that do not go together.
fn refuse_bad_usage(matches: &ArgMatches, loader: &mut Loader) {
    let given = |name: &str| matches.contains_id(name);
    let auto = matches.get_one::<String>("resume").is_some_and(|resume| resume == AUTO);
    if given("resume") && given("init-from") && !auto {
        loader.refuse("--init-from starts a new run, --resume goes on with an old one: give one of them");
    }
    if matches.get_flag("change") && !given("resume") {
        loader.refuse("--change goes with --resume");
    }
    if matches.get_one::<f64>("minutes").is_some_and(|&m| !(m > 0.0 && m < 1e7)) {
        loader.refuse("--minutes must be above 0");
    }
}

/// What of the settings does not fit the game.
struct Misfits<'a> {
    flags: &'a Flags,
    /// This process plays.
    plays: bool,
}

impl GameVisitor for Misfits<'_> {
    type Out = Vec<String>;

    fn visit<G: Game>(self, game: Arc<G>) -> Vec<String> {
        let (info, flags) = (game.info(), self.flags);
        let play = if self.plays { self_play_settings(info, flags).err() } else { None };
        let play = play.map(|error| format!("{error:#}"));
        replay::misfits(info, flags).into_iter().chain(flags.network.misfit(info)).chain(play).collect()
    }
}

#[cfg(test)]
mod tests {
    use fogfall_games::Shipped;

    use super::*;

    #[test]
    fn every_default_that_a_game_asks_for_is_a_known_setting_with_an_allowed_value() {
        let general = Flags::load(&mut Loader::new()).texts();
        for game in ["kuhn_poker", "connect_four"] {
            let preset = Shipped::with(game, None, Preset).unwrap();
            let mut loader = Loader::new();
            loader.flags(preset.clone());
            let flags = Flags::load(&mut loader);
            loader.finish().unwrap();
            for (key, text) in flags.texts() {
                let (asked, usual) = (preset.contains_key(&key), &general[&key]);
                assert_eq!(asked, *usual != text, "{game}: {key}: {text}, {usual} by default");
            }
        }
        assert!(Shipped::with("battle", None, Preset).unwrap().is_empty());
    }
}
