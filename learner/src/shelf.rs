//! The shelf: the latest games that were recorded to look at, in memory and in the run's directory. It holds so many and no
//! more; the oldest leave. Nothing in a run depends on it.

use std::{
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use fogfall_proto::Version;
use fogfall_selfplay::RecordedGame;
use serde::{Deserialize, Serialize};

use crate::run_dir::replace;

/// A game longer than this is not kept: no browser would be glad of it.
const MAX_BYTES: usize = 2 << 20;

/// What there is to say of a game on the shelf without opening it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Title {
    /// Its number in the run, from 1 on.
    pub id: u64,
    /// The weights that played it, as `epoch.step`.
    pub version: String,
    /// Their train step.
    pub step: u64,
    /// When it was played, in seconds since 1970.
    pub played_at_s: u64,
    /// Decisions.
    pub decisions: u64,
    /// Seat 0's payoff in the game's own units; none if the game was cut at the length limit.
    pub payoff: Option<f32>,
    /// `[seat]` the kind of character, for games that have several.
    pub characters: [Option<String>; 2],
}

/// A file of the shelf.
#[derive(Serialize)]
struct Kept<'a> {
    title: &'a Title,
    #[serde(flatten)]
    game: &'a RecordedGame,
}

/// What is read of a file: its title.
#[derive(Deserialize)]
struct Cover {
    title: Title,
}

/// The shelf of a run.
pub struct Shelf {
    dir: PathBuf,
    keep: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// Oldest first: titles, and games as JSON.
    games: VecDeque<(Title, Arc<str>)>,
    /// How often they have changed.
    changes: u64,
    /// The largest number given so far.
    last: u64,
}

impl Shelf {
    /// The shelf in `dir`, with those of its games that can be read. It keeps `keep` games; with 0 it leaves the directory
    /// alone.
    pub fn open(dir: PathBuf, keep: usize) -> Self {
        let mut held = Held::default();
        if keep > 0 {
            for id in numbers(&dir) {
                held.last = held.last.max(id);
                let text = fs::read_to_string(file(&dir, id)).unwrap_or_default();
                match serde_json::from_str::<Cover>(&text) {
                    Ok(cover) => held.games.push_back((Title { id, ..cover.title }, text.into())),
                    Err(error) => tracing::warn!(id, %error, "a recorded game cannot be read and is left"),
                }
            }
        }
        let shelf = Self { dir, keep, held: Mutex::new(held) };
        shelf.clear_away();
        shelf
    }

    /// True if it keeps any games.
    pub fn keeps(&self) -> bool {
        self.keep > 0
    }

    /// Puts a game there, and takes the oldest away if there are too many.
    ///
    /// # Errors
    /// If it is too long, or cannot be written; then it is on the shelf until the process ends.
    pub fn put(&self, game: &RecordedGame, version: Version) -> anyhow::Result<()> {
        // Nobody who looks waits for the disk: the lock is never held over it.
        let id = self.next_number();
        let played = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let title = Title {
            id,
            version: version.to_string(),
            step: version.step,
            played_at_s: played.as_secs(),
            decisions: game.moves.len() as u64,
            payoff: game.payoff,
            characters: game.characters.clone(),
        };
        let text = serde_json::to_string(&Kept { title: &title, game }).context("a game has no form as JSON")?;
        anyhow::ensure!(text.len() <= MAX_BYTES, "a game of {} bytes is too long to be kept", text.len());
        let written = fs::create_dir_all(&self.dir)
            .with_context(|| format!("cannot create {}", self.dir.display()))
            .and_then(|()| replace(&file(&self.dir, title.id), text.as_bytes()));
        let mut held = self.lock();
        held.changes += 1;
        held.games.push_back((title, text.into()));
        drop(held);
        self.clear_away();
        written
    }

    fn next_number(&self) -> u64 {
        let mut held = self.lock();
        held.last += 1;
        held.last
    }

