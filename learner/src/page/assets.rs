//! The page's own files, which the binary holds. A browser may keep them but asks each time whether they are still the same.

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use fogfall_proto::digest;

/// Path, content type, content.
type Asset = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page, served under `/assets/` by its own name.
macro_rules! asset {
    ($path:literal, $kind:expr) => {
        (concat!("/assets/", $path), $kind, include_str!(concat!("../../page/", $path)))
    };
}

pub(super) const ASSETS: &[Asset] = &[
    ("/", HTML, include_str!("../../page/index.html")),
    asset!("style.css", CSS),
    asset!("icon.svg", SVG),
    asset!("page.js", SCRIPT),
    asset!("battle.js", SCRIPT),
    asset!("calibration.js", SCRIPT),
    asset!("charts.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("games.js", SCRIPT),
    asset!("pipeline.js", SCRIPT),
    asset!("run.js", SCRIPT),
    asset!("settings.js", SCRIPT),
    asset!("vendor/uplot/uPlot.esm.js", SCRIPT),
    asset!("vendor/uplot/uPlot.min.css", CSS),
];

/// A route for each file.
pub(super) fn routes() -> Router {
    ASSETS.iter().fold(Router::new(), |router, &(path, kind, content)| {
        let tag = format!("\"{:032x}\"", digest(content.as_bytes()));
        router.route(path, get(async move |headers: HeaderMap| answer(&headers, &tag, kind, content)))
    })
}

fn answer(headers: &HeaderMap, tag: &str, kind: &'static str, content: &'static str) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag);
    let caching = [(header::ETAG, tag.to_owned()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, kind)], content).into_response()
}
