"""What holds for all tests."""

import os
import re
import signal
import zlib
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


def pytest_addoption(parser: Any) -> None:
    """``--part k/n``, which `make test-slow PART=k/n` gives."""
    parser.addoption("--part", metavar="k/n", help="the k-th of n parts of the tests; whole files, by their names")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what -m says
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Mark the cases that `slow_cases` names, by the ids of their parameters; leave out the files of other parts."""
    for item in items:
        case = item.name.partition("[")[2][:-1]
        if any(fnmatchcase(case, pattern) for mark in item.iter_markers("slow_cases") for pattern in mark.args):
            item.add_marker(pytest.mark.slow)
    if config.option.part is not None:
        part, parts = part_of(config.option.part)
        others = [item for item in items if zlib.crc32(item.nodeid.partition("::")[0].encode()) % parts != part - 1]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in {*others}]


def part_of(text: str) -> tuple[int, int]:
    """``2/3`` as (2, 3)."""
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise pytest.UsageError(f"--part {text}: name the k-th of n parts, as in --part 1/3")
    return int(numbers[1]), int(numbers[2])
