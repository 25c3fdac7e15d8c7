//! The routes over real sockets.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
};

use axum::http::StatusCode;
use fogfall_proto::Version;
use fogfall_selfplay::RecordedGame;
use fogfall_service::{
    admin::{Admin, AdminServer, Vitals, serve},
    metrics::Metrics,
};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::status::Phase;

/// A page that is served. The moment between two statuses is short, so that no test waits.
struct Served {
    page: Arc<Page>,
    shelf: Arc<Shelf>,
    server: AdminServer,
    dir: TempDir,
}

fn served_after(earlier: &[Status]) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Shelf::open(dir.path().to_owned(), 2));
    let settings = json!({ "groups": [] }).to_string();
    let weights = dir.path().join("weights.safetensors");
    let page = Arc::new(Page::paced(settings, &shelf, weights, earlier, Duration::from_millis(1)));
    let admin = Admin {
        metrics: Metrics::new().unwrap(),
        vitals: Vitals::new(),
        status: Arc::new(|| Value::Null),
        routes: page.routes(),
    };
    let server = serve(TcpListener::bind(("127.0.0.1", 0)).unwrap(), admin).unwrap();
    Served { page, shelf, server, dir }
}

fn served() -> Served {
    served_after(&[])
}

fn ask(address: SocketAddr, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{more}\r\n").unwrap();
    stream
}

impl Served {
    /// Status code, head in lower case, and body.
    fn get_with(&self, path: &str, more: &str) -> (u16, String, String) {
        let mut text = String::new();
        ask(self.server.address(), path, more).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        self.get_with(path, "")
    }

    fn get_json(&self, path: &str) -> Value {
        let (code, head, body) = self.get(path);
        assert_eq!(code, 200, "{path}: {body}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("cache-control: no-store"), "{head}");
        serde_json::from_str(&body).unwrap()
    }

    fn listen(&self) -> Listening {
        let mut lines = BufReader::new(ask(self.server.address(), "/events", ""));
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        Listening { lines }
    }

    fn play(&self, seed: u64) {
        let game = RecordedGame { game: "kuhn_poker".into(), seed, ..RecordedGame::default() };
        self.shelf.put(&game, Version { epoch: 1, step: seed }).unwrap();
    }
}

/// One who listens to the events.
struct Listening {
    lines: BufReader<TcpStream>,
}

impl Listening {
    /// The next event of a name that fits; none once the stream has ended.
    fn hear(&mut self, wanted: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let (mut line, mut name) = (String::new(), String::new());
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                event.trim_end().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| name == wanted) {
                let value = serde_json::from_str(data).unwrap();
                if fits(&value) {
                    return Some(value);
                }
            }
        }
    }
}

fn at(step: u64) -> Status {
    Status { run: "r".into(), step, elapsed_s: step as f64, loss: Some(Default::default()), ..Status::default() }
}

