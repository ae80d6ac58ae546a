"""What the table of bounds claims."""

from __future__ import annotations

from benchmarks.confidence import ALPHA, POPULATIONS, share_too_low, table


def test_students_bound_misses_its_level_where_few_rows_are_dear() -> None:
    """It is near 10 % for even costs and far above for few dear rows; betting keeps the level for both."""
    t, betting = ({name: share_too_low(name, method, 100, 400) for name in POPULATIONS} for method in ("t", "betting"))
    assert t["few are dear"] > 2 * ALPHA > t["even"]
    assert max(betting.values()) <= ALPHA


def test_the_table_has_a_line_for_each_population_and_size() -> None:
    """Head, rule, and a line each."""
    lines = table((5, 10), 10).splitlines()
    assert len(lines) == 2 + 2 * len(POPULATIONS)
    assert lines[2].startswith("| even | 5 | ")
