//! Patience with servers: what a learner needs of them before it begins is asked for until it is there.

use std::{fmt::Display, sync::Arc, time::Duration};

use fogfall_pipeline::Troubles;
use fogfall_service::{admin::Condition, shutdown::Stop};
use tokio::runtime::Runtime;

/// Pause before a server is asked again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Why there is no beginning if the process is told to stop before it.
pub const STOPPED: &str = "told to stop before the run had begun";

/// Asks again and again.
pub struct Patience<'a> {
    /// Drives the questions.
    pub runtime: &'a Runtime,
    /// Ends the asking.
    pub stop: &'a Stop,
    /// Where it is said what does not work.
    pub troubles: Arc<Troubles>,
    /// Not met while something is asked for that is not there.
    pub begun: Condition,
    /// Logs go to a file: somebody at the terminal is told besides.
    pub aloud: bool,
}

impl Patience<'_> {
    /// Asks until there is an answer; `None` if the process is to stop first. `what` says what is being done.
    ///
    /// # Errors
    /// The first error that will not pass.
    pub fn persist<T, E: Display>(
        &self,
        what: &'static str,
        may_pass: impl Fn(&E) -> bool,
        mut ask: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let mut aloud = self.aloud;
        loop {
            let answer = self.runtime.block_on(async {
                tokio::select! {
                    answer = ask() => Some(answer),
                    () = self.stop.requested() => None,
                }
            });
            match answer {
                None => return Ok(None),
                Some(Ok(answer)) => {
                    self.troubles.works(what);
                    return Ok(Some(answer));
                }
                Some(Err(error)) if !may_pass(&error) => return Err(error),
                Some(Err(error)) => {
                    self.troubles.failed(what, &error);
                    self.begun.unmet(format!("{what} fails and is tried again: {error}"));
                    if std::mem::take(&mut aloud) {
                        tell(&format!("{what} fails and is tried again: {error}"));
                    }
                    if self.stop.wait(TRY_AGAIN) {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "the live view does not have the terminal yet")]
fn tell(text: &str) {
    eprintln!("{text}");
}
