//! Ending by SIGKILL: whatever the moment, the run goes on from its last checkpoint.

use std::{collections::BTreeMap, fs, path::Path};

use fogfall_game::stream;
use rand::RngExt;
use safetensors::SafeTensors;

use crate::support::{Learner, OFTEN, Run, Saved};

/// Goes on and checks that nothing goes back behind the last checkpoint.
fn goes_on(run: &Run, before: &Saved) -> Learner {
    let seen = run.statuses().len();
    let mut learner = run.resume(&[]);
    learner.until("going on", |_| run.statuses().len() > seen && run.statuses()[seen]["weights_published"] != 0);
    let first = &run.statuses()[seen];
    for (what, least) in [("step", before.step()), ("games", before.games()), ("rows", before.rows())] {
        assert!(first[what].as_u64() >= Some(least), "{what} goes back behind {least}: {first}");
    }
    let version = first["weights_version"].as_str().unwrap();
    let epoch: u64 = version.split('.').next().unwrap().parse().unwrap();
    assert!(epoch > before.epoch(), "{version} after epoch {}", before.epoch());
    learner
}

#[test]
fn a_run_killed_at_random_moments_goes_on_from_its_last_checkpoint_each_time() {
    for seed in [1, 2] {
        let run = Run::kuhn();
        let mut rng = stream(seed, &[]);
        let mut learner = run.start(&[OFTEN]);
        learner.until("begun", |_| run.latest().is_some());
        let mut last = run.saved();
        for _ in 0..4 {
            // Play and training go on at the same time: so much is stored in a blink or in a second.
            let moment = run.log_bytes() + rng.random_range(1..300_000);
            learner.until("a random moment", |_| run.log_bytes() >= moment);
            learner.kill();
            let saved = run.saved();
            assert!((saved.epoch(), saved.step()) >= (last.epoch(), last.step()));
            learner = goes_on(&run, &saved);
            last = saved;
        }
        learner.signal("TERM");
        learner.end().well();
        let saved = run.saved();
        assert!(saved.step() >= last.step() && saved.epoch() > last.epoch());
        // All rows ever stored are counted once, those between a checkpoint and a kill too.
        let log = run.log();
        assert_eq!((log.first, saved.rows(), saved.number("/log_position")), (0, log.end, log.end));
    }
}

#[test]
fn a_run_killed_while_it_writes_a_checkpoint_has_its_last_one() {
    let run = Run::kuhn();
    let learner = run.start(&[OFTEN]);
    let count = || fs::read_dir(run.checkpoints()).map_or(0, Iterator::count);
    let mut learner = Some(learner);
    for _ in 0..3 {
        let mut running = learner.take().unwrap();
        running.until("begun", |_| run.latest().is_some());
        let known = count();
        running.until_at_once("writing a checkpoint", |_| count() != known);
        running.kill();
        learner = Some(goes_on(&run, &run.saved()));
    }
    let learner = learner.take().unwrap();
    learner.signal("TERM");
    learner.end().well();
    let names = fs::read_dir(run.checkpoints()).unwrap().map(|entry| entry.unwrap().file_name());
    let odd: Vec<_> = names.filter(|name| name.to_string_lossy().contains("unfinished")).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[test]
fn a_run_that_ended_before_its_first_checkpoint_says_so_and_may_begin_anew() {
    let run = Run::kuhn();
    fs::create_dir(run.path()).unwrap();
    let obstacle = run.checkpoints();
    fs::write(&obstacle, "").unwrap();
    run.train(&["--steps=5"]).refused(1, &["cannot create run/checkpoints"]);
    fs::remove_file(&obstacle).unwrap();

    run.resume(&["--steps=5"]).end().refused(2, &["run has no checkpoint: begin anew, without --resume"]);
    run.train(&["--steps=5"]).well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (2, 5), "no epoch is used twice");
}

/// Tensors of a checkpoint's trainer by name, all of one length.
fn tensors(checkpoint: &Path) -> BTreeMap<String, Vec<f32>> {
    let bytes = fs::read(checkpoint.join("trainer.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let numbers = |data: &[u8]| data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    file.tensors().into_iter().map(|(name, view)| (name, numbers(view.data()))).collect()
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_kill_takes_nothing_of_optimizer_schedule_average_and_counters_and_counts_no_position_twice() {
    let run = Run::kuhn();
    // While it warms up, the rate counts the steps: step s is made at s millionths.
    let mut learner = run.start(&[OFTEN, "--learning-rate=1", "--warmup-steps=1000000", "--keep-last=100"]);
    learner.until("begun", |_| run.latest().is_some());
    let first = tensors(&run.checkpoints().join("0001.000000000000"));
    for _ in 0..2 {
        let before = run.saved_step() + 300;
        learner.until("some hundred steps", |_| run.saved_step() >= before);
        learner.kill();
        let (old, old_tensors) = (run.saved(), tensors(&run.latest().unwrap()));
        let step = old.step() + 1;
        run.resume(&[&format!("--steps={step}")]).end().well();
        let (new, new_tensors) = (run.saved(), tensors(&run.latest().unwrap()));

        // One step more, and all else as it was.
        let count = |saved: &Saved, what: &str| saved.number(what);
        assert_eq!(
            (new.step(), count(&new, "/trainer/step"), count(&new, "/trainer/optimizer_steps")),
            (step, step, step)
        );
        assert_eq!(count(&new, "/limiter/samples"), count(&old, "/limiter/samples") + 32);
        assert!(count(&new, "/ordinal") > count(&old, "/ordinal") && new.games() >= old.games());
        let rate = run.status()["learning_rate"].as_f64().unwrap();
        assert!((rate - step as f64 * 1e-6).abs() < 1e-9, "{rate} at step {step}");
        // Adam's step is no longer than rate * (1 - 0.9) / sqrt(1 - 0.999) = 3.2 * rate, and the average's shorter.
        for name in ["weights", "average"] {
            let (moved, way) =
                (furthest(&old_tensors[name], &new_tensors[name]), furthest(&old_tensors[name], &first[name]));
            assert!(f64::from(moved) <= 3.2 * rate + 1e-6 && moved < way / 4.0, "{name} moved by {moved} after {way}");
        }
        // The mean square keeps 0.999 of what it was.
        let kept = old_tensors["moment.1"].iter().zip(&new_tensors["moment.1"]).all(|(old, new)| *new >= 0.998 * old);
        assert!(kept && old_tensors["moment.1"].iter().any(|&square| square > 0.0));

        // Stored, followed and counted are the same rows, and each of them once.
        let log = run.log();
        assert_eq!([new.rows(), count(&new, "/log_position")], [log.end; 2]);
        run.assert_each_part_once();
        learner = run.resume(&[OFTEN]);
    }
    let seen = run.statuses().len();
    learner.until("going on", |_| run.statuses().len() > seen);
    learner.signal("TERM");
    learner.end().well();
    run.assert_each_part_once();
}
