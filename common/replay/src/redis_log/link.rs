//! A connection to Redis that is made when it is needed, and anew after it broke. Every wait has its deadline.
//!
//! **Invariant:** a request is handed over whole: a future dropped while it waits for the answer has either asked or not.

use std::fs;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError, RedisResult,
    ServerErrorKind, TlsCertificates,
};
use tokio::sync::Mutex;

use crate::ReplayError;
use crate::redis_log::settings::RedisServer;
use crate::redis_log::written::Written;

/// One connection, shared by all who ask through it.
#[derive(Debug)]
pub(crate) struct Link {
    client: Client,
    /// For messages: without user and password.
    server: String,
    connect_timeout: Duration,
    answer_timeout: Duration,
    /// Also held while one connects, so that the others wait for the same connection. The number tells one connection
    /// from the next.
    connection: Mutex<(u64, Option<Connection>)>,
}

/// A connection, and what is known of what the server at its other end has written.
type Connection = (MultiplexedConnection, Arc<Written>);

impl Link {
    /// Reads the settings; connects to nothing yet.
    pub(crate) fn new(server: &RedisServer) -> Result<Self, ReplayError> {
        let bad = |e: RedisError| ReplayError::Settings { what: format!("the address of redis: {e}") };
        let info = connection_info(server).map_err(bad)?;
        let name = info.addr().to_string();
        let client = match &server.ca {
            None => Client::open(info).map_err(bad)?,
            Some(path) => {
                let root_cert = Some(fs::read(path).map_err(ReplayError::io("read", path))?);
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert }).map_err(bad)?
            }
        };
        // TLS asks for one provider of ciphers in the process; the first to name it decides.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            client,
            server: name,
            connect_timeout: server.connect_timeout,
            answer_timeout: server.answer_timeout,
            connection: Mutex::default(),
        })
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Lets `ask` use the connection and waits for its answer; `action` says for messages what it is about.
    pub(crate) async fn ask<T, F>(
        self: &Arc<Self>,
        action: &'static str,
        ask: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, ReplayError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.ask_over(action, |(connection, _)| ask(connection)).await
    }

    /// The same, and waits until what the server has done survives its end.
    pub(crate) async fn ask_durably<T, F>(
        self: &Arc<Self>,
        action: &'static str,
        ask: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, ReplayError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let ask = async |(connection, written): Connection| {
            let answer = ask(connection.clone()).await?;
            written.wait(connection).await?;
            Ok(answer)
        };
        self.ask_over(action, ask).await
    }

    async fn ask_over<T, F>(
        self: &Arc<Self>,
        action: &'static str,
        ask: impl FnOnce(Connection) -> F,
    ) -> Result<T, ReplayError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let connected = tokio::time::timeout(self.connect_timeout, self.connected()).await;
        let (number, connection) = connected
            .unwrap_or_else(|_| Err(late("connection", self.connect_timeout)))
            .map_err(|e| self.trouble("connect to", &e))?;
        let answer = tokio::time::timeout(self.answer_timeout, ask(connection)).await;
        let answer = answer.unwrap_or_else(|_| Err(late("answer", self.answer_timeout)));
        if answer.as_ref().is_err_and(|e| e.is_io_error() || e.kind() == ErrorKind::Parse || is_demoted(e)) {
            self.forget(number).await;
        }
        answer.map_err(|e| self.trouble(action, &e))
    }

    async fn connected(&self) -> RedisResult<(u64, Connection)> {
        let mut held = self.connection.lock().await;
        if let (number, Some(connection)) = &*held {
            return Ok((*number, connection.clone()));
        }
        // The crate's own limits are off: half a second for an answer is too little for a large read.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let connection = (connection, Arc::default());
        *held = (held.0 + 1, Some(connection.clone()));
        Ok((held.0, connection))
    }

    /// Drops a connection that broke, unless another has taken its place.
    async fn forget(&self, number: u64) {
        let mut held = self.connection.lock().await;
        if held.0 == number {
            held.1 = None;
        }
    }

    fn trouble(&self, action: &'static str, error: &RedisError) -> ReplayError {
        let (server, reason) = (self.server.clone(), error.to_string());
        if error.code() == Some("OOM") {
            return ReplayError::OutOfMemory { server };
        }
        let denied = error.kind() == ErrorKind::AuthenticationFailed
            || error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
            || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"));
        if denied { ReplayError::Denied { server, reason } } else { ReplayError::Server { action, server, reason } }
    }
}

fn connection_info(server: &RedisServer) -> RedisResult<ConnectionInfo> {
    let info = server.url.as_str().into_connection_info()?;
    let mut redis = info.redis_settings().clone();
    if let Some(user) = &server.user {
        redis = redis.set_username(user);
    }
    if let Some(password) = &server.password {
        redis = redis.set_password(password);
    }
    Ok(info.set_redis_settings(redis).set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

fn late(what: &str, after: Duration) -> RedisError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no {what} within {} s", after.as_secs_f32())).into()
}

/// True if another server leads now: connecting anew may find it behind the same name.
fn is_demoted(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown))
}
