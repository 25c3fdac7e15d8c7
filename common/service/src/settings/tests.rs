//! Settings from declaration to mistakes.

use std::path::{Path, PathBuf};

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Optimizer {
    AdamW,
    Sgd,
}

impl Optimizer {
    const NAMES: &[&str] = &["adamw", "sgd"];
}

impl std::str::FromStr for Optimizer {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "adamw" => Ok(Self::AdamW),
            "sgd" => Ok(Self::Sgd),
            _ => Err(()),
        }
    }
}

impl std::fmt::Display for Optimizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

crate::settings! {
    /// Training
    pub(crate) struct Train {
        /// Learning rate
        /// after warm-up.
        learning_rate: f64 = 1e-3, in 1e-7..=1.0, class Learning;
        /// Rows in a batch.
        batch_rows: usize = 256, in 1..=65_536, class Learning;
        /// Who steps.
        optimizer: Optimizer = Optimizer::AdamW, one_of Optimizer::NAMES, class Learning;
        /// Largest norm of a gradient.
        clip_norm: Option<f64> = Some(1.0), in 0.0.., class Learning;
        /// Play and train in turns.
        lockstep: bool = false, class Operational;
    }
}

crate::settings! {
    /// Run
    pub(crate) struct Run {
        /// The game.
        game: String = "battle".into(), class Identity;
        /// Where it lives.
        run_dir: PathBuf = PathBuf::from("runs/new"), class Operational;
        /// Memory for rows.
        window_bytes: ByteSize = ByteSize(1 << 30), class Operational;
    }
}

fn command() -> clap::Command {
    let command = clap::Command::new("learner").arg(clap::Arg::new("other").long("other"));
    with_settings::<Run>(with_settings::<Train>(with_config(command)))
}

fn loader(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Loader {
    let matches = command().try_get_matches_from([&["learner"], flags].concat()).unwrap();
    let mut loader = Loader::new();
    loader.file_content(Path::new("run.toml"), file);
    loader.environment(variables.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())));
    loader.flags(args::given_flags(&matches));
    loader
}

#[test]
fn a_setting_is_the_same_as_flag_variable_and_key_and_the_nearer_source_wins() {
    let file = "learning_rate = 0.1\nbatch_rows = 1_024\noptimizer = \"sgd\"\nlockstep = true\nwindow_bytes = \"2GiB\"";
    let variables =
        [("FOGFALL_LEARNING_RATE", "0.2"), ("FOGFALL_BATCH_ROWS", "512"), ("HOME", "/"), ("FOGFALL_LOG", "x")];
    let mut loader = loader(&["--learning-rate", "0.3", "--other", "x"], &variables, file);
    let train: Train = loader.load();
    let run: Run = loader.load();
    assert_eq!(train.learning_rate, 0.3);
    assert_eq!(train.batch_rows, 512);
    assert_eq!(train.optimizer, Optimizer::Sgd);
    assert_eq!(train.clip_norm, Some(1.0));
    assert!(train.lockstep);
    assert_eq!(run.window_bytes, ByteSize(2 << 30));
    assert!(loader.is_given("optimizer") && !loader.is_given("clip_norm"));
    assert_eq!(loader.finish(), Ok(()));
}

#[test]
fn a_switch_needs_no_value_and_an_option_can_be_unset() {
    let mut loader = loader(&["--lockstep", "--clip-norm", ""], &[], "");
    let train: Train = loader.load();
    assert!(train.lockstep);
    assert_eq!(train.clip_norm, None);
    let mut loader = self::loader(&["--lockstep=false"], &[("FOGFALL_LOCKSTEP", "true")], "");
    assert!(!loader.load::<Train>().lockstep);
}

