//! The page: a run as it looks in a browser, live. The thread of the run leaves what there is to see here; routes read it on
//! the admin thread and hold nobody up, however slow a browser is.
//!
//! Everything is in the binary: nothing is built at run time and nothing comes from elsewhere. The page only shows; no route
//! changes anything.
//!
//! | route | what |
//! |---|---|
//! | `/`, `/assets/...` | the page itself |
//! | `/events` | what changes, as server-sent events ([`events`]) |
//! | `/history` | the run so far, as columns of numbers ([`columns`]) |
//! | `/settings` | all settings, and which are not default |
//! | `/games`, `/games/ID` | recorded games ([`crate::shelf`]) |
//! | `/weights.safetensors` | the newest weights, to take the character along |

mod assets;
mod columns;
mod crew;
mod events;
mod facts;

#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::map_response,
    response::{IntoResponse, Response},
    routing::get,
};
use fogfall_service::shutdown::Stop;
use serde_json::Value;
use tokio::sync::Semaphore;

pub use self::crew::Crew;
use crate::{cli::Order, run_dir::RunDir, shelf::Shelf, show::History, status::Status};

/// Most browsers that listen at a time.
const LISTENERS: usize = 32;
/// How often a listener is told how the run stands.
const PACE: Duration = Duration::from_secs(1);

/// What a browser may do with any answer: use what comes from here and nothing else.
const ANSWER_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

/// What there is to see.
pub struct Page {
    latest: Mutex<Status>,
    past: Mutex<Past>,
    /// As JSON; they do not change.
    settings: String,
    shelf: Arc<Shelf>,
    weights: Arc<Download>,
    crew: Crew,
    /// A place for each listener.
    places: Arc<Semaphore>,
    pace: Duration,
    over: Stop,
}

/// What was.
#[derive(Default)]
struct Past {
    history: History,
    /// How often it has been added to.
    changes: u64,
}

impl Page {
    /// The page of a run that was like `earlier` before this start.
    pub fn new<'a>(
        order: &Order,
        dir: &RunDir,
        shelf: &Arc<Shelf>,
        earlier: impl IntoIterator<Item = &'a Status>,
    ) -> Self {
        Self::paced(facts::settings(order).to_string(), shelf, dir.weights(), earlier, PACE)
    }

    fn paced<'a>(
        settings: String,
        shelf: &Arc<Shelf>,
        weights: PathBuf,
        earlier: impl IntoIterator<Item = &'a Status>,
        pace: Duration,
    ) -> Self {
        Self {
            latest: Mutex::default(),
            past: Mutex::new(Past { history: History::of(earlier), changes: 0 }),
            settings,
            shelf: Arc::clone(shelf),
            weights: Arc::new(Download { path: weights, newest: Mutex::default() }),
            crew: Crew::default(),
            places: Arc::new(Semaphore::new(LISTENERS)),
            pace,
            over: Stop::new(),
        }
    }

    /// The newest status.
    pub fn status(&self) -> Status {
        lock(&self.latest).clone()
    }

    /// Takes in how the run stands now.
    pub fn show(&self, status: &Status) {
        lock(&self.latest).clone_from(status);
    }

    /// Takes in a status that belongs to the history.
    pub fn remember(&self, status: &Status) {
        let mut past = lock(&self.past);
        past.history.push(status);
        past.changes += 1;
    }

    /// Who plays, once that is known.
    pub fn crew(&self) -> &Crew {
        &self.crew
    }

    /// Tells all who listen that the run is over, with the last status, and lets them go.
    pub fn end(&self) {
        self.over.request("the run is over");
    }

    /// The routes.
    pub fn routes(self: &Arc<Self>) -> Router {
        let routes = Router::new()
            .route("/events", get(events::listen))
            .route("/history", get(async |State(page): State<Arc<Self>>| json(page.history())))
            .route("/settings", get(async |State(page): State<Arc<Self>>| json(page.settings.clone())))
            .route("/games", get(async |State(page): State<Arc<Self>>| json(page.games())))
            .route("/games/{id}", get(show_game))
            .route("/weights.safetensors", get(show_weights))
            .with_state(Arc::clone(self));
        routes.merge(assets::routes()).layer(map_response(with_headers))
    }

    /// `/history`.
    fn history(&self) -> String {
        columns::history(&lock(&self.past).history).to_string()
    }

    /// `/games`: titles, newest first.
    fn games(&self) -> String {
        serde_json::to_value(self.shelf.titles().0).unwrap_or(Value::Null).to_string()
    }
}

async fn with_headers(mut response: Response) -> Response {
    response.headers_mut().extend(ANSWER_HEADERS);
    response
}

/// `/games/ID`.
async fn show_game(State(page): State<Arc<Page>>, Path(id): Path<u64>) -> Response {
    match page.shelf.game(id) {
        Some(game) => json(game.to_string()),
        None => (StatusCode::NOT_FOUND, "there is no such game, or not any more\n").into_response(),
    }
}

/// A file to download. All who download it share one copy in memory.
struct Download {
    path: PathBuf,
    /// As it was when it was last asked for, and when it was written.
    newest: Mutex<Option<(SystemTime, Bytes)>>,
}

impl Download {
    /// The file as it is now. It blocks.
    fn read(&self) -> std::io::Result<Bytes> {
        let written = std::fs::metadata(&self.path)?.modified()?;
        let mut newest = lock(&self.newest);
        match &*newest {
            Some((at, bytes)) if *at == written => Ok(bytes.clone()),
            _ => {
                let bytes = Bytes::from(std::fs::read(&self.path)?);
                *newest = Some((written, bytes.clone()));
                Ok(bytes)
            }
        }
    }
}

/// `/weights.safetensors`.
async fn show_weights(State(page): State<Arc<Page>>) -> Response {
    let weights = Arc::clone(&page.weights);
    let read = tokio::task::spawn_blocking(move || weights.read()).await;
    match read {
        Ok(Ok(bytes)) => {
            let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
            (headers, bytes).into_response()
        }
        _ => (StatusCode::NOT_FOUND, "there are no weights yet\n").into_response(),
    }
}

/// An answer that is right now and perhaps not later.
fn json(text: String) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, text).into_response()
}

/// What is guarded stays whole even if a holder panicked: it is plain figures.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
