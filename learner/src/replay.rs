//! The replay log of a run, and the window over its tail.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, bail};
use fogfall_game::GameInfo;
use fogfall_pipeline::Intake;
use fogfall_proto::{MAX_PART_ROW_BYTES, RowLayout};
use fogfall_replay::{FileLog, FileLogSettings, LimiterSettings, ReplayError, ReplayLog, SampleToInsert, Window};

use crate::{
    batch::PositionWeight,
    beginning::Beginning,
    board::Board,
    cli::{Flags, Order},
    patience::{Patience, STOPPED},
    run_dir::RunDir,
};

/// What is done, for people.
const READING: &str = "reading rows from the replay log";
/// Bytes read from the log at a time when the window is filled.
const FILL_BYTES: usize = 16 << 20;

/// Most decisions, and so rows, of a game.
pub fn longest_game(info: &GameInfo, flags: &Flags) -> usize {
    match flags.play.max_decisions {
        0 => info.max_decisions,
        cut => info.max_decisions.min(cut),
    }
    .max(1)
}

fn limiter_settings(info: &GameInfo, flags: &Flags) -> LimiterSettings {
    let mut settings = LimiterSettings {
        samples_per_insert: flags.replay.replay_ratio,
        min_size_to_sample: flags.replay.min_rows,
        error_buffer: 0.0,
        largest_insert: longest_game(info, flags) as u64,
        largest_sample: flags.train.batch_rows as u64,
        capacity: flags.replay.window_rows as u64,
    };
    // Twice the least that cannot come to a standstill: both sides run freely for a moment.
    settings.error_buffer = 2.0 * settings.least_error_buffer();
    settings
}

fn log_settings(dir: PathBuf, run: String, layout: RowLayout, flags: &Flags) -> FileLogSettings {
    FileLogSettings {
        dir,
        run,
        row_bytes: layout.row_bytes(),
        capacity_rows: flags.log.log_rows,
        capacity_bytes: flags.log.log_bytes.0,
    }
}

/// What of the replay settings does not fit together or does not fit the game, one text each.
pub fn misfits(info: &GameInfo, flags: &Flags) -> Vec<String> {
    let replay = &flags.replay;
    let layout = RowLayout::new(info.observation_len(), info.num_actions(), info.hidden.len());
    let mut found = Vec::new();
    if layout.row_bytes() > MAX_PART_ROW_BYTES {
        let (game, row) = (&info.name, layout.row_bytes());
        found.push(format!("a row of {game} takes {row} bytes: more than {MAX_PART_ROW_BYTES} fit no message"));
    }
    if replay.min_rows > replay.window_rows as u64 {
        let (min, most) = (replay.min_rows, replay.window_rows);
        found.push(format!("min_rows is {min}, but the window holds only window_rows = {most}: training never begins"));
    }
    if let Err(error) = Window::new(layout, replay.window_rows, replay.window_bytes.0, 0) {
        found.push(format!("window_rows and window_bytes: {error}"));
    }
    let (log, longest) = (log_settings(PathBuf::new(), String::new(), layout, flags), longest_game(info, flags));
    if let Err(error) = log.check() {
        found.push(format!("log_rows and log_bytes: {error}"));
    } else if !log.takes(longest as u64) {
        let (rows, bytes, row) = (flags.log.log_rows, flags.log.log_bytes, layout.row_bytes());
        found.push(format!(
            "log_rows is {rows} and log_bytes {} bytes, too small for games of up to {longest} rows of {row} bytes: each \
             must fit an eighth of the log",
            bytes.0
        ));
    }
    found.extend(flags.search.mistake());
    if flags.lockstep.lockstep && flags.search.tree == "generation" {
        found.push("tree = generation does not go with lockstep: no checkpoint holds the trees".to_owned());
    }
    // Half of the log is left for what is stored between two checkpoints.
    if flags.lockstep.lockstep && flags.log.log_rows < 2 * replay.window_rows as u64 {
        found.push(format!(
            "lockstep fills the window anew from the log: log_rows is {}, and must be at least twice window_rows = {}",
            flags.log.log_rows, replay.window_rows
        ));
    }
    found
}

