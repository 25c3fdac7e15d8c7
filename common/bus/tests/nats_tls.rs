//! The bus over TLS: certificates that fit, and those that do not, of both sides.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use fogfall_bus::{Bus, BusError, NatsBus, NatsSettings, NatsTls};
use fogfall_testkit::nats::NatsServer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

type Authority = (PathBuf, Issuer<'static, KeyPair>);

/// An authority, in a file and to sign with.
fn authority(folder: &Path, name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let file = folder.join(format!("{name}.pem"));
    fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
    (file, Issuer::new(params, key))
}

/// Files with a certificate for this machine, valid until the end of `last_year`, and its key.
fn certificate(folder: &Path, authority: &Authority, name: &str, last_year: i32) -> (PathBuf, PathBuf) {
    let mut params = CertificateParams::new(["127.0.0.1".into()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    fs::write(&files.0, params.signed_by(&key, &authority.1).unwrap().pem()).unwrap();
    fs::write(&files.1, key.serialize_pem()).unwrap();
    files
}

fn start((certificate, key): &(PathBuf, PathBuf), more: &str) -> NatsServer {
    NatsServer::start_with(&format!("tls {{ cert_file: {certificate:?}, key_file: {key:?}, {more} }}"))
}

async fn connect(server: &NatsServer, tls: NatsTls) -> Result<NatsBus, String> {
    let settings = NatsSettings { urls: vec![server.url()], tls, set_up: true, ..NatsSettings::default() };
    NatsBus::connect(&settings, "r").await.map_err(|error| {
        assert!(matches!(error, BusError::Unreachable { .. }), "{error}");
        error.to_string()
    })
}

#[tokio::test]
async fn a_server_is_trusted_if_its_certificate_comes_from_the_named_authority() {
    let folder = TempDir::new().unwrap();
    let (ours, other) = (authority(folder.path(), "ours"), authority(folder.path(), "other"));
    let server = start(&certificate(folder.path(), &ours, "server", 4000), "");
    let trusting = |authority: &Authority| NatsTls { required: true, ca: Some(authority.0.clone()), certificate: None };
    let bus = connect(&server, trusting(&ours)).await.unwrap();
    assert_eq!(bus.manifest().await, Ok(None));
    let strange = connect(&server, trusting(&other)).await.unwrap_err();
    assert!(strange.contains("UnknownIssuer"), "{strange}");
    let expired = start(&certificate(folder.path(), &ours, "expired", 2021), "");
    let expired = connect(&expired, trusting(&ours)).await.unwrap_err();
    assert!(expired.contains("expired"), "{expired}");
}

#[tokio::test]
async fn a_server_that_does_not_encrypt_is_refused_where_encryption_is_required() {
    let server = NatsServer::start();
    let plain = connect(&server, NatsTls { required: true, ..NatsTls::default() }).await.unwrap_err();
    assert!(plain.contains("does not speak TLS"), "{plain}");
}

#[tokio::test]
async fn a_server_that_asks_who_we_are_is_shown_our_certificate() {
    let folder = TempDir::new().unwrap();
    let ours = authority(folder.path(), "ours");
    let asks = format!("ca_file: {:?}, verify: true", ours.0);
    let server = start(&certificate(folder.path(), &ours, "server", 4000), &asks);
    let client = certificate(folder.path(), &ours, "client", 4000);
    let as_whom = |certificate| NatsTls { required: true, ca: Some(ours.0.clone()), certificate };
    assert!(connect(&server, as_whom(None)).await.is_err());
    connect(&server, as_whom(Some(client))).await.unwrap();
}
