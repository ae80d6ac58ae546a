"""The fuzzer of cascades finds nothing in a few."""

from __future__ import annotations

import pytest

from benchmarks.fuzzing import cascades


@pytest.mark.slow
def test_a_few_cascades_keep_their_word() -> None:
    """Trees of classes and numbers, with weights of 0, validation rows and items paid once among them."""
    assert [wrong for seed in range(4) for wrong in cascades.findings(seed)] == []