#[test]
fn all_mistakes_are_reported_together_with_place_value_and_what_is_allowed() {
    let file = "# ours\nbatch_rose = 3\nbatch_rows = 0\n\nrun_dir = [\"a\"]\n";
    let variables = [("FOGFALL_OPTIMISER", "sgd"), ("FOGFALL_OPTIMIZER", "adam")];
    let mut loader = loader(&["--learning-rate", "2", "--window-bytes=much", "--clip-norm", "-1"], &variables, file);
    let train: Train = loader.load();
    let _: Run = loader.load();
    assert_eq!(train, Train::default());
    loader.refuse("batch_rows 256 is more than the window holds");
    let mistakes = loader.finish().expect_err("refused");
    let expected = "\
9 mistakes in the settings:
  run.toml:5: run_dir holds an array; settings are single values
  run.toml:3: batch_rows is \"0\"; allowed is a whole number from 1 to 65536
  environment variable FOGFALL_OPTIMIZER: optimizer is \"adam\"; allowed is one of adamw, sgd
  --clip-norm: clip_norm is \"-1\"; allowed is nothing, or a number from 0
  --learning-rate: learning_rate is \"2\"; allowed is a number from 1e-7 to 1
  --window-bytes: window_bytes is \"much\"; allowed is a size such as 512MiB or 2GiB
  batch_rows 256 is more than the window holds
  run.toml:2: there is no setting batch_rose; did you mean batch_rows?
  environment variable FOGFALL_OPTIMISER: there is no setting optimiser; did you mean optimizer?";
    let mut lines: Vec<_> = expected.lines().collect();
    lines.sort_unstable();
    let text = mistakes.to_string();
    let mut found: Vec<_> = text.lines().collect();
    found.sort_unstable();
    assert_eq!(found, lines);
}

#[test]
fn a_file_that_is_not_toml_or_not_there_is_a_mistake_beside_the_others() {
    let mut loader = loader(&["--learning-rate", "2"], &[], "batch_rows = 3\nlearning rate = 1\n");
    let _: Train = loader.load();
    let text = loader.finish().expect_err("refused").to_string();
    assert!(text.contains("\n  run.toml:2: "), "{text}");
    assert!(text.contains("\n  --learning-rate: "), "{text}");
    let matches = command().get_matches_from(["learner", "--config", "nowhere.toml"]);
    let text = Loader::from_process(&matches, []).finish().expect_err("refused").to_string();
    assert!(text.contains("--config: cannot read nowhere.toml: "), "{text}");
}

#[test]
fn what_is_stored_lies_below_all_other_sources_and_may_know_other_names() {
    let mut loader = loader(&["--batch-rows", "8"], &[], "learning_rate = 0.1");
    let stored = Train { batch_rows: 4, learning_rate: 0.5, optimizer: Optimizer::Sgd, ..Train::default() };
    let mut texts = stored.texts();
    texts.insert("retired".into(), "1".into());
    loader.stored("checkpoint 7", &texts);
    loader.accept::<Run>();
    let train: Train = loader.load();
    assert_eq!(train, Train { batch_rows: 8, learning_rate: 0.1, ..stored });
    assert!(!loader.is_given("optimizer"));
    assert_eq!(loader.finish(), Ok(()));
}

#[test]
fn texts_set_what_they_were_taken_from() {
    let train = Train { learning_rate: 3e-5, batch_rows: 7, clip_norm: None, lockstep: true, ..Train::default() };
    let mut copy = Train::default();
    for (key, text) in train.texts() {
        assert_eq!(copy.set(&key, &text), Ok(()));
    }
    assert_eq!(copy, train);
    assert_eq!(copy.set("nothing", "1"), Err(SetError::Unknown));
}

#[test]
fn help_shows_default_range_and_variable_under_the_groups_title() {
    let help = command().term_width(0).render_long_help().to_string();
    assert!(help.contains("\nTraining:\n"), "{help}");
    let line = "Learning rate after warm-up. [default: 0.001] [a number from 1e-7 to 1] [env: FOGFALL_LEARNING_RATE]";
    assert!(help.contains(line), "{help}");
    assert!(help.contains("--run-dir <VALUE>"), "{help}");
    assert_eq!(Train::keys()[0].class, Class::Learning);
}

#[test]
fn changes_are_told_by_class_and_a_setting_that_was_not_stored_had_its_default() {
    let old = Run::default().texts().into_iter().chain(Train::default().texts()).collect::<BTreeMap<_, _>>();
    let run = Run { game: "kuhn_poker".into(), window_bytes: ByteSize(1), ..Run::default() };
    let train = Train { learning_rate: 0.01, ..Train::default() };
    let new: BTreeMap<_, _> = run.texts().into_iter().chain(train.texts()).collect();
    let keys = || Run::keys().iter().chain(Train::keys());
    let difference = diff(&old, &new, keys());
    let names = |changes: &[Change]| changes.iter().map(|change| change.key).collect::<Vec<_>>();
    assert_eq!(names(&difference.identity), ["game"]);
    assert_eq!(names(&difference.learning), ["learning_rate"]);
    assert_eq!(names(&difference.operational), ["window_bytes"]);
    assert_eq!(difference.learning[0].to_string(), "learning_rate: \"0.001\" before, \"0.01\" now");
    assert!(diff(&BTreeMap::new(), &old, keys()).is_empty());
}
