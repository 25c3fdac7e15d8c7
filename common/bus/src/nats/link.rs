//! The connection: made once, kept up for ever, and asked with a deadline. What cannot be answered in time is
//! [`BusError::Unanswered`]; what a server's permissions forbid is [`BusError::Refused`], although the server says so
//! apart from the request, which itself only stays without an answer.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerError};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::patience::pause;
use super::settings::{NatsAuth, NatsSettings};
use crate::BusError;

/// Messages that wait to be written while the connection is down. Then callers wait, and run into their deadlines.
const CLIENT_CAPACITY: usize = 256;
/// Messages of one subscription that wait to be read; more than one pull asks for.
const SUBSCRIPTION_CAPACITY: usize = 1024;
/// Publications without an answer, of all callers together.
const MAX_ACKS: usize = 256;
/// A server silent for two or three times this long is given up, and another connection tried.
const PING_EVERY: Duration = Duration::from_secs(10);
/// Requests that fit into [`NatsSettings::answer_within`].
const TRIES: u32 = 4;

/// Why one request failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It may go better at once, or soon.
    Again,
    /// It will not.
    Final(BusError),
}

/// A connection to one of the servers.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    answer_within: Duration,
    denied: Arc<Denied>,
}

/// The last right that the server said was missing, and when.
#[derive(Debug, Default)]
struct Denied(Mutex<Option<(Instant, String)>>);

impl Link {
    /// Connects, or says why not.
    pub(crate) async fn connect(settings: &NatsSettings) -> Result<Self, BusError> {
        let denied = Arc::new(Denied::default());
        let servers = settings.urls.iter().map(|url| without_secrets(url)).collect::<Vec<_>>().join(", ");
        let unreachable = |reason: String| BusError::Unreachable { servers: servers.clone(), reason };
        let options = options(settings, Arc::clone(&denied)).await.map_err(unreachable)?;
        let connected = timeout(settings.connect_within, options.connect(settings.urls.clone())).await;
        let silent = || format!("no answer within {:?}", settings.connect_within);
        let client = connected.map_err(|_| unreachable(silent()))?.map_err(|e| match e.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                BusError::Denied { servers: servers.clone(), reason: e.to_string() }
            }
            _ => unreachable(in_words(&e)),
        })?;
        let jetstream = ContextBuilder::new()
            .timeout(settings.answer_within / TRIES)
            .max_ack_inflight(MAX_ACKS)
            .backpressure_on_inflight(true)
            .build(client.clone());
        Ok(Self { client, jetstream, answer_within: settings.answer_within, denied })
    }

    /// Which connection this is: whatever was under way on an earlier one is lost.
    pub(crate) fn generation(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// Longest time for an answer.
    pub(crate) fn answer_within(&self) -> Duration {
        self.answer_within
    }

    /// Longest time for the answer to one request; then it is made again.
    pub(crate) fn try_within(&self) -> Duration {
        self.answer_within / TRIES
    }

    /// Makes a request, again and again with pauses, until it is answered or its time is over.
    pub(crate) async fn persist<T, F>(&self, what: &'static str, request: impl FnMut() -> F) -> Result<T, BusError>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        self.persist_for(self.answer_within, what, request).await
    }

    /// As [`Self::persist`], within another time.
    pub(crate) async fn persist_for<T, F>(
        &self,
        within: Duration,
        what: &'static str,
        mut request: impl FnMut() -> F,
    ) -> Result<T, BusError>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let began = Instant::now();
        let until = began + within;
        for failures in 0.. {
            match timeout_at(until, request()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Failed::Final(error))) => return Err(error),
                Ok(Err(Failed::Again)) => {}
                Err(_) => break,
            }
            let pause = pause(failures);
            if self.denied_since(began).is_some() || Instant::now() + pause >= until {
                break;
            }
            sleep(pause).await;
        }
        Err(self.unanswered(what, began))
    }

    /// What to say of a request made at `began` that was not answered.
    pub(crate) fn unanswered(&self, what: &'static str, began: Instant) -> BusError {
        match self.denied_since(began) {
            Some(reason) => BusError::Refused { what, reason },
            None => BusError::Unanswered { what },
        }
    }

    fn denied_since(&self, began: Instant) -> Option<String> {
        let denied = self.denied.0.lock().expect("no holder panics");
        denied.as_ref().filter(|(at, _)| *at >= began).map(|(_, reason)| reason.clone())
    }
}

