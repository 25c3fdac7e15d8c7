"""What must hold of every rendering of the chart, one function a law. A law says what breaks it; silence is consent.

Each law has a mutant in `test_laws.py`, a change to a good rendering that it has to object to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from renderings import Rendering

Law = Callable[[Rendering], Iterator[str]]
LAWS: dict[str, Law] = {}


def law(function: Law) -> Law:
    LAWS[function.__name__] = function
    return function


from laws import network, references, security, workloads  # noqa: E402, F401 (they register their laws)
