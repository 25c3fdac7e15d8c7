//! Where a run's servers are, as settings: the same names for all programs of a run. They belong to a process, not to the
//! run: no manifest and no checkpoint holds them, and passwords are best given by the environment.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use fogfall_bus::{NatsAuth, NatsLimits, NatsSettings, NatsTls};
use fogfall_replay::RedisServer;
use fogfall_service::settings::ByteSize;

fogfall_service::settings! {
    /// NATS
    pub struct NatsFlags {
        /// Servers of the run's bus, as nats://HOST:PORT or tls://HOST:PORT; several of one cluster with commas.
        nats: String = String::new(), class Operational;
        /// User at the bus.
        nats_user: String = String::new(), class Operational;
        /// Password at the bus.
        nats_password: String = String::new(), class Operational;
        /// Token at the bus, instead of user and password.
        nats_token: String = String::new(), class Operational;
        /// Seed of an nkey, instead of user and password.
        nats_nkey: String = String::new(), class Operational;
        /// Credentials file, instead of user and password.
        nats_credentials: PathBuf = PathBuf::new(), class Operational;
        /// PEM file with the authorities to trust, instead of the system's.
        nats_ca: PathBuf = PathBuf::new(), class Operational;
        /// PEM file with this program's own certificate.
        nats_certificate: PathBuf = PathBuf::new(), class Operational;
        /// PEM file with the certificate's key.
        nats_key: PathBuf = PathBuf::new(), class Operational;
        /// First word of the subjects that answers come back on, where the server's permissions ask for one.
        nats_inbox: String = String::new(), class Operational;
        /// Bytes of games that may wait on the bus; a full bus makes actors wait.
        bus_bytes: ByteSize = ByteSize(2 << 30), in ByteSize(1 << 20)..=ByteSize(1 << 44), class Operational;
        /// Copies of all that is on the bus, in a cluster of servers.
        bus_replicas: usize = 1, in 1..=5, class Operational;
    }
}

fogfall_service::settings! {
    /// Redis
    pub struct RedisFlags {
        /// Server of the replay log, as redis://HOST:PORT/DATABASE, or rediss:// for TLS.
        redis: String = String::new(), class Operational;
        /// ACL user at the replay log.
        redis_user: String = String::new(), class Operational;
        /// Password at the replay log.
        redis_password: String = String::new(), class Operational;
        /// PEM file with the authorities to trust, instead of the system's.
        redis_ca: PathBuf = PathBuf::new(), class Operational;
        /// Refuse a server without an append-only file, which forgets all rows when it restarts; false goes without.
        redis_require_aof: bool = true, class Operational;
    }
}

/// None for the empty text, which is what a setting that was not given holds.
fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn given_path(path: &Path) -> Option<PathBuf> {
    (!path.as_os_str().is_empty()).then(|| path.to_owned())
}

impl NatsFlags {
    /// What does not fit together, if anything does not.
    pub fn mistake(&self) -> Option<&'static str> {
        let ways = [
            !self.nats_user.is_empty() || !self.nats_password.is_empty(),
            !self.nats_token.is_empty(),
            !self.nats_nkey.is_empty(),
            !self.nats_credentials.as_os_str().is_empty(),
        ];
        let half = self.nats_certificate.as_os_str().is_empty() != self.nats_key.as_os_str().is_empty();
        if ways.iter().filter(|&&way| way).count() > 1 {
            Some("give one of nats_user with nats_password, nats_token, nats_nkey, nats_credentials")
        } else if half {
            Some("nats_certificate and nats_key go together")
        } else {
            None
        }
    }

    /// How to connect. A program that sets the run up creates and checks what the run needs on the server.
    pub fn settings(&self, set_up: bool) -> NatsSettings {
        let auth = if let Some(token) = given(&self.nats_token) {
            NatsAuth::Token(token)
        } else if let Some(seed) = given(&self.nats_nkey) {
            NatsAuth::Nkey(seed)
        } else if let Some(file) = given_path(&self.nats_credentials) {
            NatsAuth::CredentialsFile(file)
        } else if let Some(user) = given(&self.nats_user) {
            NatsAuth::Password { user, password: self.nats_password.clone() }
        } else {
            NatsAuth::None
        };
        let ca = given_path(&self.nats_ca);
        let certificate = given_path(&self.nats_certificate).zip(given_path(&self.nats_key));
        NatsSettings {
            urls: self.nats.split(',').map(|url| url.trim().to_owned()).collect(),
            auth,
            tls: NatsTls { required: ca.is_some() || certificate.is_some(), ca, certificate },
            inbox_prefix: given(&self.nats_inbox),
            set_up,
            limits: NatsLimits { store_bytes: self.bus_bytes.0, replicas: self.bus_replicas, ..NatsLimits::default() },
            ..NatsSettings::default()
        }
    }
}

impl RedisFlags {
    /// How to connect.
    pub fn server(&self) -> RedisServer {
        RedisServer {
            user: given(&self.redis_user),
            password: given(&self.redis_password),
            ca: given_path(&self.redis_ca),
            connect_timeout: Duration::from_secs(10),
            ..RedisServer::at(&self.redis)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_is_left_to_the_servers_defaults() {
        let plain = NatsFlags { nats: "nats://a:1, nats://b:2".into(), ..NatsFlags::default() };
        let settings = plain.settings(false);
        assert_eq!(settings.urls, ["nats://a:1", "nats://b:2"]);
        assert_eq!((settings.auth, settings.tls), (NatsAuth::None, NatsTls::default()));
        let server = RedisFlags { redis: "redis://a".into(), ..RedisFlags::default() }.server();
        assert_eq!((server.user, server.password, server.ca), (None, None, None));
    }

    #[test]
    fn two_ways_to_say_who_we_are_and_half_a_certificate_are_mistakes() {
        let of = |change: fn(&mut NatsFlags)| {
            let mut flags = NatsFlags::default();
            change(&mut flags);
            flags.mistake()
        };
        assert_eq!(of(|_| ()), None);
        assert_eq!(of(|flags| (flags.nats_user, flags.nats_password) = ("a".into(), "b".into())), None);
        assert!(of(|flags| (flags.nats_user, flags.nats_token) = ("a".into(), "b".into())).is_some());
        assert!(of(|flags| flags.nats_key = "key.pem".into()).is_some());
        assert!(of(|flags| (flags.nats_key, flags.nats_certificate) = ("k".into(), "c".into())).is_none());
    }
}
