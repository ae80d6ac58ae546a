"""The benchmarks of scale and of big tables, on tiny instances: generators, the whole run, and that each way ends alike."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import big_tables, hepmass_like, scale, yahoo_like


def test_events_are_the_same_however_many() -> None:
    """Half of HEPMASS-like events are signal, the first rows do not depend on their number, and masses tell the classes apart."""
    X, y = hepmass_like.events(3000, 0)
    shorter, fewer = hepmass_like.events(500, 0)
    np.testing.assert_array_equal(X[:500], shorter)
    np.testing.assert_array_equal(y[:500], fewer)
    assert X.shape == (3000, 28)
    assert X.dtype == np.float32
    assert np.isfinite(X).all()
    assert 0.45 < y.mean() < 0.55
    assert X[y == 1, 25].mean() - X[y == 0, 25].mean() > 0.3  # the mass of all that is seen, as a logarithm
    assert not np.array_equal(hepmass_like.events(500, 1)[0], shorter)


def test_documents_are_those_of_queries() -> None:
    """Some 24 documents share a query's features, three of four are relevant, the first rows do not depend on their number."""
    X, y = yahoo_like.documents(1500, 0, block=20)
    shorter, fewer = yahoo_like.documents(700, 0, block=20)
    np.testing.assert_array_equal(X[:700], shorter)
    np.testing.assert_array_equal(y[:700], fewer)
    assert X.shape == (1500, 519)
    assert len(np.unique(X, axis=0)) == 1500
    assert ((X >= 0) & (X <= 1)).all()
    assert 0.6 < y.mean() < 0.85
    kind = yahoo_like._Features(0).kind
    of_query = X[:, (kind == 0) & (yahoo_like._Features(0).steps == 4096)]
    both = (of_query[1:] > 0) & (of_query[:-1] > 0)  # a document may lack a group of features
    same = ((of_query[1:] == of_query[:-1]) | ~both).all(axis=1)
    assert 15 < 1500 / (1 + (~same).sum()) < 35
    for price, n in zip(yahoo_like.PRICE_CLASSES, yahoo_like.FEATURES_BY_PRICE, strict=True):
        assert (yahoo_like.prices() == price).sum() == n
    assert sum(yahoo_like.FEATURES_BY_PRICE) == 519


@pytest.mark.parametrize("name", ["hepmass", "yahoo"])
def test_a_whole_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Solved to the gap, to the optimum and for all lambdas; a forest that is there is not grown again."""
    rows = partial(scale.SHAPES[name].rows, block={"hepmass": 1500, "yahoo": 20}[name])
    monkeypatch.setattr(scale, "SHAPES", {name: replace(scale.SHAPES[name], rows=rows, trees=3)})
    tiny = replace(scale.SHAPES[name], n_train=300, n_cost=1200)
    scale.grow(tiny, tmp_path / scale.forest_file(name, tiny))
    monkeypatch.setattr(scale, "apart", None)
    words = ["scale", "--data", name, "--train", "300", "--cost", "1200", "--edges", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    scale.main()
    told = json.loads((tmp_path / f"scale-{name}-300.json").read_text())
    assert told["gap"] <= scale.GAP
    assert (told["gap_of_optimum"], told["status"], told["check_of_the_whole_path"]) == (0, "optimal", "True")
    assert len(told["beside_edges"]) == 8
    assert all(row["gap"] == 0.0 and row["as on the path"] for row in told["beside_edges"])
    assert told["prunings_of_the_whole_path"] > 4
    assert told["peak_memory_mb"] > 0
    assert f"usage arcs: {told['usage_arcs']:,}" in capsys.readouterr().out


def test_every_way_ends_where_memory_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """700 rows in pieces of 300 with seeds of their own: digests agree between the ways of a kind, and each has a peak."""
    monkeypatch.setattr(big_tables, "events", partial(big_tables.events, block=1000))
    monkeypatch.setattr(big_tables, "PIECE", 300)
    monkeypatch.setattr(big_tables, "TRAINING_ROWS", 400)
    monkeypatch.setattr(big_tables, "apart", lambda work, *given: work(*given))
    big_tables.run(tmp_path, 700, 3, list(big_tables.WAYS))
    head, *lines = [line for line in capsys.readouterr().out.splitlines() if line.strip("| -:")]
    assert head.startswith("700 rows x 28 features")
    ends: dict[str, set[str]] = {}
    for _, way, seconds, peak, anonymous, found, _ in (line.split("|") for line in lines[1:]):
        assert [cell.split()[1] for cell in (seconds, peak, anonymous)] == ["s", "MB", "MB"]
        ends.setdefault(way.split(",")[0].strip(), set()).add(found.split(",")[-1].strip())
    assert {kind: len(found) for kind, found in ends.items()} == {"instance": 1, "solve": 1}
