"""Grafana's dashboards as declarations; `scripts/dashboards` writes them as JSON into the chart."""

from . import actors, data, learner, overview

ALL = [overview.DASHBOARD, actors.DASHBOARD, data.DASHBOARD, learner.DASHBOARD]
