"""What tests of dashboards and rules see in an expression."""

import promql
import pytest
from promql import known


def test_variables_and_intervals_are_replaced():
    assert promql.substituted('rate(a{x=~"$run"}[$__rate_interval])') == 'rate(a{x=~".*"}[5m])'


def test_selectors_are_found_wherever_they_are():
    expr = 'topk(3, max by (run) (a{x="1"}) - on (run) (sum(rate(b_total[5m])) or -c)) > quantile_over_time(0.5, d[1h])'
    assert list(promql.selectors(expr)) == [
        ("a", {"x": "1"}, ()),
        ("b_total", {}, ("rate",)),
        ("c", {}, ()),
        ("d", {}, ("quantile_over_time",)),
    ]


def test_a_selector_may_name_several_metrics():
    assert promql.metrics('max({__name__=~"a|b",role="x"})') == {"a", "b"}


def test_a_counter_alone_is_found_and_its_rate_is_not():
    assert promql.bare_counters("a_total + rate(b_total[5m]) + sum(increase(c_total[5m]))") == ["a_total"]


def test_a_label_or_value_that_a_metric_never_has_is_found():
    assert (
        promql.strange_labels('fogfall_games_total{run="x"} + rate(fogfall_loss{term="policy"}[5m]) + other{any="thing"}')
        == []
    )
    assert promql.strange_labels('fogfall_games_total{term="policy"}') == ["fogfall_games_total has no label term"]
    assert promql.strange_labels('fogfall_loss{term=~"policy|poverty"}') == ["fogfall_loss has no term policy|poverty"]


@pytest.mark.parametrize(
    ("expr", "kept"),
    [
        ("sum by (run, pod) (a)", {"run", "pod"}),
        ("sum(a)", set()),
        ("topk(3, max by (pod) (a))", {"pod"}),
        ("histogram_quantile(0.5, sum by (run, le) (rate(a_bucket[5m])))", {"run"}),
        ("time() - (max by (run) (a) > 0)", {"run"}),
        ("max by (run) (a) - on (run) group_right () max by (run, pod) (b)", {"run", "pod"}),
        ("a", None),
    ],
)
def test_labels_that_a_query_keeps_are_known_where_it_names_them(expr, kept):
    assert promql.labels(promql.parse(expr)) == kept


def test_every_row_of_the_list_of_metrics_is_read():
    rows = [line for line in known.LIST.read_text().splitlines() if line.startswith("| `fogfall_")]
    assert len(known.PRODUCT) == len(rows) > 50
    assert known.PRODUCT["fogfall_loss"] == known.Metric("gauge", "term", ("total", "policy", "value", "weights"))
