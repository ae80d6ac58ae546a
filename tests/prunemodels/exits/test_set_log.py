"""A search for item sets that is stopped and goes on."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.exits import elimination


@pytest.fixture
def examples():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:250, :8], y[:250]


def _cascade(place, **more):
    settings = {"costs": [1, 2, 1, 3, 1, 1, 2, 1], "budget": 3, "random_state": 0, "checkpoint": place, **more}
    return pm.BudgetCascadeClassifier(DecisionTreeClassifier(min_samples_leaf=10, random_state=0), **settings)


def test_a_stopped_search_goes_on_where_it_was_and_ends_as_an_unbroken_one(examples, tmp_path, monkeypatch):
    """Ctrl-C in the middle loses at most one step; the sets, and so the model, are those of a fit that was not stopped."""
    whole = _cascade(None).fit(*examples)
    steps, original = [], elimination._Search.smaller

    def interrupted(self, *args):
        steps.append(1)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(elimination._Search, "smaller", interrupted)
    place = tmp_path / "sets.json"
    with pytest.raises(KeyboardInterrupt):
        _cascade(place).fit(*examples)
    assert len(json.loads(place.read_text())["sets"]) == 4  # all items, and three steps
    resumed = _cascade(place).fit(*examples)
    assert len(steps) - 4 == len(whole.item_sets_) - 4  # the three steps that were kept are not made again
    assert resumed.item_sets_ == whole.item_sets_
    assert (resumed.predict_proba(examples[0]) == whole.predict_proba(examples[0])).all()


def test_a_checkpoint_serves_one_search_at_a_time(examples, tmp_path, monkeypatch):
    """A second search with the same checkpoint is refused while the first is at work."""
    place, original = tmp_path / "sets.json", elimination._Search.smaller

    def second(self, *args):
        monkeypatch.setattr(elimination._Search, "smaller", original)
        with pytest.raises(pm.errors.BrokenFileError, match=r"another run, process \d+, is writing .*sets\.json"):
            _cascade(place).fit(*examples)
        return original(self, *args)

    monkeypatch.setattr(elimination._Search, "smaller", second)
    _cascade(place).fit(*examples)
    assert elimination._Search.smaller is original
    assert [file.name for file in tmp_path.iterdir()] == ["sets.json"]


def test_a_checkpoint_of_other_examples_or_settings_is_refused(examples, tmp_path):
    """The fingerprint covers examples, labels, prices and the estimator; the file stays as it was."""
    X, y = examples
    place = tmp_path / "sets.json"
    _cascade(place).fit(X, y)
    before = place.read_bytes()
    others = [
        lambda: _cascade(place).fit(X + 1, y),
        lambda: _cascade(place).fit(X, 1 - y),
        lambda: _cascade(place, costs=2).fit(X, y),
        lambda: _cascade(place, random_state=1).fit(X, y),
        lambda: _cascade(place).set_params(estimator__min_samples_leaf=11).fit(X, y),
        lambda: _cascade(place).fit(X, y, sample_weight=np.linspace(1, 2, len(y))),
    ]
    for other in others:
        with pytest.raises(pm.errors.InvalidInputError, match="belongs to a search with other examples"):
            other()
    assert place.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": 1}', '{"fingerprint": "x", "sets": "y"}'])
def test_a_file_that_is_no_checkpoint_is_refused_by_name(examples, tmp_path, text):
    """Nothing is overwritten: the error names the file and the remedy."""
    place = tmp_path / "sets.json"
    place.write_text(text)
    with pytest.raises((pm.errors.BrokenFileError, pm.errors.InvalidInputError), match="remove it"):
        _cascade(place).fit(*examples)
    assert place.read_text() == text
