//! The report as one page of HTML that needs no other file.

use std::fmt::Write;

use fogfall_eval::balance::{Finding, Level};

use super::plots::Plot;
use super::report::{RulesReport, pairing, percent};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;color:#222;max-width:62rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin-bottom:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}\
.sub{color:#666;margin-top:.2rem}table{border-collapse:collapse;width:100%}\
td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #e1e1e1;vertical-align:top}\
td.n,th.n{text-align:right;white-space:nowrap}\
.level{display:inline-block;min-width:3rem;text-align:center;border-radius:.3rem;padding:0 .4rem;color:#fff}\
.good{background:#2c7a5b}.look{background:#b26a00}.bad{background:#b3261e}\
figure{margin:1rem 0}figure svg{max-width:100%;height:auto}figcaption{color:#555;font-size:.9rem}";

/// The page.
pub(super) fn html(report: &RulesReport, plots: &[Plot]) -> String {
    let title = format!("Rules of {}: {}", report.game, report.rules);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head>\
         <body>\n<h1>{0}</h1>\n<p class=\"sub\">{1}</p>\n<p>The rules hold; played, they show: <b>{2}</b>.</p>\n",
        escape(&title),
        escape(&report.played()),
        escape(&report.verdict())
    );
    let worst_first = |level| report.balance.findings.iter().filter(move |finding: &&Finding| finding.level == level);
    page += "<h2>Verdict</h2>\n<table>\n";
    for finding in [Level::Bad, Level::Look, Level::Good].into_iter().flat_map(worst_first) {
        let Finding { level, topic, text } = finding;
        let text = escape(text);
        add(&mut page, format_args!("<tr><td><span class=\"level {level}\">{level}</span></td>"));
        add(&mut page, format_args!("<td>{topic}?</td><td>{text}</td></tr>\n"));
    }
    page += "</table>\n<h2>Who played</h2>\n";
    page += "<table>\n<tr><th>first - second</th><th class=\"n\">games</th><th>score of the first</th>\
             <th class=\"n\">decisions: 5 %, half, 95 %</th><th class=\"n\">drawn</th><th class=\"n\">at a limit</th></tr>\n";
    for stats in &report.balance.pairings {
        let lengths = &stats.lengths;
        add(
            &mut page,
            format_args!(
                "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}, {}, {}</td>\
                 <td class=\"n\">{:.1} %</td><td class=\"n\">{:.1} %</td></tr>\n",
                escape(&pairing(stats)),
                stats.games,
                percent(stats.score),
                lengths.low,
                lengths.median,
                lengths.high,
                100.0 * stats.draws,
                100.0 * stats.ran_out
            ),
        );
    }
    page += "</table>\n<h2>Plots</h2>\n";
    for Plot { name, caption, svg } in plots {
        add(&mut page, format_args!("<figure id=\"{name}\">\n{svg}\n<figcaption>{caption}</figcaption></figure>\n"));
    }
    page += "</body></html>\n";
    page
}

fn add(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string does not fail");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