impl Denied {
    fn hear(&self, event: Event) {
        if let Event::ServerError(ServerError::Other(reason)) = event
            && reason.to_lowercase().contains("permissions")
        {
            *self.0.lock().expect("no holder panics") = Some((Instant::now(), reason));
        }
    }
}

/// Settings as the client takes them; the error is for people.
async fn options(settings: &NatsSettings, denied: Arc<Denied>) -> Result<ConnectOptions, String> {
    let mut options = ConnectOptions::new()
        .name("fogfall")
        .client_capacity(CLIENT_CAPACITY)
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .ping_interval(PING_EVERY)
        .connection_timeout(settings.connect_within)
        .request_timeout(Some(settings.answer_within / TRIES))
        .reconnect_delay_callback(|failures| pause(u32::try_from(failures).unwrap_or(u32::MAX)))
        .event_callback(move |event| {
            denied.hear(event);
            std::future::ready(())
        });
    options = match &settings.auth {
        NatsAuth::None => options,
        NatsAuth::Token(token) => options.token(token.clone()),
        NatsAuth::Password { user, password } => options.user_and_password(user.clone(), password.clone()),
        NatsAuth::Nkey(seed) => options.nkey(seed.clone()),
        NatsAuth::CredentialsFile(path) => {
            options.credentials_file(path).await.map_err(|e| format!("credentials file {}: {e}", path.display()))?
        }
    };
    if settings.tls.required {
        options = options.require_tls(true);
    }
    if let Some(ca) = &settings.tls.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &settings.tls.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    if let Some(prefix) = &settings.inbox_prefix {
        options = options.custom_inbox_prefix(prefix);
    }
    Ok(options)
}

/// The server's own error behind an error of the client.
pub(crate) fn server_error(error: &dyn std::error::Error) -> Option<&jetstream::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<jetstream::Error>() {
            return Some(error);
        }
        source = error.source();
    }
    None
}

/// What to do about the server's own error: it has too much to do or is not ready yet, or it means what it says.
pub(crate) fn refused(what: &'static str, error: &jetstream::Error) -> Failed {
    let busy = [ErrorCode::STREAM_TOO_MANY_REQUESTS, ErrorCode::CLUSTER_NOT_AVAILABLE];
    if busy.contains(&error.error_code()) || [408, 429].contains(&error.code()) {
        return Failed::Again;
    }
    Failed::Final(BusError::Refused { what, reason: error.to_string() })
}

/// What to do about an error of the client: what the server has not said itself may go better.
pub(crate) fn failed(what: &'static str, error: &dyn std::error::Error) -> Failed {
    server_error(error).map_or(Failed::Again, |error| refused(what, error))
}

/// Why there is no connection.
fn in_words(error: &async_nats::ConnectError) -> String {
    let reason = error.to_string();
    // What a TLS client calls plain text.
    if reason.contains("InvalidContentType") { format!("the server does not speak TLS: {reason}") } else { reason }
}

/// A URL as it may be printed: without user and password.
pub fn without_secrets(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_printed() {
        assert_eq!(without_secrets("nats://user:se@cret@host:4222"), "nats://host:4222");
        assert_eq!(without_secrets("nats://host:4222"), "nats://host:4222");
        assert_eq!(without_secrets("host:4222"), "host:4222");
        let auth = NatsAuth::Password { user: "u".into(), password: "se-cret".into() };
        for auth in [auth, NatsAuth::Token("se-cret".into()), NatsAuth::Nkey("se-cret".into())] {
            assert!(!format!("{auth:?}").contains("se-cret"));
        }
    }
}
