//! What a connection to NATS needs to know. Plain data: programs read it from their flags.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::bus::GONE_AFTER;

/// Where the servers are, who we are, and how long anything may take.
#[derive(Clone, Debug, PartialEq)]
pub struct NatsSettings {
    /// Servers of one cluster, as `nats://HOST:PORT` or `tls://HOST:PORT`; any of them is enough.
    pub urls: Vec<String>,
    /// Who we are.
    pub auth: NatsAuth,
    /// How the connection is encrypted.
    pub tls: NatsTls,
    /// First word of the subjects that answers come back on, where a server's permissions ask for one.
    pub inbox_prefix: Option<String>,
    /// Longest time for the first connection. Later ones are tried for ever, with growing, random pauses.
    pub connect_within: Duration,
    /// Longest time for an answer, repetitions included.
    pub answer_within: Duration,
    /// Create and check what the run needs on the server. Needs more rights than an actor has.
    pub set_up: bool,
    /// What bounds the run on the server. An actor, which sets nothing up, need not know.
    pub limits: NatsLimits,
    /// A fetch of weights begins after a random time up to this, so that a thousand actors do not begin at once.
    pub fetch_jitter: Duration,
    /// Longest time for a fetch of weights after that.
    pub fetch_within: Duration,
}

/// Who we are.
#[derive(Clone, PartialEq, Eq)]
pub enum NatsAuth {
    /// Nobody in particular.
    None,
    /// The bearer of a token.
    Token(String),
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// The owner of an nkey, by its seed.
    Nkey(String),
    /// Whom a credentials file names: a JWT and its key.
    CredentialsFile(PathBuf),
}

/// Keeps secrets out of logs.
impl fmt::Debug for NatsAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "None"),
            Self::Token(_) => write!(f, "Token(..)"),
            Self::Password { user, .. } => write!(f, "Password {{ user: {user:?}, .. }}"),
            Self::Nkey(_) => write!(f, "Nkey(..)"),
            Self::CredentialsFile(path) => write!(f, "CredentialsFile({path:?})"),
        }
    }
}

/// How the connection is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsTls {
    /// Refuse a server that does not encrypt.
    pub required: bool,
    /// PEM file with the authorities to trust, instead of the system's.
    pub ca: Option<PathBuf>,
    /// PEM files with our own certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// What bounds a run on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatsLimits {
    /// Bytes of trajectories stored, with what the server adds to each message. The server reserves them on disk.
    pub store_bytes: u64,
    /// Bytes of weights stored. Room for two versions more than `keep_weights` is needed: one that comes, and one that a
    /// killed learner has left in pieces.
    pub weights_bytes: u64,
    /// Bytes of parts put aside; the oldest go.
    pub dead_bytes: u64,
    /// How long the server remembers part ids, to tell duplicates. It forgets those of settled parts when it restarts.
    pub duplicate_window: Duration,
    /// A delivery not settled within this time is handed out again.
    pub settle_within: Duration,
    /// Most deliveries not settled, of all consumers together.
    pub max_unsettled: u32,
    /// Weights held; older ones are gone.
    pub keep_weights: usize,
    /// Whoever has not been heard for so long is forgotten.
    pub gone_after: Duration,
    /// Copies of everything in a cluster of servers: 1, 3 or 5.
    pub replicas: usize,
}

impl Default for NatsSettings {
    fn default() -> Self {
        Self {
            urls: vec!["nats://127.0.0.1:4222".to_owned()],
            auth: NatsAuth::None,
            tls: NatsTls::default(),
            inbox_prefix: None,
            connect_within: Duration::from_secs(10),
            answer_within: Duration::from_secs(10),
            set_up: false,
            limits: NatsLimits::default(),
            fetch_jitter: Duration::from_secs(2),
            fetch_within: Duration::from_secs(60),
        }
    }
}

impl Default for NatsLimits {
    fn default() -> Self {
        Self {
            store_bytes: 2 << 30,
            weights_bytes: 1 << 30,
            dead_bytes: 64 << 20,
            duplicate_window: Duration::from_secs(120),
            settle_within: Duration::from_secs(30),
            max_unsettled: 2048,
            keep_weights: 3,
            gone_after: GONE_AFTER,
            replicas: 1,
        }
    }
}
