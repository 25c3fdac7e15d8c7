//! What a run shows: the live view or log lines or JSON, the metrics file, the page and the admin routes, and the end's
//! summary.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use fogfall_service::admin::{Admin, AdminServer, Vitals, serve};

use crate::{
    board::Board,
    cli::{AdminAddr, Order, USUAL_ADDR},
    export::Export,
    page::Page,
    place::Cluster,
    run_dir::RunDir,
    shelf::Shelf,
    show::{EventFile, History, Live, MetricsFile, Places, json_line, line, read_metrics, summary, write_plots},
    status::{Phase, Status},
};

/// What measures a character exactly.
const MEASURE: &str = "measure it exactly";
/// A log line this often where there is no live view.
const LINE_EVERY: Duration = Duration::from_secs(5);

enum Screen {
    Live(Box<Live>),
    /// When the last line was written.
    Lines(Option<Instant>),
}

/// The page and who serves it.
struct Server {
    page: Arc<Page>,
    url: String,
    _admin: AdminServer,
}

impl Drop for Server {
    /// Whoever looks hears the last of the run before the server goes.
    fn drop(&mut self) {
        self.page.end();
    }
}

/// All that is shown.
pub struct Output {
    screen: Screen,
    json: bool,
    metrics_file: MetricsFile,
    /// None if not asked for, or once it could not be written.
    event_file: Option<EventFile>,
    metrics_every: Duration,
    metrics_written: Option<Instant>,
    export: Export,
    server: Option<Server>,
    /// The run before this start, until the live view has it.
    earlier: Vec<Status>,
    commands: Vec<(&'static str, String)>,
}

impl Output {
    /// Begins to show a run, in `export` too, to all but the terminal, whose live view begins with [`Output::take_screen`].
    /// `opponent` is the one to try the character against.
    ///
    /// # Errors
    /// If the metrics file or the address of the admin routes cannot be used.
    pub fn start(
        order: &Order,
        dir: &RunDir,
        vitals: &Vitals,
        shelf: &Arc<Shelf>,
        export: Export,
        opponent: &str,
    ) -> anyhow::Result<Self> {
        let earlier = if dir.metrics().exists() { read_metrics(&dir.metrics())?.statuses } else { Vec::new() };
        let metrics_file = MetricsFile::open(dir.metrics())?;
        let event_file = order.flags.run.tensorboard.then(|| EventFile::create(&dir.tensorboard())).transpose()?;
        vitals.export(export.metrics())?;
        let page = || Arc::new(Page::new(order, dir, shelf, &earlier));
        let server = listener(order.admin_addr)?.map(|listener| Server::start(listener, page(), &export, vitals));
        let server = server.transpose()?;
        let url = server.as_ref().map(|server| server.url.clone());
        if order.json {
            url.iter().for_each(|page| tracing::info!(page, "the run can be looked at in a browser"));
        } else {
            let lines = url.iter().map(|url| format!("look at the run in a browser: {url}"));
            let remark = Some(order.remark()).filter(|remark| !remark.is_empty());
            // Before the live view takes the screen: they come to light again at the end. Nobody may be reading.
            lines.chain(remark).for_each(|line| drop(print_line(&line)));
        }
        Ok(Self {
            screen: Screen::Lines(None),
            json: order.json,
            metrics_file,
            event_file,
            metrics_every: Duration::from_secs(order.flags.run.metrics_every_s),
            metrics_written: None,
            export,
            server,
            earlier,
            commands: commands(order, dir, opponent),
        })
    }

    /// Takes the terminal for the live view, where one is possible: from now on nothing else may write to it.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn take_screen(&mut self) -> io::Result<()> {
        let earlier = std::mem::take(&mut self.earlier);
        if self.json || !Live::is_possible() {
            return Ok(());
        }
        let mut live = Live::start(self.server.as_ref().map(|server| server.url.clone()))?;
        live.remember(&earlier);
        self.screen = Screen::Live(Box::new(live));
        Ok(())
    }

    /// The page, if it is served.
    pub fn page(&self) -> Option<&Page> {
        self.server.as_ref().map(|server| &*server.page)
    }

    /// Shows how the run stands. What cannot be shown is a notice, never the end of the run.
    pub fn show(&mut self, status: &Status, board: &Board) {
        self.export.set(status);
        if let Some(page) = self.page() {
            page.show(status);
        }
        if status.phase == Phase::Stopping {
            // The terminal is given back before a second Ctrl-C may end the process at once.
            self.leave_live();
        }
        let shown = match &mut self.screen {
            Screen::Live(live) => live.draw(status),
            Screen::Lines(last) => {
                if last.is_some_and(|at| at.elapsed() < LINE_EVERY) {
                    Ok(())
                } else {
                    *last = Some(Instant::now());
                    let text = if self.json { json_line(status) } else { line(status) };
                    print_line(&text)
                }
            }
        };
        if let Err(error) = shown {
            // A closed pipe or a lost terminal ends the showing, not the training.
            tracing::debug!(%error, "the status could not be shown");
            self.leave_live();
        }
        // Denser in the first minutes, so that the plots of a short run show how it went.
        let every = self.metrics_every.min(Duration::from_secs_f64((status.elapsed_s / 40.0).max(1.0)));
        if self.metrics_written.is_none_or(|at| at.elapsed() >= every) {
            self.write_metrics(status, board);
        }
    }

    fn leave_live(&mut self) {
        if matches!(self.screen, Screen::Live(_)) {
            // The last screen has just said what the next line would.
            let lines = Screen::Lines(Some(Instant::now()));
            if let Screen::Live(live) = std::mem::replace(&mut self.screen, lines) {
                live.finish();
            }
        }
    }

