"""Grafana's model of a dashboard, as far as ours need it: a panel is one readable declaration, the rest follows.

A declaration says what is shown and why; ids, positions, data source, legends and colours are set here, the same way for
all panels.
In an expression `{@}` and `{@,label="value"}` select what the dashboard's variables select.

Not a general library: what no dashboard uses is not here.
"""

from dataclasses import dataclass, field

# Grafana 10.2 and later reads it; older ones refuse it rather than showing something else.
SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SELECTOR = 'namespace=~"$namespace",release=~"$release",run=~"$run"'
# Grafana's dashboard is so many units wide.
WIDTH = 24
# What panels say without data.
NOTHING = "no data"

GREEN, ORANGE, RED, NEUTRAL = "green", "orange", "red", "text"


def select(expr):
    """The expression with `@` in selectors replaced by the dashboard's variables."""
    return expr.replace("{@", "{" + SELECTOR)


@dataclass(frozen=True)
class Query:
    """A query and what its series are called."""

    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel. `unit` is one of Grafana's, or `count:WORD` for a number of things."""

    kind: str
    title: str
    about: str
    unit: str
    queries: tuple
    w: int
    h: int
    defaults: dict = field(default_factory=dict)
    custom: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    overrides: tuple = ()
    transformations: tuple = ()
    instant: bool = False

    def json(self, number, x, y):
        """The panel at its place."""
        defaults = {"unit": self.unit, "noValue": NOTHING, **self.defaults}
        if self.custom:
            defaults["custom"] = self.custom
        made = {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": DATASOURCE,
            "gridPos": {"h": self.h, "w": self.w, "x": x, "y": y},
            "fieldConfig": {"defaults": defaults, "overrides": list(self.overrides)},
            "options": self.options,
            "targets": [self.target(i, query) for i, query in enumerate(self.queries)],
        }
        if self.transformations:
            made["transformations"] = list(self.transformations)
        return made

    def target(self, i, query):
        form = "heatmap" if self.kind == "heatmap" else "table" if self.transformations else "time_series"
        return {
            "refId": chr(ord("A") + i),
            "datasource": DATASOURCE,
            "expr": select(query.expr),
            "legendFormat": query.legend or "__auto",
            "format": form,
            "instant": self.instant,
            "range": not self.instant,
        }


def queries(given):
    """Queries, from (expr, legend) pairs or a single expression."""
    if isinstance(given, str):
        return (Query(given),)
    return tuple(Query(*pair) if isinstance(pair, tuple) else Query(pair) for pair in given)


def steps(*levels, first=GREEN):
    """Thresholds: the colour of the lowest values, then (from, colour) pairs."""
    made = [{"color": first, "value": None}, *({"color": color, "value": value} for value, color in levels)]
    return {"thresholds": {"mode": "absolute", "steps": made}}


def graph(title, about, unit, asked, w=8, h=8, stack=None, log=False, **limits):
    """Lines over time. `stack` is "normal", or "percent" for shares of a whole; `limits` are `min`, `max` and `decimals`."""
    custom = {"lineWidth": 1, "fillOpacity": 60 if stack else 5, "showPoints": "never", "spanNulls": False}
    if stack:
        custom["stacking"] = {"mode": stack, "group": "A"}
    if log:
        custom["scaleDistribution"] = {"type": "log", "log": 10}
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    defaults = {"color": {"mode": "palette-classic-by-name"}, **limits}
    return Panel("timeseries", title, about, unit, queries(asked), w, h, defaults, custom, options)


def quantiles(title, about, metric, w=8, h=8, unit="s", by="run"):
    """Median, 95th and 99th percentile of a histogram over time."""
    pattern = "histogram_quantile({}, sum by ({}, le) (rate({}_bucket{{@}}[$__rate_interval])))"
    asked = [
        (pattern.format(q, by, metric), f"{{{{{by}}}}} {name}") for q, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
    ]
    return graph(title, about, unit, asked, w, h, min=0)


def heat(title, about, unit, metric, w=8, h=8):
    """A histogram's buckets over time."""
    asked = f"sum by (le) (increase({metric}_bucket{{@}}[$__rate_interval]))"
    options = {
        "calculate": False,
        "color": {
            "mode": "scheme",
            "scheme": "Turbo",
            "exponent": 0.5,
            "fill": "dark-orange",
            "reverse": False,
            "steps": 64,
        },
        "cellGap": 1,
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": True},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit},
    }
    return Panel("heatmap", title, about, unit, (Query(asked, "{{le}}"),), w, h, {}, {}, options)


def number(title, about, unit, asked, w=4, h=4, levels=None, mappings=(), graph_mode="area", **limits):
    """The newest value, large, with its past as a shade."""
    defaults = {"color": {"mode": "thresholds"}, **(levels or steps(first=NEUTRAL)), **limits}
    if mappings:
        defaults["mappings"] = list(mappings)
    options = {
        "colorMode": "value",
        "graphMode": graph_mode,
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showPercentChange": False,
        "textMode": "auto",
        "wideLayout": True,
    }
    return Panel("stat", title, about, unit, queries(asked), w, h, defaults, {}, options)


def columns(title, about, asked, shown, w=24, h=8, keys=("run",)):
    """A table: a query a column, joined by `keys`. `shown` has (title, unit) for each query."""
    letters = [chr(ord("A") + i) for i in range(len(asked))]
    names = {f"Value #{letter}": title for letter, (title, _) in zip(letters, shown, strict=True)}
    overrides = tuple(
        {"matcher": {"id": "byName", "options": title}, "properties": [{"id": "unit", "value": unit}]}
        for title, unit in shown
    )
    order = {name: i for i, name in enumerate([*keys, *names])}
    transformations = (
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names}},
    )
    options = {"showHeader": True, "cellHeight": "sm", "sortBy": []}
    custom = {"align": "auto", "inspect": False, "filterable": True}
    return Panel(
        "table", title, about, "short", queries(asked), w, h, {}, custom, options, overrides, transformations, instant=True
    )


