//! What a checkpoint says of its run, and what may be different when the run goes on: identity never, learning
//! settings when asked for, operational ones freely.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use fogfall_game::GameInfo;
use fogfall_proto::{Manifest, NamedLen, Version, WIRE_VERSION};
use fogfall_replay::LimiterCounts;
use fogfall_service::settings::{Key, Settings, diff};
use serde::{Deserialize, Serialize};

use crate::{cli::Flags, run_dir::RunDir, train::TrainerState};

/// What was done over all starts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Games finished.
    pub games: u64,
    /// Games cut at the length limit.
    pub truncated: u64,
    /// Rows stored in the replay log.
    pub rows: u64,
    /// Evaluations asked for.
    pub evaluations: u64,
    /// Time that learners of this run were up.
    pub elapsed_s: f64,
}

/// Where the rounds of a run in lockstep stand. A run that is not carries it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundState {
    /// Games stored in lockstep: the number of the next one.
    pub games: u64,
    /// Games of the round in progress that are still to be played.
    pub games_left: u64,
    /// Train steps of it that are still to be made.
    pub steps_left: u64,
}

/// What a checkpoint says besides tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// What the run is.
    pub manifest: Manifest,
    /// All settings, as text.
    pub settings: BTreeMap<String, String>,
    /// The weights' version.
    pub version: Version,
    /// Publications so far.
    pub ordinal: u64,
    /// The limiter's counters.
    pub limiter: LimiterCounts,
    /// Position in the replay log up to which the window had read.
    pub log_position: u64,
    /// Where the rounds of lockstep stood.
    #[serde(default)]
    pub rounds: RoundState,
    /// What was done so far.
    pub totals: Totals,
    /// The trainer's part besides tensors.
    pub trainer: TrainerState,
}

/// The manifest of a run of this game.
pub fn manifest(run: String, info: &GameInfo, flags: &Flags) -> Manifest {
    let named = |layout: &fogfall_game::Layout| {
        layout.fields().iter().map(|f| NamedLen { name: f.name.clone(), len: f.len }).collect()
    };
    Manifest {
        wire: WIRE_VERSION,
        run,
        game: info.name.clone(),
        rules: info.rules.clone(),
        observation: named(&info.observation),
        actions: info.actions.clone(),
        hidden: named(&info.hidden),
        width: flags.network.width,
        blocks: flags.network.blocks,
        tower: flags.network.tower(),
        settings: flags.play_texts(),
        log: flags.log.texts(),
    }
}

/// Checks what differs between a stored run and the one asked for. Returns the learning settings that change, as text.
///
/// # Errors
/// If the run's identity differs: all differences are listed; or if learning settings differ and `change` was not
/// asked for.
pub fn check<'a>(
    stored: &RunState,
    manifest: &Manifest,
    settings: &BTreeMap<String, String>,
    keys: impl IntoIterator<Item = &'a Key>,
    change: bool,
) -> anyhow::Result<Vec<String>> {
    let difference = diff(&stored.settings, settings, keys);
    let mut identity = identity_differences(&stored.manifest, manifest);
    identity.extend(difference.identity.iter().map(ToString::to_string));
    if !identity.is_empty() {
        bail!(
            "this would be another run, not a continuation:\n  {}\nstart a new run from the old weights with --init-from",
            identity.join("\n  ")
        );
    }
    let learning: Vec<_> = difference.learning.iter().map(ToString::to_string).collect();
    if !learning.is_empty() && !change {
        bail!(
            "learning settings differ from the checkpoint:\n  {}\nadd --change to go on with the new ones",
            learning.join("\n  ")
        );
    }
    Ok(learning)
}

fn identity_differences(old: &Manifest, new: &Manifest) -> Vec<String> {
    let mut found = Vec::new();
    if old.game != new.game {
        found.push(format!("game: \"{}\" before, \"{}\" now", old.game, new.game));
    }
    if old.rules != new.rules {
        let lines = |rules: &Option<String>| rules.as_deref().unwrap_or_default().lines().count();
        let first = first_different_line(old.rules.as_deref(), new.rules.as_deref());
        found.push(format!(
            "rules: {} lines before, {} now, first difference in line {first}",
            lines(&old.rules),
            lines(&new.rules)
        ));
    }
    for (what, old, new) in [
        ("observation", names(&old.observation), names(&new.observation)),
        ("actions", old.actions.clone(), new.actions.clone()),
        ("hidden label", names(&old.hidden), names(&new.hidden)),
    ] {
        let gone: Vec<_> = old.iter().filter(|n| !new.contains(n)).cloned().collect();
        let added: Vec<_> = new.iter().filter(|n| !old.contains(n)).cloned().collect();
        if !gone.is_empty() || !added.is_empty() {
            found.push(format!("{what}: without [{}], with new [{}]", gone.join(", "), added.join(", ")));
        } else if old != new {
            found.push(format!("{what}: another order"));
        }
    }
    found
}

fn names(fields: &[NamedLen]) -> Vec<String> {
    fields.iter().map(|f| format!("{} ({})", f.name, f.len)).collect()
}

