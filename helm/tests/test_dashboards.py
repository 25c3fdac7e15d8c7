"""Grafana's dashboards are what helm/dashboards declares, keep the rules of good dashboards, and ask for what there is.

Whether every query returns data is asked of a real run by `scripts/check-dashboards`.
"""

import json
import pathlib
import re
import subprocess
import sys

import promql
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "helm"))

from dashboards import metrics  # noqa: E402 (found by the line above)

FILES = sorted((ROOT / "helm" / "fogfall" / "dashboards").glob("*.json"))
BOARDS = {path.stem: json.loads(path.read_text()) for path in FILES}
RULES = [
    rule
    for path in sorted((ROOT / "helm" / "fogfall" / "rules").glob("*.yaml"))
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}

# Panels that Grafana has today, unlike `graph` and `singlestat` of its past.
KINDS = {"barchart", "heatmap", "stat", "table", "timeseries"}
# Identifiers of units in Grafana, as far as used; besides these, `count:WORD`.
UNITS = {"Bps", "bool_yes_no", "bytes", "celsius", "mbytes", "none", "percent", "percentunit", "s", "sci", "short", "watt"}
# Metrics that no panel and no rule shows, each with its reason. None today.
UNSHOWN = {}


def panels(board):
    """All panels but rows, those in collapsed rows too."""
    for panel in board["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


PANELS = [
    pytest.param(name, panel, id=f"{name}: {panel['title']}") for name, board in BOARDS.items() for panel in panels(board)
]
TARGETS = [
    pytest.param(target["expr"], target["legendFormat"], id=f"{name}: {panel['title']}: {target['refId']}")
    for name, board in BOARDS.items()
    for panel in panels(board)
    for target in panel["targets"]
]
each_board = pytest.mark.parametrize("name", BOARDS)
each_panel = pytest.mark.parametrize(("name", "panel"), PANELS)
each_target = pytest.mark.parametrize(("expr", "legend"), TARGETS)


def test_the_files_are_what_is_declared():
    checked = subprocess.run([ROOT / "scripts" / "dashboards", "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_there_are_four_dashboards():
    assert list(BOARDS) == ["fogfall-actors", "fogfall-data", "fogfall-learner", "fogfall-overview"]


@each_board
def test_a_dashboard_keeps_its_place_in_grafana_and_links_to_the_others(name):
    board = BOARDS[name]
    assert board["uid"] == name, "its address"
    assert "id" not in board, "a number of one Grafana means something else in another"
    assert board["schemaVersion"] >= 39
    assert board["editable"] is False, "changes are made where it is declared"
    assert board["tags"] == ["fogfall"]
    (link,) = board["links"]
    assert (link["type"], link["tags"]) == ("dashboards", ["fogfall"])
    assert link["includeVars"] and link["keepTime"]


@each_board
def test_its_variables_choose_data_source_namespace_release_and_run(name):
    first, *others = BOARDS[name]["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert [variable["name"] for variable in others][:3] == ["namespace", "release", "run"]
    for variable in others:
        assert variable["type"] == "query"
        assert variable["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert variable["multi"] and variable["includeAll"] and variable["allValue"] == ".*", "All also finds the unlabelled"
        assert variable["refresh"] == 2, "looked up again when the time range changes"
        metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
        assert label == variable["name"]
        assert promql.metrics(metric) <= metrics.PRODUCT.keys()


@each_board
def test_it_marks_when_the_learner_started_and_wrote_checkpoints(name):
    builtin, started, checkpoints = BOARDS[name]["annotations"]["list"]
    assert builtin["builtIn"] == 1
    assert "process_start_time_seconds" in promql.metrics(started["expr"])
    assert "fogfall_last_checkpoint_timestamp_seconds" in promql.metrics(checkpoints["expr"])
    for annotation in (started, checkpoints):
        assert annotation["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@each_board
def test_panels_have_numbers_of_their_own_and_do_not_overlap(name):
    board = BOARDS[name]
    numbers = [panel["id"] for panel in [*panels(board), *(p for p in board["panels"] if p["type"] == "row")]]
    assert len(numbers) == len(set(numbers))
    groups = [board["panels"], *(row["panels"] for row in board["panels"] if row["type"] == "row")]
    for group in groups:
        taken = set()
        for panel in group:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24
            cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
            assert not taken & cells, panel["title"]
            taken |= cells


def test_the_overview_is_one_screen():
    # 24 lines of 38 pixels are 912: what a browser shows of 1080 beneath Grafana's bars.
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels(BOARDS["fogfall-overview"])) <= 24


@each_panel
def test_a_panel_says_what_it_shows_and_in_which_unit(name, panel):
    assert panel["type"] in KINDS
    assert panel["title"] and panel["description"].endswith(".")
    unit = panel["fieldConfig"]["defaults"]["unit"]
    assert unit in UNITS or re.fullmatch(r"count:\w*/?\w*", unit), unit
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    for target in panel["targets"]:
        assert target["datasource"] == panel["datasource"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@each_target
def test_a_query_is_valid_and_keeps_to_what_the_variables_choose(expr, legend):
    for name, matchers, _ in promql.selectors(expr):
        # Instead of job and instance, which say nothing of a run, these select: the chart and scripts/cluster set them.
        # Exporters know no run; that of DCGM may say exported_namespace, and no release.
        keys = {label.removeprefix("exported_") for label in matchers}
        needed = {"namespace"} if name.startswith("DCGM_") else {"namespace", "release"}
        if name not in metrics.EXPORTED and name != "ALERTS":
            needed.add("run")
        assert needed <= keys, f"{name} of other releases would be shown"


@each_target
def test_a_query_takes_rates_of_counters_over_the_interval_that_grafana_chooses(expr, legend):
    # gnatsd_varz_slow_consumers and the like are gauges by their names.
    assert promql.bare_counters(expr) == []
    assert set(re.findall(r"\[(.*?)\]", expr)) <= {"$__rate_interval", "$__range"}


@each_target
def test_a_legend_speaks_of_labels_that_the_query_keeps(expr, legend):
    kept = promql.labels(promql.parse(expr))
    asked = set(re.findall(r"{{(\w+)}}", legend))
    assert kept is None or asked <= kept, f"{asked - (kept or set())} of {expr}"


@each_target
def test_a_query_asks_for_metrics_that_there_are(expr, legend):
    known = metrics.PRODUCT.keys() | metrics.PROCESS | metrics.PROMETHEUS | metrics.EXPORTED | RECORDED
    assert {metrics.family(name) for name in promql.metrics(expr)} <= known


@each_target
def test_a_label_of_the_product_is_asked_of_metrics_that_have_it(expr, legend):
    assert promql.strange_labels(expr) == []


def test_queries_of_exporters_are_in_collapsed_rows():
    for board in BOARDS.values():
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                assert not metrics.needs_exporter(target["expr"]), panel["title"]
            if panel["type"] == "row" and panel["panels"]:
                needed = [metrics.needs_exporter(t["expr"]) for p in panel["panels"] for t in p["targets"]]
                assert panel["collapsed"] and all(needed) and "(with" in panel["title"]


def test_every_metric_of_the_product_is_shown_or_watched():
    asked = [target["expr"] for board in BOARDS.values() for panel in panels(board) for target in panel["targets"]]
    used = {metrics.family(name) for expr in [*asked, *(rule["expr"] for rule in RULES)] for name in promql.metrics(expr)}
    assert metrics.PRODUCT.keys() - used == UNSHOWN.keys()


def test_every_recorded_series_is_used():
    asked = [target["expr"] for board in BOARDS.values() for panel in panels(board) for target in panel["targets"]]
    used = {name for expr in [*asked, *(rule["expr"] for rule in RULES)] for name in promql.metrics(expr)}
    assert used >= RECORDED


# Grafana's own types say `string` where only some are meant, and name panels' options `unknown`: here they are joined.
TYPES = """
import type { AnnotationQuery, Dashboard, DataSourceRef, Panel, RowPanel } from '@grafana/schema';
import type * as Bars from '@grafana/schema/dist/esm/raw/composable/barchart/panelcfg/x/BarChartPanelCfg_types.gen';
import type * as Heat from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as Table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as Lines from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// What JSON may hold of a type: an enum's values instead of its names.
type Json<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Json<U>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Some<T> = T extends (infer U)[] ? Some<U>[] : T extends object ? { [K in keyof T]?: Some<T[K]> } : T;

interface Target {
  refId: string; datasource: DataSourceRef; expr: string; legendFormat: string;
  format: 'time_series' | 'table' | 'heatmap'; instant: boolean; range: boolean;
}
type Of<Kind extends string, Options, Custom> =
  Omit<Json<Panel>, 'type' | 'options' | 'targets' | 'fieldConfig'> & {
    type: Kind; options: Some<Json<Options>>; targets: Target[];
    fieldConfig: Omit<Json<NonNullable<Panel['fieldConfig']>>, 'defaults'> & {
      defaults: Omit<Json<NonNullable<Panel['fieldConfig']>['defaults']>, 'custom'> & { custom?: Some<Json<Custom>> };
    };
  };
type One = Of<'barchart', Bars.Options, Bars.FieldConfig> | Of<'heatmap', Heat.Options, Heat.FieldConfig>
  | Of<'stat', Stat.Options, never> | Of<'table', Table.Options, Table.FieldConfig>
  | Of<'timeseries', Lines.Options, Lines.FieldConfig>;
// Prometheus's data source keeps these beside what Grafana knows.
type Mark = Json<AnnotationQuery> | (Json<AnnotationQuery> & {
  expr: string; step: string; titleFormat: string; textFormat: string; tagKeys: string; useValueForTime: boolean;
});
export type Board = Omit<Json<Dashboard>, 'panels' | 'annotations'> & {
  annotations: { list: Mark[] };
  panels: (One | (Omit<Json<RowPanel>, 'panels'> & { panels: One[] }))[];
};
"""


def type_checked(directory, boards):
    """What the compiler says of boards."""
    (directory / "types.ts").write_text(TYPES)
    for name, board in boards.items():
        text = f"import type {{ Board }} from './types';\nexport const board: Board = {json.dumps(board)};\n"
        (directory / f"{name}.ts").write_text(text)
    modules = ROOT / ".tools" / "node" / "node_modules"
    (directory / "node_modules").symlink_to(modules)
    options = "--noEmit --strict --skipLibCheck --moduleResolution bundler --module esnext --target es2022".split()
    command = [modules / ".bin" / "tsc", *options, *(f"{name}.ts" for name in boards)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False).stdout


def test_dashboards_have_the_types_of_grafanas_schema(tmp_path):
    assert type_checked(tmp_path, BOARDS) == ""


def test_the_type_check_finds_a_misspelled_key_and_a_wrong_value(tmp_path):
    misspelled, wrong, option = (json.loads(json.dumps(BOARDS["fogfall-overview"])) for _ in range(3))
    misspelled["panels"][0]["descripton"] = "no such key"
    wrong["panels"][0]["gridPos"]["h"] = "four"
    option["panels"][0]["options"]["graphMode"] = "sparkle"
    said = type_checked(tmp_path, {"misspelled": misspelled, "wrong": wrong, "option": option})
    found = {line.split("(")[0] for line in said.splitlines() if not line.startswith(" ")}
    assert found == {"misspelled.ts", "wrong.ts", "option.ts"}
