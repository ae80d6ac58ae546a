"""A mixture in files: two forests, and a small JSON file that names them and says how often each is used.

    NAME.mixture.json    {"weight": "5/7", "dearer": "NAME.dearer.skops", "cheaper": "NAME.cheaper.skops", ...}

The weight is written as an exact fraction, so that the mixture that is read back has exactly the same weight. The forests are in
the folder of the JSON file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formulations.answers.limited_solution import LimitedSolution
from formulations.arguments import Seed, checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.stored_arrays import stored_fraction, stored_json
from prunemodels.files.forests import check_model_file, dump_forest, load_forest
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.forests.mixture import MixturePredictor, mixture_of

ENDING = ".mixture.json"


def mixture_files(out: Path, outputs: OutputFiles) -> list[Path]:
    """NAME.cheaper.skops, NAME.dearer.skops and NAME.mixture.json beside NAME.skops, reserved for ``--mixture``."""
    names = (f"{out.stem}.cheaper{out.suffix}", f"{out.stem}.dearer{out.suffix}", f"{out.stem}{ENDING}")
    return [outputs.reserve(out.with_name(name), "--mixture") for name in names]


def write_mixture(files: Sequence[Path], outputs: OutputFiles, solution: LimitedSolution, forest: Any) -> None:
    """Both forests, and the JSON file that joins them, into `mixture_files`; `load_mixture` reads them."""
    cheaper, dearer, weight = files
    mixture = mixture_of(solution.relaxation, forest)
    dump_forest(mixture.cheaper, outputs.aside(cheaper))
    dump_forest(mixture.dearer, outputs.aside(dearer))
    entries = {
        "budget": str(solution.budget),
        "weight": str(mixture.weight),
        "dearer": dearer.name,
        "cheaper": cheaper.name,
        "meaning": "predict each example by the dearer forest with probability weight, else by the cheaper",
    }
    outputs.aside(weight).write_text(json.dumps(entries, indent=2) + "\n")


@checked
def load_mixture(
    path: str | Path,
    *,
    trust_pickle: bool = False,
    random_state: Seed | np.random.Generator | None = None,
    stratified: bool = False,
) -> MixturePredictor:
    """Read the mixture that ``prunemodels prune --mixture`` wrote.

    Parameters
    ----------
    path
        NAME.mixture.json; the two forests are in its folder.
    trust_pickle
        as in `prunemodels.files.forests.load_forest`: joblib forests run code when they are loaded, skops forests do not.
    random_state, stratified
        see `MixturePredictor`; the file does not store them.

    Raises
    ------
    InvalidInputError
        for another ending, a joblib forest without `trust_pickle`, or a weight outside 0 to 1.
    BrokenFileError
        if a file is absent or damaged, or the JSON file names a forest outside its own folder.
    UnsupportedModelError, NotFittedForestError
        if a forest's file holds something else.

    Examples
    --------
    >>> import contextlib
    >>> import io
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import prunemodels as pm
    >>> from prunemodels.command_line.cli import main
    >>> from prunemodels.example import X_test, X_valid, costs, forest
    >>> with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
    ...     folder = Path(name)
    ...     pm.save_forest(forest, folder / "forest.skops")
    ...     X_valid.to_csv(folder / "rows.csv", index=False)
    ...     pd.Series(costs, name="cost").to_csv(folder / "costs.csv", index_label="feature")
    ...     files = ["forest.skops", "--data", "rows.csv", "--costs", "costs.csv", "--out", "cheap.skops"]
    ...     with contextlib.chdir(folder):
    ...         status = main(["prune", *files, "--budget", "10", "--mixture"])
    ...     mixture = pm.budgets.load_mixture(folder / "cheap.mixture.json", random_state=0)
    ...
    >>> mixture.predict(X_test[:5])
    array([0, 1, 1, 1, 1])
    """
    place = Path(path)
    if not place.name.endswith(ENDING):
        raise InvalidInputError(f"{place} is not a mixture; give the file ending in {ENDING} that `prune --mixture` wrote")
    entries = _read(place)
    files = [_beside(place, entries, which) for which in ("cheaper", "dearer")]
    for file in files:
        check_model_file(file, "forest", trust_pickle=trust_pickle)
    cheaper, dearer = (load_forest(file, trust_pickle=trust_pickle) for file in files)
    weight = stored_fraction(_entry(place, entries, "weight"), f"{place}: 'weight'")
    return MixturePredictor(cheaper, dearer, weight, random_state, stratified=stratified)


def _read(place: Path) -> dict[str, Any]:
    """The JSON file as a mapping."""
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}; `prunemodels prune --mixture` writes one beside --out")
    try:
        text = place.read_bytes()
    except OSError as error:
        raise BrokenFileError(f"cannot read {place}: {error.strerror or error}") from error
    entries = stored_json(text, str(place))
    if not isinstance(entries, dict):
        raise BrokenFileError(f"{place} holds a {type(entries).__name__}, not a mixture; write it again with `prune --mixture`")
    return entries


def _entry(place: Path, entries: dict[str, Any], key: str) -> str:
    """An entry of the file, which must be there and a text."""
    if not isinstance(entries.get(key), str):
        raise BrokenFileError(f"{place}: {key!r} is {entries.get(key)!r}, but must be a text; write the mixture again")
    return str(entries[key])


def _beside(place: Path, entries: dict[str, Any], which: str) -> Path:
    """The path of a forest, which the JSON file names without a folder, because it is in its own."""
    name = _entry(place, entries, which)
    if name != Path(name).name or name in ("", ".", ".."):
        raise BrokenFileError(
            f"{place}: {which!r} is {name!r}, outside its folder; put both forests into the folder, "
            "and give their names without one"
        )
    return place.with_name(name)
