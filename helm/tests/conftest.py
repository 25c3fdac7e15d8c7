"""Lets tests import what the checks of the chart share (scripts/checks/chart)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "checks"))
