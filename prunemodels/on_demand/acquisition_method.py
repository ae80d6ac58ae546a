"""A predictor in the form that methods have in benchmarks of active feature acquisition."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Range, checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.cascade_files import load_cascade, save_cascade
from prunemodels.files.forests import load_forest, save_forest
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.costs import Costs
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.walk import Walk

MODEL, SETTINGS = "model.skops", "method.json"
"""The files of a saved method."""


class AcquisitionMethod:
    """Says which feature to acquire next, and predicts from those acquired: a method for benchmarks such as AFABench.

    The contract is that of ``AFAMethod`` in AFABench's repository as of 2026: `act`, which earlier versions call `select`, takes
    a batch of features, 0 where they are unknown, and a mask of the known ones, and returns 0 to stop or 1 + the place of the
    next feature, one column; `predict` returns class probabilities; `save` and ``load(path, device)`` use a folder; `to`,
    `device`, `has_builtin_classifier`, `cost_param`, `set_cost_param` and `set_seed` exist. A selection is one feature.
    Arrays come back as arrays, torch's tensors as tensors of the same device.

    Parameters
    ----------
    model, costs
        as in `OnDemandPredictor`. What a feature shares with acquired ones is paid, and costs nothing more.
    early_stopping, tolerance, max_cost
        as in `OnDemandPredictor`; a hard budget is a `max_cost`.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `OnDemandPredictor`.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> method = pm.on_demand.AcquisitionMethod(forest, costs, early_stopping=True)
    >>> X = X_test.to_numpy()[:3]
    >>> known = np.zeros(X.shape, dtype=bool)
    >>> while (actions := method.act(X * known, known)).any():
    ...     rows = np.flatnonzero(actions)
    ...     known[rows, actions[rows, 0] - 1] = True
    ...
    >>> known.sum(axis=1), method.predict(X * known, known).argmax(axis=1)
    (array([5, 4, 4]), array([0, 1, 1]))
    """

    @checked
    def __init__(
        self,
        model: Any,
        costs: Costs | None = None,
        *,
        early_stopping: bool = False,
        tolerance: Annotated[float, Range(0, math.inf, open_above=True)] | None = None,
        max_cost: Price | None = None,
    ) -> None:
        self._model, self._device = model, "cpu"
        self._options: dict[str, Any] = {"early_stopping": early_stopping, "tolerance": tolerance, "max_cost": max_cost}
        self._predictor = OnDemandPredictor(model, costs, **self._options)

    @checked
    def act(
        self,
        masked_features: Any,
        feature_mask: Any,
        selection_mask: Any = None,
        label: Any = None,
        feature_shape: Sequence[int] | None = None,
    ) -> Any:
        """The next action of each row.

        Parameters
        ----------
        masked_features, feature_mask
            values and whether they are known, shape (batch, features); any batch and feature shapes if `feature_shape` is given.
        selection_mask
            bool, like `feature_mask`: features that were asked for. One that was, and is not known, cannot be had.
        label
            ignored.
        feature_shape
            the last dimensions of `masked_features` that make one row.

        Returns
        -------
        array or tensor
            integers, shape (batch, 1): 0 to stop, or 1 + the place of the feature.

        Raises
        ------
        InvalidInputError
            for shapes that do not fit the model.
        """
        walk, batch = self._walk(masked_features, feature_mask, selection_mask, feature_shape)
        return _like(masked_features, (walk.next_features() + 1).reshape(*batch, 1), whole=True)

    select = act

    @checked
    def predict(
        self, masked_features: Any, feature_mask: Any, label: Any = None, feature_shape: Sequence[int] | None = None
    ) -> Any:
        """Class probabilities, shape (batch, K), or numbers, shape (batch, 1), from the features that are known.

        An open tree counts with the value of the node that the row has reached. Where a cascade has no answer yet, all classes
        are equally probable.

        Raises
        ------
        InvalidInputError
            as `act`.
        """
        walk, batch = self._walk(masked_features, feature_mask, None, feature_shape)
        walk.next_features()
        result = walk.result()
        said = result.predictions[:, None] if result.probabilities is None else result.probabilities
        if result.probabilities is not None:
            said = np.where(np.isnan(said), 1 / said.shape[1], said)
        return _like(masked_features, np.asarray(said, dtype=np.float64).reshape(*batch, said.shape[1]), whole=False)

    @checked
    def save(self, path: str | Path) -> None:
        """Write the method to a folder, which is made if it does not exist: the model as skops, the rest as JSON.

        Raises
        ------
        InvalidInputError, BrokenFileError
            if the model cannot be saved by `save_forest` or `save_cascade`, or the folder cannot be written.
        """
        folder, items, is_cascade = Path(path), self._predictor._plan.costs, isinstance(self._model, Cascade)
        if not folder.parent.is_dir():
            raise InvalidInputError(f"path: the folder {folder.parent} of {folder.name} does not exist; create it first")
        folder.mkdir(exist_ok=True)
        (save_cascade if is_cascade else save_forest)(self._model, folder / MODEL)
        options = self._options | {"max_cost": None if self._options["max_cost"] is None else str(self._options["max_cost"])}
        with OutputFiles() as outputs:
            told = json.dumps({"cascade": is_cascade, "costs": items.as_plain(), "options": options})
            outputs.aside(folder / SETTINGS).write_text(told, encoding="utf-8")

    @classmethod
    @checked
    def load(cls, path: str | Path, device: Any = "cpu") -> Self:
        """Read what `save` wrote.

        Raises
        ------
        BrokenFileError
            if the folder does not hold such a method.
        """
        try:
            told = json.loads((Path(path) / SETTINGS).read_text(encoding="utf-8"))
            items, options = CostItems.from_plain(told["costs"]), told["options"]
            options["max_cost"] = None if options["max_cost"] is None else Fraction(options["max_cost"])
            load = load_cascade if told["cascade"] else load_forest
        except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError) as error:
            raise BrokenFileError(
                f"{path} holds no method that AcquisitionMethod.save wrote ({error!r}); save it again"
            ) from error
        return cls(load(Path(path) / MODEL), None if told["cascade"] else items, **options).to(device)

    def to(self, device: Any) -> Self:
        """Note the device; computations stay on the processor, and answers go to the device of what was given."""
        self._device = device
        return self

    @property
    def device(self) -> Any:
        """What `to` was given."""
        return self._device

    @property
    def has_builtin_classifier(self) -> bool:
        """True: `predict` is the model's own."""
        return True

    @property
    def cost_param(self) -> float | None:
        """None: the trade-off between cost and error was made when the model was pruned."""
        return None

    @checked
    def set_cost_param(self, cost_param: float) -> None:
        """Do nothing: there is no such parameter. Prune with another budget, or give another `max_cost`."""

    @checked
    def set_seed(self, seed: int | None) -> None:
        """Do nothing: the method is deterministic."""

    def _walk(self, values: Any, mask: Any, asked: Any, feature_shape: Sequence[int] | None) -> tuple[Walk, tuple[int, ...]]:
        """A walk of the rows, flattened, and the shape of the batch."""
        X, known = _array(values), _array(mask).astype(bool)
        n_last = 1 if feature_shape is None else len(feature_shape)
        batch = X.shape[: X.ndim - n_last]
        flat = math.prod(batch), math.prod(X.shape[X.ndim - n_last :])
        if X.ndim < n_last or known.shape != X.shape or (asked is not None and _array(asked).size != known.size):
            raise InvalidInputError(
                f"masked_features has shape {X.shape} and the mask {known.shape}; give equal shapes (batch, features)"
            )
        performed = None if asked is None else _array(asked).astype(bool).reshape(flat)
        return self._predictor._partly_known(X.reshape(flat), known.reshape(flat), performed), batch


def _array(given: Any) -> NDArray[Any]:
    """An array of what was given; tensors leave their device and their graph."""
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


def _like(given: Any, answer: NDArray[Any], *, whole: bool) -> Any:
    """The answer as a tensor on the device of the given one, of whole numbers or of its own type; or as it is."""
    if not hasattr(given, "new_tensor"):
        return answer
    tensor = given.new_tensor(answer)
    return tensor.long() if whole else tensor