#[test]
fn every_file_of_the_page_has_its_type_and_may_use_nothing_from_elsewhere() {
    let served = served();
    for (path, kind, content) in assets::ASSETS {
        let (code, head, _) = served.get(path);
        assert_eq!(code, 200, "{path}");
        assert!(head.contains(&format!("content-type: {kind}")), "{path}: {head}");
        assert!(head.contains("content-security-policy: default-src 'self';"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
        assert!(!content.is_empty(), "{path}");
        let own = !path.contains("/vendor/");
        let elsewhere = ["src=\"http", "href=\"http", "url(http", "from \"http", "@import"];
        assert!(!own || elsewhere.iter().all(|text| !content.contains(text)), "{path} needs something from elsewhere");
    }
    assert_eq!(served.get("/assets/none.js").0, 404);
}

#[test]
fn everything_that_the_page_names_is_served() {
    let served = served();
    let named = assets::ASSETS.iter().filter(|(path, ..)| !path.contains("/vendor/")).flat_map(|(path, _, content)| {
        let in_html = content.split("\"assets/").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let in_scripts = content.split("from \"./").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        in_html.chain(in_scripts).map(|name| (*path, name)).collect::<Vec<_>>()
    });
    let named: Vec<_> = named.collect();
    assert!(named.len() > 10, "{named:?}");
    for (path, name) in named {
        assert_eq!(served.get(&format!("/assets/{name}")).0, 200, "{path} names {name}");
    }
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let served = served();
    let (_, head, _) = served.get("/assets/page.js");
    assert!(head.contains("cache-control: no-cache"), "{head}");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let (code, _, body) = served.get_with("/assets/page.js", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((code, body.as_str()), (304, ""));
    assert_eq!(served.get_with("/assets/page.js", "If-None-Match: \"other\"\r\n").0, 200);
}

#[test]
fn a_listener_hears_how_the_run_stands_and_what_is_new() {
    let served = served();
    served.page.show(&at(7));
    let mut listener = served.listen();
    assert_eq!(listener.hear("status", |_| true).unwrap()["step"], 7);
    assert_eq!(listener.hear("games", |_| true).unwrap(), json!([]));
    served.page.show(&at(8));
    assert!(listener.hear("status", |status| status["step"] == 8).is_some());
    served.page.remember(&at(9));
    assert_eq!(listener.hear("history", |_| true).unwrap()["training"]["step"], json!([9]));
    served.play(5);
    assert_eq!(listener.hear("games", |_| true).unwrap()[0]["step"], 5);
}

#[test]
fn the_end_of_the_run_is_the_last_that_a_listener_hears() {
    let served = served();
    served.page.show(&at(7));
    let mut listener = served.listen();
    assert!(listener.hear("status", |_| true).is_some());
    served.page.show(&Status { phase: Phase::Finished, ..at(8) });
    served.page.end();
    assert!(listener.hear("status", |status| status["phase"] == "finished").is_some());
    assert!(listener.hear("nothing", |_| true).is_none(), "the stream has ended");
}

#[test]
fn one_who_does_not_read_holds_nobody_up() {
    let served = served();
    // A status that soon fills what lies between the two ends of a connection.
    let large = |step| Status { notices: vec!["x".repeat(1 << 20)], ..at(step) };
    served.page.show(&large(1));
    let deaf: Vec<_> = (0..3).map(|_| ask(served.server.address(), "/events", "")).collect();
    let mut listener = served.listen();
    for step in 2..40 {
        served.page.show(&large(step));
        assert!(listener.hear("status", |status| status["step"] == step).is_some());
        assert_eq!(served.get("/healthz").0, 200);
    }
    drop(deaf);
}

#[test]
fn no_more_listen_than_there_are_places_and_a_place_is_free_again_when_one_leaves() {
    let served = served();
    let mut all: Vec<_> = (0..LISTENERS).map(|_| served.listen()).collect();
    for listener in &mut all {
        assert!(listener.hear("status", |_| true).is_some());
    }
    assert_eq!(served.get("/events").0, StatusCode::SERVICE_UNAVAILABLE.as_u16());
    all.pop();
    // The server notices when it writes the next time.
    while served.page.places.available_permits() == 0 {
        std::thread::yield_now();
    }
    assert!(served.listen().hear("status", |_| true).is_some());
}

#[test]
fn the_history_goes_on_where_the_run_was_before_this_start() {
    let served = served_after(&[at(1), at(2)]);
    served.page.remember(&at(3));
    let history = served.get_json("/history");
    assert_eq!(history["training"]["step"], json!([1, 2, 3]));
    assert_eq!(served.get_json("/settings"), json!({ "groups": [] }));
}

#[test]
fn games_are_listed_newest_first_and_opened_by_number_while_they_are_kept() {
    let served = served();
    (1..=3).for_each(|seed| served.play(seed));
    let titles = served.get_json("/games");
    let ids: Vec<_> = titles.as_array().unwrap().iter().map(|title| title["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [3, 2], "two are kept");
    let game = served.get_json("/games/3");
    assert_eq!(
        (&game["title"]["version"], &game["seed"], &game["game"]),
        (&json!("1.3"), &json!(3), &json!("kuhn_poker"))
    );
    assert_eq!(served.get("/games/1").0, 404);
    assert_eq!(served.get("/games/..%2f..%2flock").0, 400);
}

#[test]
fn the_newest_weights_can_be_taken_once_there_are_some() {
    let served = served();
    assert_eq!(served.get_with("/weights.safetensors", "").0, 404);
    std::fs::write(served.dir.path().join("weights.safetensors"), "numbers").unwrap();
    let (code, head, body) = served.get_with("/weights.safetensors", "");
    assert_eq!((code, body.as_str()), (200, "numbers"));
    assert!(head.contains("content-type: application/octet-stream"), "{head}");
}
