"""What holds for all tests."""

import os
import signal
from fnmatch import fnmatchcase
from typing import Any

# Workers of pytest-xdist share the cores. With OpenMP's own threads on top of them, threads wait for each other most of the time.
# Set before anything imports scikit-learn.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

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
    """Mark the cases of a test as slow that its marker `slow_cases` names, by the ids of its parameters."""
    for item in items:
        case = item.name.partition("[")[2][:-1]
        if any(fnmatchcase(case, pattern) for mark in item.iter_markers("slow_cases") for pattern in mark.args):
            item.add_marker(pytest.mark.slow)
