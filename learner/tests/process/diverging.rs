//! Settings under which learning goes wrong: numbers without bound end a run, and spoil no checkpoint.

use crate::support::Run;

/// Plain steps, far too large, and nothing that holds them back.
const WILD: &[&str] =
    &["--optimizer=sgd", "--learning-rate=10", "--clip-norm=1000000000", "--warmup-steps=0", "--steps=5000"];

#[test]
fn training_that_diverges_ends_with_the_reason_and_the_last_good_checkpoint_can_be_gone_on_from() {
    let run = Run::kuhn();
    let good = run.train(&["--steps=20"]).well();
    assert!(!good.out.contains("left out"));

    let wild = [WILD, &["--change"]].concat();
    let ended = run.resume(&wild).end().refused(
        1,
        &[
            "training has diverged at step ",
            "the last 100 batches gave no finite loss or gradient",
            "the last good checkpoint is run/checkpoints/0001.000000000020: go on from it with --change",
        ],
    );
    assert!(ended.out.contains("left out     100 train steps not finite"), "{}", ended.out);
    assert_eq!(run.saved_step(), 20);

    run.resume(&["--steps=40"]).end().well();
    let saved = run.saved();
    assert_eq!((saved.step(), saved.number("/trainer/skipped")), (40, 0));
    assert!(run.status()["loss"]["total"].as_f64().unwrap() < 1000.0);
}

#[test]
fn steps_held_back_by_clipping_stay_finite_however_large() {
    let run = Run::kuhn();
    run.train(&["--optimizer=sgd", "--learning-rate=10", "--warmup-steps=0", "--steps=200"]).well();
    let status = run.status();
    assert_eq!((status["step"].as_u64(), status["skipped_steps"].as_u64()), (Some(200), Some(0)));
    assert!(status["loss"]["total"].as_f64().unwrap().is_finite());
    run.resume(&["--steps=210"]).end().well();
}