/// A run's log and window.
pub struct Replay {
    /// The log.
    pub log: Arc<dyn ReplayLog>,
    /// The window, filled, and the limiter.
    pub intake: Arc<Intake>,
    /// Rows stored in the log since the run began, up to the window's end.
    pub rows_stored: u64,
}

/// Opens the log and fills the window with its tail.
///
/// # Errors
/// If the log is another run's, in use, or cannot be read.
pub fn open(
    info: &GameInfo,
    order: &Order,
    beginning: &Beginning,
    dir: &RunDir,
    board: &Board,
    patience: &Patience<'_>,
) -> anyhow::Result<Replay> {
    let flags = &order.flags;
    let mut limiter = SampleToInsert::restore(limiter_settings(info, flags), beginning.limiter)
        .context("min_rows, window_rows and replay_ratio do not fit together")?;
    let layout = beginning.manifest.row_layout();
    let log = match order.place.cluster() {
        Some(cluster) => cluster.log(flags, &beginning.manifest, patience)?,
        None => open_files(
            log_settings(dir.replay(), beginning.manifest.run.clone(), layout, flags),
            flags,
            beginning,
            board,
        )?,
    };
    let bounds = patience.persist(READING, ReplayError::may_pass, async || log.bounds().await)?.context(STOPPED)?;
    let capacity = flags.replay.window_rows;
    let start = bounds.first.max(bounds.end.saturating_sub(capacity as u64));
    let mut window = Window::new(layout, capacity, flags.replay.window_bytes.0, start)?;
    if flags.train.position_weight.parse::<PositionWeight>()? != PositionWeight::Linear {
        window = window.counting_states();
    }
    loop {
        let next = window.next();
        let read = patience.persist(READING, ReplayError::may_pass, async || log.read(next, FILL_BYTES).await);
        match read {
            Ok(None) => bail!(STOPPED),
            Ok(Some(rows)) if rows.is_empty() => break,
            Ok(Some(rows)) => {
                window.follow(&rows)?;
            }
            // Others store meanwhile.
            Err(ReplayError::Evicted { first, .. }) => window.skip_to(first),
            Err(error) => return Err(error.into()),
        }
    }
    let (held, then) = (window.len() as u64, limiter.size());
    let exact = flags.lockstep.lockstep && held == then && beginning.log_position.is_none_or(|at| at == bounds.end);
    if flags.lockstep.lockstep && !exact {
        board.notice(format!(
            "the window cannot be filled as the checkpoint left it ({then} rows then, {held} now): the steps will not be \
             those of an unbroken run"
        ));
    }
    if !exact {
        limiter.rebase(held);
    }
    // Others may have stored more since the bounds were asked for.
    let rows_stored = window.next();
    Ok(Replay { log, intake: Arc::new(Intake::new(window, limiter)), rows_stored })
}

/// Drops what was stored after the checkpoint: in lockstep its games are played again.
fn open_files(
    settings: FileLogSettings,
    flags: &Flags,
    beginning: &Beginning,
    board: &Board,
) -> anyhow::Result<Arc<dyn ReplayLog>> {
    let (log, recovery) = FileLog::open(settings)?;
    if recovery.torn_bytes > 0 || recovery.damaged_rows > 0 {
        board.notice(format!(
            "the replay log was cut off: {} bytes of an unfinished game and {} damaged rows were dropped",
            recovery.torn_bytes, recovery.damaged_rows
        ));
    }
    if flags.lockstep.lockstep {
        rewind(&log, beginning, board)?;
    }
    Ok(Arc::new(log))
}

fn rewind(log: &FileLog, beginning: &Beginning, board: &Board) -> anyhow::Result<()> {
    if let Some(position) = beginning.log_position {
        let dropped = log.rewind(position)?;
        if dropped > 0 {
            board.notice(format!("{dropped} rows were stored after the checkpoint: their games are played again"));
        }
    }
    Ok(())
}
