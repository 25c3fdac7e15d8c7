//! What a service is asked for, with all settings checked and every mistake reported together.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use clap::ArgMatches;
use fogfall_bus::NatsSettings;
use fogfall_pipeline::{LogFlags, NatsFlags, PlayFlags, RedisFlags, SearchFlags};
use fogfall_proto::Manifest;
use fogfall_service::settings::{Loader, Mistakes};

use super::settings::{PlayerFlags, ProcessFlags};

/// Longest wait for one answer of a server.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Answers that must be waited for, one after another, within the time that a stop may take.
const ANSWERS_OF_A_STOP: u32 = 5;

/// What both services are asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// The bus.
    pub nats: NatsFlags,
    /// The process.
    pub process: ProcessFlags,
    /// Where metrics and health are served.
    pub metrics_addr: Option<SocketAddr>,
}

/// What self-play is asked for.
#[derive(Debug)]
pub struct PlayOrder {
    /// As every service.
    pub order: Order,
    /// How it is sized.
    pub player: PlayerFlags,
}

/// What an ingester is asked for.
#[derive(Debug)]
pub struct IngestOrder {
    /// As every service.
    pub order: Order,
    /// The replay log's server.
    pub redis: RedisFlags,
    /// All that was given, without mistakes: the run may have defaults below it.
    given: Loader,
}

impl Order {
    fn load(loader: &mut Loader) -> Self {
        let (nats, process): (NatsFlags, ProcessFlags) = (loader.load(), loader.load());
        if nats.nats.is_empty() {
            loader.refuse("--nats is missing: the servers of the run's bus, such as nats://127.0.0.1:4222");
        }
        if let Some(mistake) = nats.mistake() {
            loader.refuse(mistake);
        }
        if process.run.is_empty() {
            loader.refuse("--run is missing: the id of the run to work for");
        } else if process.run.len() > 64
            || !process.run.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        {
            loader.refuse(format!("run: {:?} is not 1 to 64 letters, digits, '-' and '_'", process.run));
        }
        let address = Some(process.metrics_addr.as_str()).filter(|text| !text.is_empty());
        let metrics_addr = address.and_then(|text| {
            let parsed = text.parse();
            parsed
                .map_err(|_| loader.refuse(format!("metrics_addr: {text:?} is no address such as 127.0.0.1:9090")))
                .ok()
        });
        Self { nats, process, metrics_addr }
    }

    /// Time that a stop may take.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.process.stop_within_s)
    }

    /// Longest wait for one answer of a server: a stop must still end in time.
    pub fn answer_within(&self) -> Duration {
        ANSWER_WITHIN.min(self.grace() / ANSWERS_OF_A_STOP)
    }

    /// How to connect to the bus. The run's learner sets it up.
    pub fn bus(&self) -> NatsSettings {
        NatsSettings { answer_within: self.answer_within(), ..self.nats.settings(false) }
    }
}

impl PlayOrder {
    /// Reads what is asked for.
    ///
    /// # Errors
    /// Every mistake in flags, environment and file.
    pub fn read(matches: &ArgMatches, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Mistakes> {
        let mut loader = Loader::from_process(matches, variables);
        let (order, player) = (Order::load(&mut loader), loader.load());
        // A settings file or an environment may be shared with other programs.
        loader.accept::<RedisFlags>();
        loader.accept::<LogFlags>();
        accept_play(&mut loader);
        loader.finish()?;
        Ok(Self { order, player })
    }
}

impl IngestOrder {
    /// Reads what is asked for.
    ///
    /// # Errors
    /// Every mistake in flags, environment and file.
    pub fn read(matches: &ArgMatches, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Mistakes> {
        let mut loader = Loader::from_process(matches, variables);
        let (order, redis): (_, RedisFlags) = (Order::load(&mut loader), loader.load());
        if !["redis://", "rediss://"].iter().any(|scheme| redis.redis.starts_with(scheme)) {
            loader.refuse("--redis is missing or no URL: the replay log's server, such as redis://127.0.0.1:6379");
        }
        loader.load::<LogFlags>();
        loader.accept::<PlayerFlags>();
        accept_play(&mut loader);
        let given = loader.clone();
        loader.finish()?;
        Ok(Self { order, redis, given })
    }

    /// The replay log's settings: as given, else as the run says, else as the game asks for.
    ///
    /// # Errors
    /// If the run has values that this program does not know.
    pub fn log(&self, run: &Manifest, game: &BTreeMap<String, String>) -> Result<LogFlags, Mistakes> {
        let mut loader = self.given.clone();
        let log = LogFlags::of_run(&mut loader, run, game);
        loader.finish().map(|()| log)
    }
}

fn accept_play(loader: &mut Loader) {
    loader.accept::<SearchFlags>();
    loader.accept::<PlayFlags>();
}

#[cfg(test)]
mod tests {
    use fogfall_games::Shipped;
    use fogfall_proto::WIRE_VERSION;

