"""The benchmarks of scale, on tiny instances: generators, and the whole run that goes on."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import hepmass_like, scale, yahoo_like


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
    """Solved to the gap, to the optimum and for all lambdas, memory told before."""
    rows = partial(scale.SHAPES[name].rows, block={"hepmass": 1500, "yahoo": 20}[name])
    tiny = replace(scale.SHAPES[name], rows=rows, n_train=300, n_cost=1200, trees=3)
    monkeypatch.setattr(scale, "SHAPES", {name: tiny})
    scale.grow(tiny, tmp_path / scale.forest_file(name, tiny))
    told = scale.measure(name, tiny, tmp_path, 1)
    assert told["gap"] <= scale.GAP
    assert told["gap_of_optimum"] == 0
    assert told["status"] == "optimal"
    assert len(told["beside_edges"]) == 8
    assert all(row["gap"] == 0.0 and row["as on the path"] for row in told["beside_edges"])
    assert told["prunings_of_the_whole_path"] > 4
    assert told["memory"].startswith("needs ")
    assert told["peak_memory_mb"] > 0
    out = capsys.readouterr()
    assert "usage arcs: " in out.out
    assert json.loads((tmp_path / f"scale-{name}.json").read_text()) == told
    monkeypatch.setattr(sys, "argv", ["scale", "--data", name, "--out", str(tmp_path), "--measure"])
    scale.main()


def test_the_forest_is_grown_apart_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process measures what the first has grown; a forest that is there is not grown again."""
    told: list[list[str]] = []
    grown: list[Path] = []

    class Done:
        returncode = 0

    def run(command: list[str], *, check: bool) -> Done:
        assert not check
        told.append(command)
        return Done()

    monkeypatch.setattr(scale.subprocess, "run", run)
    monkeypatch.setattr(scale, "grow", lambda _, file: (grown.append(file), file.write_text("")))
    for options in (["--out", str(tmp_path / "new")], ["--out", str(tmp_path / "new")], []):
        monkeypatch.setattr(sys, "argv", ["scale", *options])
        with pytest.raises(SystemExit) as stopped:
            scale.main()
        assert stopped.value.code == 0
    assert len(grown) == 2
    monkeypatch.setattr(sys, "argv", ["scale", "--train", "200000", "--out", str(tmp_path / "new")])
    with pytest.raises(SystemExit):
        scale.main()
    assert grown.pop().name == "forest-hepmass-40-200000.joblib"  # another forest, and the measuring process is told
    assert told.pop()[-2:] == ["--train", "200000"]
    assert grown[0] == tmp_path / "new" / "forest-hepmass-40-100000.joblib"
    assert told[0] == told[1]
    assert told[0][1:] == [
        "-m",
        "benchmarks.scale",
        "--data",
        "hepmass",
        "--edges",
        "0",
        "--out",
        str(tmp_path / "new"),
        "--measure",
    ]
