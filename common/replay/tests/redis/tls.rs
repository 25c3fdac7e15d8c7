//! The log in Redis over TLS: certificates that fit, and those that do not. Needs a redis-server with TLS.

use std::fs;
use std::path::{Path, PathBuf};

use fogfall_replay::{Appended, RedisLog, RedisLogSettings, RedisServer, ReplayError, ReplayLog};
use fogfall_testkit::redis_server::{RedisServer as TestServer, free_port};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::part;

/// An authority, in a file and to sign with.
fn authority(dir: &Path, name: &str) -> (PathBuf, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let file = dir.join(format!("{name}.pem"));
    fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
    (file, Issuer::new(params, key))
}

/// A server whose certificate for `localhost` is valid until the end of `last_year`.
fn start(dir: &Path, ca: &(PathBuf, Issuer<'static, KeyPair>), last_year: i32) -> (TestServer, String) {
    let mut params = CertificateParams::new(["localhost".into()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    fs::write(path("server.pem"), params.signed_by(&key, &ca.1).unwrap().pem()).unwrap();
    fs::write(path("server.key"), key.serialize_pem()).unwrap();
    let port = free_port().to_string();
    let (cert, key, ca) = (path("server.pem"), path("server.key"), ca.0.to_str().unwrap());
    let files = ["--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-ca-cert-file", ca];
    let options = [&["--tls-port", &port, "--tls-auth-clients", "no"][..], &files].concat();
    (TestServer::start_with(&options), format!("rediss://localhost:{port}"))
}

async fn open(url: &str, ca: &Path) -> Result<RedisLog, ReplayError> {
    RedisLog::open(RedisLogSettings {
        server: RedisServer { ca: Some(ca.to_owned()), ..RedisServer::at(url) },
        run: "r".into(),
        row_bytes: 64,
        capacity_rows: 256,
        capacity_bytes: 1 << 20,
        require_aof: true,
    })
    .await
}

#[tokio::test]
async fn rows_go_over_tls_if_the_certificate_comes_from_the_named_authority() {
    let dir = TempDir::new().unwrap();
    let (ours, other) = (authority(dir.path(), "ours"), authority(dir.path(), "other"));
    let (_server, url) = start(dir.path(), &ours, 4000);
    let log = open(&url, &ours.0).await.unwrap();
    let rows = [7; 640];
    assert_eq!(log.append(part(1, 0), &rows).await.unwrap(), Appended::Stored);
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows);

    let strange = open(&url, &other.0).await;
    let Err(ReplayError::Server { action: "connect to", reason, .. }) = strange else { panic!("{strange:?}") };
    assert!(reason.contains("UnknownIssuer"), "{reason}");
    let elsewhere = open(&url.replace("localhost", "127.0.0.1"), &ours.0).await;
    let Err(ReplayError::Server { action: "connect to", reason, .. }) = elsewhere else { panic!("{elsewhere:?}") };
    assert!(reason.contains("not valid for name"), "{reason}");
}

#[tokio::test]
async fn an_expired_certificate_is_named_as_such() {
    let dir = TempDir::new().unwrap();
    let ours = authority(dir.path(), "ours");
    let (_server, url) = start(dir.path(), &ours, 2021);
    let expired = open(&url, &ours.0).await;
    let Err(ReplayError::Server { action: "connect to", reason, .. }) = expired else { panic!("{expired:?}") };
    assert!(reason.contains("expired"), "{reason}");
}

#[tokio::test]
async fn an_authority_that_cannot_be_read_is_a_mistake_in_the_settings() {
    let dir = TempDir::new().unwrap();
    let missing = open("rediss://localhost:1", &dir.path().join("none.pem")).await;
    assert!(matches!(missing, Err(ReplayError::Io { .. })), "{missing:?}");
    let (ca, _) = authority(dir.path(), "ours");
    let plain = open("redis://localhost:1", &ca).await;
    assert!(matches!(plain, Err(ReplayError::Settings { .. })), "{plain:?}");
}
