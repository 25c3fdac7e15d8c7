//! The admin routes over a real socket.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::{Router, routing::get};
use fogfall_service::admin::{Admin, AdminServer, Vitals, serve};
use fogfall_service::metrics::{Metrics, names};

/// Status code, head and body.
fn request(address: SocketAddr, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
}

fn start(admin: Admin) -> AdminServer {
    serve(TcpListener::bind(("127.0.0.1", 0)).unwrap(), admin).unwrap()
}

fn admin() -> Admin {
    Admin {
        metrics: Metrics::new().unwrap(),
        vitals: Vitals::new(),
        status: Arc::new(|| serde_json::Value::Null),
        routes: Router::new(),
    }
}

#[test]
fn metrics_and_status_show_what_is_now() {
    let step = Arc::new(AtomicU64::new(7));
    let shown = Arc::clone(&step);
    let status = Arc::new(move || serde_json::json!({ "step": shown.load(Ordering::Relaxed) }));
    let admin = Admin { status, ..admin() };
    let games = admin.metrics.counter(names::GAMES).unwrap();
    let server = start(admin);
    games.inc_by(5);
    let (code, head, body) = request(server.address(), "/metrics");
    assert_eq!(code, 200);
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("\nfogfall_games_total 5\n"), "{body}");
    step.store(8, Ordering::Relaxed);
    let (code, head, body) = request(server.address(), "/status");
    assert_eq!((code, body.as_str()), (200, r#"{"step":8}"#));
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(request(server.address(), "/other").0, 404);
}

#[test]
fn routes_of_the_program_are_served_beside_the_others() {
    let routes = Router::new().route("/", get(|| async { "a page" }));
    let server = start(Admin { routes, ..admin() });
    let (code, _, body) = request(server.address(), "/");
    assert_eq!((code, body.as_str()), (200, "a page"));
    assert_eq!(request(server.address(), "/healthz").0, 200);
}

#[test]
fn health_follows_heartbeats_and_readiness_follows_conditions() {
    let admin = admin();
    let vitals = admin.vitals.clone();
    let server = start(admin);
    assert_eq!(request(server.address(), "/healthz").0, 200);
    let beat = vitals.heartbeat("slow loop", Duration::from_secs(600));
    let weights = vitals.condition("weights");
    assert_eq!(request(server.address(), "/healthz").0, 200);
    let (code, _, body) = request(server.address(), "/readyz");
    assert_eq!((code, body.as_str()), (503, "weights: not yet\n"));
    weights.met();
    assert_eq!(request(server.address(), "/readyz").0, 200);
    beat.beat();
    drop(server);
}

#[test]
fn a_stalled_loop_is_unhealthy_and_named() {
    let admin = admin();
    let vitals = admin.vitals.clone();
    // Any time at all is too long, and beats are kept in whole milliseconds, rounded down.
    let _beat = vitals.heartbeat("train step", Duration::ZERO);
    let server = start(admin);
    let (code, _, body) = request(server.address(), "/healthz");
    assert_eq!(code, 503);
    assert!(body.starts_with("train step: no beat for "), "{body}");
}

#[test]
fn dropping_the_server_closes_even_idle_connections() {
    let server = start(admin());
    let mut idle = TcpStream::connect(server.address()).unwrap();
    drop(server);
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0); // closed, or reset if it was never accepted
}