fn first_different_line(old: Option<&str>, new: Option<&str>) -> usize {
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    1 + old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count()
}

/// What `--resume` says to go on from the latest checkpoint, or to begin anew where there is none: one command line for every
/// start of a run.
pub const AUTO: &str = "auto";

/// Where `--resume` points: the run's directory, and the checkpoint if not its latest.
///
/// # Errors
/// If it points nowhere.
pub fn locate(resume: &str, run_dir: Option<&Path>) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    if ["latest", AUTO].contains(&resume) {
        let dir = run_dir.with_context(|| format!("--resume {resume} needs --run-dir DIR to say which run"))?;
        return Ok((dir.to_owned(), None));
    }
    let path = Path::new(resume);
    if RunDir::checkpoints_in(path).is_dir() {
        return Ok((path.to_owned(), None));
    }
    if !path.join("state.json").is_file() {
        bail!("--resume {resume}: none of 'latest', 'auto', a run directory and a checkpoint directory");
    }
    let parent = path.canonicalize().ok().and_then(|p| Some(p.parent()?.parent()?.to_owned()));
    let dir = run_dir.map(Path::to_owned).or(parent).context("the checkpoint lies in no run directory")?;
    Ok((dir, Some(path.to_owned())))
}

#[cfg(test)]
mod tests {
    use fogfall_game::Game;
    use fogfall_games::KuhnPoker;
    use fogfall_net::Shape;

    use super::*;
    use crate::settings::{NetworkFlags, TrainFlags};

    fn state() -> RunState {
        RunState {
            manifest: Manifest {
                wire: WIRE_VERSION,
                run: "r".into(),
                game: "g".into(),
                rules: Some("one\ntwo\n".into()),
                observation: vec![NamedLen { name: "health".into(), len: 2 }],
                actions: vec!["hit".into()],
                hidden: vec![],
                width: 8,
                blocks: 1,
                tower: None,
                settings: BTreeMap::new(),
                log: BTreeMap::new(),
            },
            settings: TrainFlags::default().texts().into_iter().chain(NetworkFlags::default().texts()).collect(),
            version: Version::default(),
            ordinal: 0,
            limiter: LimiterCounts::default(),
            log_position: 0,
            rounds: RoundState::default(),
            totals: Totals::default(),
            trainer: TrainerState {
                shape: Shape::new(KuhnPoker::new().info(), 8, 1),
                step: 0,
                skipped: 0,
                optimizer_steps: 0,
            },
        }
    }

    fn verdict(manifest: &Manifest, settings: &BTreeMap<String, String>, change: bool) -> Result<Vec<String>, String> {
        let keys = || TrainFlags::keys().iter().chain(NetworkFlags::keys());
        check(&state(), manifest, settings, keys(), change).map_err(|e| e.to_string())
    }

    #[test]
    fn the_same_run_goes_on() {
        assert_eq!(verdict(&state().manifest, &state().settings, false), Ok(vec![]));
    }

    #[test]
    fn every_difference_of_identity_is_listed() {
        let manifest = Manifest {
            game: "h".into(),
            rules: Some("one\n2\n3".into()),
            observation: vec![NamedLen { name: "health".into(), len: 3 }],
            actions: vec!["hit".into(), "heal".into()],
            ..state().manifest
        };
        let mut settings = state().settings;
        settings.insert("width".into(), "256".into());
        let text = verdict(&manifest, &settings, true).unwrap_err();
        for part in [
            "game: \"g\" before, \"h\" now",
            "rules: 2 lines before, 3 now, first difference in line 2",
            "observation: without [health (2)], with new [health (3)]",
            "actions: without [], with new [heal]",
            "width: \"128\" before, \"256\" now",
            "--init-from",
        ] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn learning_settings_change_only_when_asked_for() {
        let mut settings = state().settings;
        settings.insert("learning_rate".into(), "0.5".into());
        let text = verdict(&state().manifest, &settings, false).unwrap_err();
        assert!(text.contains("learning_rate: \"0.001\" before, \"0.5\" now") && text.contains("--change"), "{text}");
        let changed = verdict(&state().manifest, &settings, true).unwrap();
        assert_eq!(changed, ["learning_rate: \"0.001\" before, \"0.5\" now"]);
    }

    #[test]
    fn resume_points_at_latest_a_run_or_a_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("battle-1");
        let checkpoint = run.join("checkpoints/0001.000000000005");
        std::fs::create_dir_all(&checkpoint).unwrap();
        assert!(locate("latest", None).unwrap_err().to_string().contains("--run-dir"));
        assert_eq!(locate("latest", Some(&run)).unwrap(), (run.clone(), None));
        assert_eq!(locate(run.to_str().unwrap(), None).unwrap(), (run.clone(), None));
        assert!(locate(checkpoint.to_str().unwrap(), None).is_err(), "a directory without state is no checkpoint");
        std::fs::write(checkpoint.join("state.json"), "{}").unwrap();
        let (found, which) = locate(checkpoint.to_str().unwrap(), None).unwrap();
        assert_eq!((found, which), (run.canonicalize().unwrap(), Some(checkpoint)));
    }
}
