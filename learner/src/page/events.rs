//! `/events`: what changes, as server-sent events, for as long as somebody listens.
//!
//! | event | what |
//! |---|---|
//! | `status` | the status, at every beat and once more when the run is over |
//! | `crew` | who plays, if that has changed |
//! | `history` | the newest points of the history, if there are any since the last beat |
//! | `games` | the titles of recorded games, if they have changed |
//!
//! A listener looks when it can take something, so nothing is kept for a slow one: it hears of fewer moments, the newest each
//! time. Where nobody listens, nothing is done.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::stream;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Interval, MissedTickBehavior, interval},
};

use super::{LISTENERS, Page, columns, crew::Heard, lock};

/// A browser that lost its connection waits so long before it comes again.
const RETRY: std::time::Duration = std::time::Duration::from_secs(2);

/// The route.
pub(super) async fn listen(State(page): State<Arc<Page>>) -> Response {
    let Ok(place) = Arc::clone(&page.places).try_acquire_owned() else {
        let text = format!("{LISTENERS} browsers listen already\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let listener = Listener::new(page, place);
    let mut response = Sse::new(stream::unfold(listener, Listener::next)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// One who listens.
struct Listener {
    page: Arc<Page>,
    _place: OwnedSemaphorePermit,
    beats: Interval,
    /// What is still to be told of this moment.
    telling: VecDeque<Event>,
    /// What was told: the newest change of the history and of the games, and who plays.
    history: u64,
    games: Option<u64>,
    crew: Heard,
    over: bool,
}

impl Listener {
    fn new(page: Arc<Page>, place: OwnedSemaphorePermit) -> Self {
        let mut beats = interval(page.pace);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let history = lock(&page.past).changes;
        let telling = VecDeque::from([Event::default().retry(RETRY).comment("listening")]);
        Self { page, _place: place, beats, telling, history, games: None, crew: Heard::default(), over: false }
    }

    /// The next event; none once the run is over.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(event) = self.telling.pop_front() {
                return Some((Ok(event), self));
            }
            if self.over {
                return None;
            }
            tokio::select! {
                _ = self.beats.tick() => {}
                () = self.page.over.requested() => self.over = true,
            }
            self.look();
        }
    }

    /// Notes what there is to tell of this moment.
    fn look(&mut self) {
        let status = self.page.status();
        self.tell("status", &status);
        let crew = self.page.crew.now(&status);
        if crew != self.crew {
            self.tell("crew", &crew);
            self.crew = crew;
        }
        let (changes, newest) = {
            let past = lock(&self.page.past);
            (past.changes, (past.changes != self.history).then(|| columns::newest(&past.history)))
        };
        if let Some(newest) = newest {
            self.tell("history", &newest);
            self.history = changes;
        }
        let changes = self.page.shelf.changes();
        if self.games != Some(changes) {
            let (titles, changes) = self.page.shelf.titles();
            self.tell("games", &titles);
            self.games = Some(changes);
        }
    }

    fn tell(&mut self, name: &str, what: &impl serde::Serialize) {
        match serde_json::to_string(what) {
            Ok(text) => self.telling.push_back(Event::default().event(name).data(text)),
            Err(error) => tracing::error!(name, %error, "an event has no form as JSON"),
        }
    }
}
