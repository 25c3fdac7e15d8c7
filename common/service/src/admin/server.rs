//! The routes and the thread they run on.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::oneshot;

use crate::admin::Vitals;
use crate::metrics::{self, Metrics};

/// Open requests may take so long when the server stops.
const DRAIN: Duration = Duration::from_secs(1);

/// What the routes show.
#[derive(Clone)]
pub struct Admin {
    /// `/metrics`.
    pub metrics: Metrics,
    /// `/healthz` and `/readyz`.
    pub vitals: Vitals,
    /// `/status`: called at each request.
    pub status: Arc<dyn Fn() -> serde_json::Value + Send + Sync>,
    /// Routes of the program's own, served beside these four; may be empty.
    pub routes: Router,
}

/// The server's thread. It stops when this is dropped.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the routes on a thread of their own.
///
/// # Errors
/// What the system says if the socket, a runtime or a thread cannot be had.
///
/// # Panics
/// If one of the program's own routes takes the place of ours.
pub fn serve(listener: TcpListener, admin: Admin) -> io::Result<AdminServer> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let (stop, stopped) = oneshot::channel();
    let run = move || runtime.block_on(run(listener, router(admin), stopped));
    let thread = thread::Builder::new().name("admin".into()).spawn(run)?;
    tracing::info!(%address, "serving /metrics /healthz /readyz /status");
    Ok(AdminServer { address, stop: Some(stop), thread: Some(thread) })
}

impl AdminServer {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the admin routes had failed");
        }
    }
}

/// Ends when the other end of `stopped` is dropped, open requests within [`DRAIN`].
async fn run(listener: tokio::net::TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let (drain, draining) = oneshot::channel();
    let stopped = async move {
        let _ = stopped.await;
        let _ = drain.send(());
    };
    let late = async move {
        let _ = draining.await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        served = axum::serve(listener, router).with_graceful_shutdown(stopped) => {
            if let Err(error) = served {
                tracing::error!(%error, "the admin routes failed");
            }
        }
        () = late => {}
    }
}

fn router(mut admin: Admin) -> Router {
    let own = std::mem::take(&mut admin.routes);
    Router::new()
        .route("/metrics", get(show_metrics))
        .route("/healthz", get(show_health))
        .route("/readyz", get(show_readiness))
        .route("/status", get(show_status))
        .with_state(admin)
        .merge(own)
}

async fn show_metrics(State(admin): State<Admin>) -> Response {
    match admin.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(e) => (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
    }
}

async fn show_health(State(admin): State<Admin>) -> Response {
    ok_or_lines(&admin.vitals.stalled(Instant::now()))
}

async fn show_readiness(State(admin): State<Admin>) -> Response {
    ok_or_lines(&admin.vitals.missing())
}

async fn show_status(State(admin): State<Admin>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], (admin.status)().to_string()).into_response()
}

fn ok_or_lines(lines: &[String]) -> Response {
    if lines.is_empty() {
        "ok\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, lines.join("\n") + "\n").into_response()
    }
}
