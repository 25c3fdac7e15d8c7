//! The live view: owns the terminal while a run goes on, and gives it back whatever happens.
//!
//! It draws on the alternate screen, which survives any resize, and leaves its last picture as plain text on the normal
//! one. The terminal stays out of raw mode, so Ctrl-C is the signal it always was; keys are only kept from being
//! echoed into the picture. One view at a time: the terminal is one.
//!
//! A panic in any thread first gives the terminal back, so that its message can be read; the next [`Live::draw`] takes
//! it again. A process that ends through [`std::process::exit`] must call [`restore_terminal`] before.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::layout::{Rect, Size};
use ratatui::{Frame, Terminal};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::history::History;
use super::screen;
use crate::status::Status;

/// A picture is sent in one piece up to this many bytes, so that none is seen half drawn.
const PICTURE_BYTES: usize = 64 * 1024;

/// After a silence this long the whole screen is drawn anew: the process may have been stopped (Ctrl-Z) and another
/// have drawn on it.
const REDRAW_AFTER: Duration = Duration::from_secs(5);

/// How the terminal was before the view took it; `None` while the view does not hold it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal view of a run. Gives the terminal back when dropped.
pub struct Live {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    history: History,
    /// Where the page is served, if it is.
    page: Option<String>,
    last: Buffer,
    drawn_at: Instant,
}

impl Live {
    /// Whether standard output is a terminal that can show the view.
    pub fn is_possible() -> bool {
        let names_a_terminal = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        io::stdout().is_terminal() && names_a_terminal
    }

    /// Takes the terminal, to show the run and the address of its page, if it has one. Nothing else may write to it until the view is gone, so logs belong elsewhere meanwhile.
    ///
    /// # Errors
    /// If standard output is no terminal or cannot be written.
    pub fn start(page: Option<String>) -> io::Result<Self> {
        restore_on_panic();
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(PICTURE_BYTES, io::stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| restore_terminal())?;
        Ok(Self { terminal, history: History::default(), page, last: Buffer::default(), drawn_at: Instant::now() })
    }

    /// Takes in what was before, so that the curves of a resumed run begin at its beginning. For statuses before the
    /// first that is drawn.
    pub fn remember<'a>(&mut self, earlier: impl IntoIterator<Item = &'a Status>) {
        for status in earlier {
            self.history.push(status);
        }
    }

    /// Shows `status`. To be called some times a second at most.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn draw(&mut self, status: &Status) -> io::Result<()> {
        self.history.push(status);
        // No other thread, a panicking one least of all, writes between the two ends of a picture.
        let mut out = io::stdout().lock();
        let was_away = before().is_none();
        if was_away || self.drawn_at.elapsed() > REDRAW_AFTER {
            take()?;
            let Size { width, height } = self.terminal.backend().size()?;
            self.terminal.resize(Rect::new(0, 0, width, height))?;
        }
        execute!(out, BeginSynchronizedUpdate)?;
        let (history, page) = (&self.history, self.page.as_deref());
        let draw = |frame: &mut Frame<'_>| screen::draw(status, history, page, frame.area(), frame.buffer_mut());
        let frame = self.terminal.draw(draw)?;
        self.last.clone_from(frame.buffer);
        execute!(out, EndSynchronizedUpdate)?;
        self.drawn_at = Instant::now();
        Ok(())
    }

    /// Ends the view: the terminal is as before, the last picture stays on it as text.
    pub fn finish(self) {
        // Dropping does it.
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        restore_terminal();
        // After a panic its message is what should be seen last.
        if !std::thread::panicking() {
            let mut out = io::stdout().lock();
            // A terminal that has gone has no use for the picture.
            let _ = writeln!(out, "{}", screen::text_of(&self.last)).and_then(|()| out.flush());
        }
    }
}

/// Takes the terminal: alternate screen, no cursor, keys not echoed. Taking it again is harmless.
fn take() -> io::Result<()> {
    let mut out = io::stdout();
    let mut before = before();
    if before.is_none() {
        *before = Some(tcgetattr(&out)?);
    }
    if let Some(modes) = before.as_ref() {
        let mut quiet = modes.clone();
        // Signals of keys (ISIG) stay as they were.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        tcsetattr(&out, OptionalActions::Now, &quiet)?;
    }
    execute!(out, EnterAlternateScreen, Hide)
}

/// Gives the terminal back if a live view holds it: normal screen, cursor, echo; keys typed meanwhile are forgotten, so
/// that no shell takes them for a command. Does nothing otherwise.
pub fn restore_terminal() {
    let mut out = io::stdout().lock();
    if let Some(modes) = before().take() {
        // Called where nothing more can be done about an error.
        let _ = execute!(out, EndSynchronizedUpdate, Show, LeaveAlternateScreen);
        let _ = tcsetattr(&out, OptionalActions::Flush, &modes);
    }
}

/// Makes a panic give the terminal back before it is reported.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Held until the message is out: a draw in another thread waits for it.
            let _out = io::stdout().lock();
            restore_terminal();
            report(panic);
        }));
    });
}
