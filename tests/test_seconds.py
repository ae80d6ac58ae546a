"""The list of slow tests, and who writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seconds import Stopwatch

ROOT = Path(__file__).resolve().parent.parent


def test_the_stopwatch_lists_what_takes_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of two tests, one of them busy for longer than allowed; nothing is written where a test failed."""
    monkeypatch.setattr("tests.seconds.LIST", tmp_path / "list.txt")
    clock = iter([0.0, 0.1, 1.0, 9.0])
    monkeypatch.setattr("tests.seconds.cpu_seconds", lambda: next(clock))
    watch = Stopwatch()
    for name in ("quick", "busy"):
        run = watch.pytest_runtest_protocol(type("Item", (), {"nodeid": name}))
        next(run)
        assert next(run, None) is None
    watch.pytest_sessionfinish(pytest.ExitCode.TESTS_FAILED)
    assert not (tmp_path / "list.txt").exists()
    watch.pytest_sessionfinish(pytest.ExitCode.OK)
    assert (tmp_path / "list.txt").read_text() == "busy\n"
