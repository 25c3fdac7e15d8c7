//! `docs/metrics.md` is what the list of names says; `FOGFALL_BLESS=1` writes it anew.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use fogfall_service::metrics::{names, page};

#[test]
fn the_page_of_metrics_is_what_the_names_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = page();
    if std::env::var_os("FOGFALL_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let different = written.lines().zip(page.lines()).find(|(written, said)| written != said);
    assert_eq!(different, None, "docs/metrics.md differs; FOGFALL_BLESS=1 writes it anew");
    assert_eq!(written.len(), page.len(), "docs/metrics.md differs; FOGFALL_BLESS=1 writes it anew");
    assert!(names::all().all(|name| page.contains(&format!("| `{}` | ", name.name))));
}