    fn write_metrics(&mut self, status: &Status, board: &Board) {
        self.metrics_written = Some(Instant::now());
        if let Some(page) = self.page() {
            page.remember(status);
        }
        if let Err(error) = self.metrics_file.append(status) {
            board.notice(format!("{error:#}"));
        }
        if let Some(Err(error)) = self.event_file.as_mut().map(|file| file.append(status)) {
            board.notice(format!("{error:#}; figures are not written for TensorBoard any more"));
            self.event_file = None;
        }
    }

    /// Shows how the run ended: the last status, plots and summary.
    ///
    /// # Errors
    /// If metrics cannot be read back or plots not be written; the rest is shown all the same.
    pub fn finish(mut self, last: &Status, board: &Board, dir: &RunDir) -> anyhow::Result<()> {
        if let Some(page) = self.page() {
            page.show(last);
        }
        self.write_metrics(last, board);
        let (statuses, unread) = failed(read_metrics(&dir.metrics()).map(|back| back.statuses));
        let (plots, unplotted) = failed(write_plots(&dir.plots(), &statuses));
        let (checkpoint, unfound) = failed(crate::checkpoint::latest(&dir.checkpoints()));
        self.leave_live();
        let text = if self.json {
            json_line(last)
        } else {
            let places = Places { checkpoint, metrics: Some(dir.metrics()), plots };
            // Exact figures are for games small enough.
            let of_use = self.commands.iter().filter(|(what, _)| *what != MEASURE || !last.figures.is_empty());
            let commands: Vec<_> = of_use.map(|(what, how)| (*what, how.as_str())).collect();
            summary(last, &History::of(&statuses), &places, &commands)
        };
        // Nobody may be listening any more.
        let _ = print_line(text.trim_end());
        unread.and(unplotted).and(unfound)
    }
}

/// A result's value, or the default, and what went wrong.
fn failed<T: Default>(result: anyhow::Result<T>) -> (T, anyhow::Result<()>) {
    match result {
        Ok(value) => (value, Ok(())),
        Err(error) => (T::default(), Err(error)),
    }
}

/// A socket at the address asked for; none if nothing is to be served.
fn listener(address: AdminAddr) -> anyhow::Result<Option<TcpListener>> {
    match address {
        AdminAddr::Nowhere => Ok(None),
        AdminAddr::At(address) => {
            let bound = TcpListener::bind(address);
            bound.map(Some).with_context(|| format!("--metrics-addr {address} cannot be used"))
        }
        AdminAddr::Usual => {
            let bound = TcpListener::bind(USUAL_ADDR).or_else(|error| match error.kind() {
                // Another run has it, most likely.
                io::ErrorKind::AddrInUse => TcpListener::bind((USUAL_ADDR.ip(), 0)),
                _ => Err(error),
            });
            bound
                .map(Some)
                .context("no port of this machine can be used to serve the page; --metrics-addr none goes without")
        }
    }
}

impl Server {
    fn start(listener: TcpListener, page: Arc<Page>, export: &Export, vitals: &Vitals) -> anyhow::Result<Self> {
        let shown = Arc::clone(&page);
        let status = move || serde_json::to_value(shown.status()).unwrap_or_default();
        let admin = Admin {
            metrics: export.metrics().clone(),
            vitals: vitals.clone(),
            status: Arc::new(status),
            routes: page.routes(),
        };
        let admin = serve(listener, admin)?;
        Ok(Self { page, url: format!("http://{}/", reachable(admin.address())), _admin: admin })
    }
}

/// An address that a browser on this machine can go to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// What a person may want to do next with the run in `dir`, each with its command.
fn commands(order: &Order, dir: &RunDir, opponent: &str) -> Vec<(&'static str, String)> {
    let [learner, actor] = programs();
    let (run, weights) = (dir.path().display(), dir.weights().display().to_string());
    let untrained = dir.untrained().display().to_string();
    let of_game = |job: &str, rest: &str| {
        // A file of rules may have changed since; the run keeps those it was trained by.
        let rules = order.rules.as_ref().map_or_else(String::new, |_| format!(" --rules {}", dir.rules().display()));
        format!("{actor} {job} --game {}{rules} {rest}", order.game)
    };
    let place = order.place.cluster().map_or_else(|| "--local".to_owned(), Cluster::arguments);
    let mut commands = vec![("train on", format!("{learner} {place} --resume latest --run-dir {run}"))];
    if order.place.cluster().is_some() {
        commands.push(("see how its servers stand", format!("{learner} status {place}")));
    }
    commands.extend([
        (MEASURE, of_game("exact", &format!("--a {weights}"))),
        ("play matches", of_game("match", &format!("--a {weights} --b {opponent} --games 400"))),
        ("rate its checkpoints in Elo points", format!("{actor} ladder --run {run}")),
        (
            "test whether it is stronger than other weights",
            of_game("promote", &format!("--candidate {weights} --champion {untrained}")),
        ),
    ]);
    commands
}

/// How this program and the actor beside it are called: a studio's own learner has its own name, and one that was installed
/// needs no cargo.
fn programs() -> [String; 2] {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().map_or_else(|| "learner".into(), |name| name.to_string_lossy().into_owned());
    let built_here = path.iter().any(|folder| folder == "target");
    let call = |name: String| if built_here { format!("cargo run --bin {name} --") } else { name };
    [call(name.clone()), call(name.replace("learner", "actor"))]
}

fn print_line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
