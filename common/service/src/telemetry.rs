//! Logs: lower-case text with values as fields, to standard error, as lines for people or as JSON for machines.

use std::fmt;
use std::io::{self, IsTerminal};
use std::str::FromStr;

use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// What is logged, as `tracing` directives such as `info,fogfall_bus=debug`.
pub const FILTER_ENV: &str = "FOGFALL_LOG";

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why logging could not begin.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The filter is no list of directives.
    #[error("{FILTER_ENV} is \"{filter}\": {reason}")]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody logs already.
    #[error("logging was set up twice in this process")]
    Twice,
}

impl LogFormat {
    /// Names, for settings.
    pub const NAMES: &[&str] = &["text", "json"];
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("no log format {text}")),
        }
    }
}

/// Logs to standard error from now on, once a process. `filter` is [`FILTER_ENV`]'s value; without one, `info`.
///
/// # Errors
/// [`TelemetryError`].
pub fn init(format: LogFormat, filter: Option<&str>) -> Result<(), TelemetryError> {
    let colours = io::stderr().is_terminal();
    let subscriber = subscriber(format, filter, colours, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| TelemetryError::Twice)
}

/// A subscriber that writes to `writer`: for [`init`], tests, and programs that own the terminal.
///
/// # Errors
/// [`TelemetryError::Filter`].
pub fn subscriber<W>(
    format: LogFormat,
    filter: Option<&str>,
    colours: bool,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = filter.unwrap_or("info");
    let filter = EnvFilter::try_new(filter)
        .map_err(|e| TelemetryError::Filter { filter: filter.to_owned(), reason: e.to_string() })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    Ok(match format {
        LogFormat::Text => Box::new(builder.finish()),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, filter: Option<&str>) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = subscriber(format, filter, false, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(rows = 7, "stored");
            tracing::debug!("details");
        });
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn text_has_level_message_and_fields_on_a_line() {
        let text = logged(LogFormat::Text, None);
        assert!(text.ends_with(" INFO fogfall_service::telemetry::tests: stored rows=7\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
        assert_eq!(logged(LogFormat::Text, Some("debug")).lines().count(), 2);
        assert_eq!(logged(LogFormat::Text, Some("warn,other=debug")), "");
    }

    #[test]
    fn json_is_one_object_a_line() {
        let value: serde_json::Value = serde_json::from_str(logged(LogFormat::Json, None).trim_end()).unwrap();
        assert_eq!(value["message"], "stored");
        assert_eq!(value["rows"], 7);
        assert_eq!(value["level"], "INFO");
    }

    #[test]
    fn a_filter_that_means_nothing_is_refused_with_its_text() {
        let Err(refused) = subscriber(LogFormat::Text, Some("a=loud"), false, io::sink) else { panic!("accepted") };
        assert!(refused.to_string().starts_with("FOGFALL_LOG is \"a=loud\": "), "{refused}");
    }

    #[test]
    fn names_of_formats_read_back() {
        for name in LogFormat::NAMES {
            assert_eq!(&name.parse::<LogFormat>().unwrap().to_string(), name);
        }
    }
}