    use super::*;

    fn matches(arguments: &[&str]) -> ArgMatches {
        crate::commands::command::<Shipped>().get_matches_from([&["actor"], arguments].concat())
    }

    fn ingest(arguments: &[&str]) -> Result<IngestOrder, Mistakes> {
        let all = matches(&[&["ingest"], arguments].concat());
        IngestOrder::read(all.subcommand_matches("ingest").unwrap(), [])
    }

    #[test]
    fn bus_and_run_are_all_that_self_play_must_be_given_by_flags_or_by_the_environment() {
        let order = PlayOrder::read(&matches(&["--nats", "nats://a:1", "--run", "r"]), []).unwrap();
        assert_eq!((order.order.process.run.as_str(), order.player), ("r", PlayerFlags::default()));
        assert_eq!(order.order.bus().answer_within, Duration::from_secs(4)); // 20 s / 5
        assert!(!order.order.bus().set_up);
        let variables = [("FOGFALL_NATS", "nats://a:1"), ("FOGFALL_RUN", "r"), ("FOGFALL_NATS_TOKEN", "t")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let order = PlayOrder::read(&matches(&[]), variables).unwrap();
        assert_eq!(order.order.bus().auth, fogfall_bus::NatsAuth::Token("t".into()));
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let arguments = ["--run", "a b", "--metrics-addr", "here", "--slots", "0", "--nats-key", "k.pem"];
        let mistakes = PlayOrder::read(&matches(&arguments), []).unwrap_err().to_string();
        for part in ["--nats is missing", "\"a b\" is not", "\"here\" is no address", "slots", "nats_key go together"] {
            assert!(mistakes.contains(part), "{part} is not in {mistakes}");
        }
        let mistakes = ingest(&["--nats=nats://a:1", "--run=r"]).unwrap_err().to_string();
        assert!(mistakes.contains("--redis is missing"), "{mistakes}");
    }

    #[test]
    fn the_replay_log_is_as_given_then_as_the_run_says_then_as_the_game_asks_for() {
        let texts = |rows: &str| BTreeMap::from([("log_rows".to_owned(), rows.to_owned())]);
        let common = ["--nats=nats://a:1", "--run=r", "--redis=redis://b:2"];
        let order = ingest(&common).unwrap();
        let run = |log| Manifest {
            wire: WIRE_VERSION,
            run: "r".into(),
            game: "kuhn_poker".into(),
            rules: None,
            observation: Vec::new(),
            actions: Vec::new(),
            hidden: Vec::new(),
            width: 8,
            blocks: 1,
            tower: None,
            settings: BTreeMap::new(),
            log,
        };
        let rows = |log: BTreeMap<_, _>, game: &BTreeMap<_, _>| order.log(&run(log), game).unwrap().log_rows;
        assert_eq!(rows(BTreeMap::new(), &BTreeMap::new()), 1_000_000);
        assert_eq!(rows(BTreeMap::new(), &texts("4000")), 4000);
        assert_eq!(rows(texts("3000"), &texts("4000")), 3000);
        let order = ingest(&[&common[..], &["--log-rows=2000"]].concat()).unwrap();
        assert_eq!(order.log(&run(texts("3000")), &texts("4000")).unwrap().log_rows, 2000);
        let unknown = order.log(&run(texts("many")), &BTreeMap::new()).unwrap_err().to_string();
        assert!(unknown.contains("log_rows") && unknown.contains("the run's manifest"), "{unknown}");
    }
}
