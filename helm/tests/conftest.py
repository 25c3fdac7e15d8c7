"""Lets tests import what the checks of the chart share (scripts/checks/chart), and keeps the tree clean of their files."""

import pathlib
import sys

from hypothesis import configuration

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "checks"))
configuration.set_hypothesis_home_dir(ROOT / ".tools" / "hypothesis")
