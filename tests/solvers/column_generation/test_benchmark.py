"""What the benchmark's table claims beyond seconds, on a tiny instance."""

from __future__ import annotations

from benchmarks import dantzig_wolfe


def test_every_scheme_has_a_line_and_closes_the_gap() -> None:
    """All parts are run, prove the optimum of the cut to 1e-6, and are told with their sizes and seconds."""
    told = dantzig_wolfe.table(dantzig_wolfe.QUICK, dantzig_wolfe.PARTS, 60.0).splitlines()
    assert len(told) == 2 + len(dantzig_wolfe.PARTS)
    assert {line.count("|") for line in told} == {14}
    assert not any("gap" in line for line in told[2:])
    assert dantzig_wolfe.PARTS["textbook"] is dantzig_wolfe.SCHEMES["textbook"]