def bars(title, about, unit, asked, shown, x, w=8, h=8, **limits):
    """Bars side by side, a query a colour, over the values of label `x`."""
    letters = [chr(ord("A") + i) for i in range(len(asked))]
    names = {f"Value #{letter}": title for letter, title in zip(letters, shown, strict=True)}
    transformations = (
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True, "run": True}, "renameByName": names}},
        {
            "id": "convertFieldType",
            "options": {"conversions": [{"targetField": x, "destinationType": "number"}], "fields": {}},
        },
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": x}]}},
        {
            "id": "convertFieldType",
            "options": {"conversions": [{"targetField": x, "destinationType": "string"}], "fields": {}},
        },
    )
    options = {
        "barWidth": 0.9,
        "fullHighlight": False,
        "groupWidth": 0.8,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "orientation": "vertical",
        "showValue": "never",
        "stacking": "none",
        "tooltip": {"mode": "multi", "sort": "none"},
        "xField": x,
        "xTickLabelMaxLength": 8,
        "xTickLabelRotation": 0,
    }
    defaults = {"color": {"mode": "palette-classic"}, **limits}
    custom = {"fillOpacity": 80, "lineWidth": 1}
    return Panel(
        "barchart", title, about, unit, queries(asked), w, h, defaults, custom, options, (), transformations, instant=True
    )


@dataclass(frozen=True)
class Row:
    """Panels under a title, from left to right and on; a collapsed row asks nothing until it is opened."""

    title: str
    panels: tuple
    collapsed: bool = False


def laid_out(panels, number, y):
    """Panels in lines as long as the dashboard is wide, the next free number and line."""
    made, x, height = [], 0, 0
    for panel in panels:
        if x + panel.w > WIDTH:
            x, y, height = 0, y + height, 0
        made.append(panel.json(number, x, y))
        number, x, height = number + 1, x + panel.w, max(height, panel.h)
    return made, number, y + height


def variable(name, label, about, query):
    """A variable of label values, any number of them; All also finds series without the label."""
    return {
        "name": name,
        "label": label,
        "description": about,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


OF_RELEASE = 'namespace=~"$namespace",release=~"$release"'
VARIABLES = [
    {
        "name": "datasource",
        "label": "Data source",
        "description": "The Prometheus that scrapes the run.",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
    },
    variable("namespace", "Namespace", "Namespaces that runs live in.", "label_values(fogfall_build_info, namespace)"),
    variable("release", "Release", "Installations.", 'label_values(fogfall_build_info{namespace=~"$namespace"}, release)'),
    variable("run", "Run", "Runs.", f"label_values(fogfall_build_info{{{OF_RELEASE}}}, run)"),
]
POD = variable(
    "pod", "Actor", "Actors, or a learner that plays itself.", f"label_values(fogfall_play_threads{{{SELECTOR}}}, pod)"
)


def annotation(name, color, expr, title, text, enable, by_value=False):
    """Marks in all graphs. With `by_value` a series' value is the mark's time in milliseconds."""
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": enable,
        "iconColor": color,
        "expr": select(expr),
        "step": "10s",
        "titleFormat": title,
        "textFormat": text,
        "tagKeys": "run",
        "useValueForTime": by_value,
    }


ANNOTATIONS = [
    {
        "builtIn": 1,
        "name": "Annotations & Alerts",
        "type": "dashboard",
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
    },
    annotation(
        "Learner started",
        "purple",
        'max by (run) (process_start_time_seconds{@,role="learner"}) * 1000',
        "learner of {{run}} started",
        "It goes on from its last checkpoint, under a new epoch.",
        enable=True,
        by_value=True,
    ),
    annotation(
        "Checkpoints",
        "blue",
        "max by (run) (fogfall_last_checkpoint_timestamp_seconds{@}) * 1000",
        "checkpoint of {{run}}",
        "A start with --resume latest goes on from here.",
        enable=False,
        by_value=True,
    ),
]


@dataclass(frozen=True)
class Dashboard:
    """A dashboard: panels above all rows, then rows."""

    uid: str
    title: str
    about: str
    top: tuple = ()
    rows: tuple = ()
    variables: tuple = ()

    def json(self):
        panels, number, y = laid_out(self.top, 1, 0)
        for row in self.rows:
            place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
            head = {
                "id": number,
                "type": "row",
                "title": row.title,
                "collapsed": row.collapsed,
                "gridPos": place,
                "panels": [],
            }
            inside, number, below = laid_out(row.panels, number + 1, y + 1)
            panels.append(head)
            if row.collapsed:
                head["panels"] = inside
                y += 1
            else:
                panels += inside
                y = below
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["fogfall"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-3h", "to": "now"},
            "timezone": "browser",
            "links": [
                {
                    "type": "dashboards",
                    "title": "Fogfall",
                    "tooltip": "The other dashboards, for the same runs and time.",
                    "tags": ["fogfall"],
                    "icon": "external link",
                    "asDropdown": False,
                    "includeVars": True,
                    "keepTime": True,
                    "targetBlank": False,
                    "url": "",
                }
            ],
            "annotations": {"list": ANNOTATIONS},
            "templating": {"list": [*VARIABLES, *self.variables]},
            "panels": panels,
        }
