"""Expressions of PromQL taken apart, for the tests of dashboards and rules."""

import pathlib
import re
import sys

import promql_parser as promql

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from dashboards import metrics as known  # noqa: E402 (found by the line above)

# Functions that make sense of a counter, which alone only says how long a process has lived.
OF_COUNTERS = {"rate", "irate", "increase"}


def substituted(expr):
    """The expression as Grafana would ask it, with any value for its variables."""
    expr = expr.replace("$__rate_interval", "5m").replace("$__range", "1h").replace("$__interval", "1m")
    return re.sub(r"\$\{?\w+\}?", ".*", expr)


def parse(expr):
    return promql.parse(substituted(expr))


def nodes(node, inside=()):
    """All nodes of an expression, with the names of the functions around each."""
    yield node, inside
    match node:
        case promql.Call():
            for argument in node.args:
                yield from nodes(argument, (*inside, node.func.name))
        case promql.BinaryExpr():
            yield from nodes(node.lhs, inside)
            yield from nodes(node.rhs, inside)
        case promql.MatrixSelector():
            yield from nodes(node.vector_selector, inside)
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from nodes(node.expr, inside)


def names(selector):
    """The names that a selector asks for."""
    if selector.name:
        return [selector.name]
    named = [matcher.value for matcher in selector.matchers.matchers if matcher.name == "__name__"]
    return [name for value in named for name in value.split("|")]


def selectors(expr):
    """(name, {label: value}, functions around it) for each selector of an expression."""
    for node, inside in nodes(parse(expr)):
        if isinstance(node, promql.VectorSelector):
            matchers = {matcher.name: matcher.value for matcher in node.matchers.matchers}
            for name in names(node):
                yield name, matchers, inside


def metrics(expr):
    return {name for name, _, _ in selectors(expr)}


def bare_counters(expr):
    """Counters that are not made a rate or an increase."""
    return [name for name, _, inside in selectors(expr) if name.endswith("_total") and not OF_COUNTERS & set(inside)]


def strange_labels(expr):
    """Labels and values that a selector asks of a metric of the product which never has them."""
    scraped = {"namespace", "release", "component", "pod", "run", "role", "le", "__name__"}
    found = []
    for name, matchers, _ in selectors(expr):
        metric = known.PRODUCT.get(known.family(name))
        for label, value in matchers.items() if metric else ():
            wanted = value.split("|")
            if label not in scraped | {metric.label}:
                found.append(f"{name} has no label {label}")
            elif label == metric.label and metric.values and not set(wanted) <= set(metric.values):
                found.append(f"{name} has no {label} {value}")
    return found


def labels(node):
    """The labels that series of an expression keep; None if nobody can say."""
    match node:
        case promql.AggregateExpr() if str(node.op) in ("topk", "bottomk"):
            return labels(node.expr)
        case promql.AggregateExpr():
            return set(node.modifier.labels) if node.modifier else set()
        case promql.Call() if node.func.name == "histogram_quantile":
            inner = labels(node.args[1])
            return inner and inner - {"le"}
        case promql.BinaryExpr():
            sides = [labels(node.lhs), labels(node.rhs)]
            many_right = node.modifier and "Right" in str(node.modifier.card)
            known = [side for side in (sides[::-1] if many_right else sides) if side is not None]
            return max(known, key=len) if known else None
        case promql.ParenExpr() | promql.UnaryExpr():
            return labels(node.expr)
        case _:
            return None
