"""What holds for all tests."""

import os
import signal
from typing import Any

# Workers of pytest-xdist share the cores. With OpenMP's own threads on top of them, threads wait for each other most of the time.
# Set before anything imports scikit-learn.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.seconds import LIST

# the same examples in every run, so that a failure is of the change that it is seen with; `explore` looks for new ones;
# no deadline, since an example may be the first to call a kernel, and wait for its compilation
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# a shell that runs this in the background has SIGINT ignored, and processes inherit that; tests send Ctrl-C to theirs
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what -m says
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark the tests of the list in `tests.seconds` as slow."""
    slow = set(LIST.read_text(encoding="utf-8").splitlines()) if LIST.exists() else set()
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)
