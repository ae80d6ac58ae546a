"""The mean costs of a prediction at which methods are compared, for each data set, rising; the last one buys everything.

They are listed here, so that the tables can be made again without the data.
"""

from __future__ import annotations

from formulations.errors import InvalidInputError

SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Budgets of small sets, as shares of the price of all features."""

FULL_PRICES = {
    "heart_cleveland": 323.97,
    "heart_statlog": 323.97,
    "hepatitis": 42.98,
    "pima": 44.29,
    "bupa": 30.54,
    "ann_thyroid": 69.81,
    "breast_cancer": 30.0,
    "wine": 13.0,
    "diabetes": 10.0,
    "digits": 64.0,
    "satimage": 36.0,
    "waveform40": 40.0,
}
"""Prices of all features of small sets: dollars with discounts, or the number of features."""

_COVERTYPE = (2.0, 3.0, 4.5, 6.5, 9.0, 12.0, 16.0, 20.0)

_LARGE = {
    "miniboone": (2.0, 3.0, 5.0, 8.0, 10.0, 12.0, 16.0, 20.0, 25.0, 50.0),
    "covtype_two": (*_COVERTYPE, 54.0),
    "covtype426k": (*_COVERTYPE, 54.0),
    "elevation": (*_COVERTYPE, 53.0),
}


def budgets_of(name: str) -> tuple[float, ...]:
    """The budgets of a data set.

    Raises
    ------
    InvalidInputError
        for a name without budgets.
    """
    if name in _LARGE:
        return _LARGE[name]
    if name in FULL_PRICES:
        return tuple(float(f"{share * FULL_PRICES[name]:.6g}") for share in SHARES)
    raise InvalidInputError(f"{name!r} has no budgets; give one of {', '.join((*FULL_PRICES, *_LARGE))}")