    /// Takes the oldest games away if there are too many.
    fn clear_away(&self) {
        let mut held = self.lock();
        let surplus = if self.keep > 0 { held.games.len().saturating_sub(self.keep) } else { 0 };
        let old: Vec<_> = held.games.drain(..surplus).collect();
        drop(held);
        for (title, _) in old {
            let path = file(&self.dir, title.id);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "an old game cannot be removed");
                }
                _ => {}
            }
        }
    }

    /// The titles, newest first, and how often they have changed.
    pub fn titles(&self) -> (Vec<Title>, u64) {
        let held = self.lock();
        (held.games.iter().rev().map(|(title, _)| title.clone()).collect(), held.changes)
    }

    /// How often the games have changed.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// A game as JSON.
    pub fn game(&self, id: u64) -> Option<Arc<str>> {
        self.lock().games.iter().find(|(title, _)| title.id == id).map(|(_, text)| Arc::clone(text))
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file(dir: &Path, id: u64) -> PathBuf {
    dir.join(format!("{id:06}.json"))
}

/// Numbers of the games in a directory, ascending.
fn numbers(dir: &Path) -> Vec<u64> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let number = |name: String| name.strip_suffix(".json")?.parse().ok();
    let mut numbers: Vec<u64> = entries.filter_map(|entry| number(entry.file_name().into_string().ok()?)).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(seed: u64) -> RecordedGame {
        RecordedGame { game: "kuhn_poker".into(), seed, payoff: Some(-1.0), ..RecordedGame::default() }
    }

    fn ids(shelf: &Shelf) -> Vec<u64> {
        shelf.titles().0.iter().map(|title| title.id).collect()
    }

    #[test]
    fn the_oldest_games_leave_and_the_others_survive_a_restart() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("games");
        let shelf = Shelf::open(dir.clone(), 3);
        for seed in 1..=5 {
            shelf.put(&game(seed), Version { epoch: 2, step: 10 * seed }).unwrap();
        }
        assert_eq!((ids(&shelf), shelf.changes()), (vec![5, 4, 3], 5));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3);
        assert!(shelf.game(2).is_none());
        let before = shelf.titles().0;
        assert_eq!((before[0].version.as_str(), before[0].step, before[0].payoff), ("2.50", 50, Some(-1.0)));
        drop(shelf);

        let shelf = Shelf::open(dir, 3);
        assert_eq!(shelf.titles().0, before);
        let back: RecordedGame = serde_json::from_str(&shelf.game(4).unwrap()).unwrap();
        assert_eq!(back, game(4));
        shelf.put(&game(6), Version::default()).unwrap();
        assert_eq!(ids(&shelf), [6, 5, 4], "numbers go on");
    }

    #[test]
    fn what_is_no_game_is_left_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("000007.json"), "{\"title\":").unwrap();
        fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        let shelf = Shelf::open(dir.path().to_owned(), 2);
        assert!(ids(&shelf).is_empty());
        shelf.put(&game(1), Version::default()).unwrap();
        assert_eq!(ids(&shelf), [8], "no number is given twice");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_shelf_that_keeps_nothing_touches_nothing() {
        let dir = tempfile::tempdir().unwrap();
        Shelf::open(dir.path().to_owned(), 3).put(&game(1), Version::default()).unwrap();
        let shelf = Shelf::open(dir.path().to_owned(), 0);
        assert!(!shelf.keeps() && ids(&shelf).is_empty());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_game_that_cannot_be_written_is_still_there_to_look_at() {
        let dir = tempfile::tempdir().unwrap();
        let blocked = dir.path().join("games");
        fs::write(&blocked, "a file where a directory should be").unwrap();
        let shelf = Shelf::open(blocked, 3);
        assert!(shelf.put(&game(1), Version::default()).unwrap_err().to_string().contains("cannot create"));
        assert_eq!(ids(&shelf), [1]);
    }
}
