"""Arguments are checked once, at the public door, against the annotations of the function that takes them.

``@checked`` stands above every public function and above the classes that users build. A function is only marked by it: our own
code calls it as it is, and the namespaces of `prunemodels` give users the form that checks, see `at_the_door`. Methods,
constructors and the engines of registries have one form, which checks. The first call reads the annotations. From then on an
argument of another kind is refused before the function starts: a word that is not one of a `Literal`, text for a number, a
forest for a `PruningProblem`. What an annotation cannot say, a range, stands beside the type: ``Annotated[float, Range(0)]``; a
text there replaces the words of the message. So the signature is the one place that says what a function takes, and type
checkers read the same one.

A `Decimal` counts as the fraction that it is: where a function takes numbers, it is given that `Fraction`.

A call costs about a microsecond for each argument that is given. What depends on values (lengths, the entries of an array, one
argument against another) the functions check themselves. Arguments annotated with `Any` or `object`, such as forests of other
libraries, are read by functions that refuse what they cannot read.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Annotated, Any, Literal, NoReturn, Self, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from formulations.errors import InvalidInputError
from formulations.shown import article, shown

Target = TypeVar("Target", bound=Callable[..., Any])

MOST_DECIMALS = 400
"""Largest power of ten of a `Decimal` that becomes a fraction: one of 10^9 digits would fill the memory."""


@dataclass(frozen=True)
class Range:
    """An interval of numbers, for ``Annotated[float, Range(0, 1)]``."""

    # least, most: its ends.
    least: float = -math.inf
    most: float = math.inf
    # open_below, open_above: whether the end itself is outside.
    open_below: bool = False
    open_above: bool = False

    def holds(self, number: Any) -> bool:
        """Whether the number lies in the interval."""
        above = number > self.least if self.open_below else number >= self.least
        return bool(above and (number < self.most if self.open_above else number <= self.most))

    def __str__(self) -> str:
        least, most = f"{self.least:g}", "infinity" if self.most == math.inf else f"{self.most:g}"
        if self.most == math.inf:
            return (f"above {least}" if self.open_below else f">= {least}") + " and finite" * self.open_above
        if self.open_below and self.open_above:
            return f"between {least} and {most}"
        return f"from {least}{' (excluded)' * self.open_below} to {most}{' (excluded)' * self.open_above}"


Seconds = Annotated[float, Range(0)]
"""A time limit: 0 or more, `math.inf` for none."""

Column = Annotated[str, "the name of a column"] | ArrayLike | None
"""Labels or weights: one value a row, or the name of a column of a table that is read in chunks."""

Finite = Annotated[float, Range(0, math.inf, open_above=True)]
"""0 or more, and not infinite."""

Positive = Annotated[float, Range(0, math.inf, open_below=True, open_above=True)]
"""Above 0, and not infinite."""

Share = Annotated[float, Range(0, 1, open_below=True, open_above=True)]
"""A part of a whole: between 0 and 1."""

NotNegative = Annotated[float, Range(0)]
"""A number that is at least 0, such as a tolerance; `math.inf` is one."""

Count = Annotated[int, Range(1)]
"""How many: a whole number, at least 1."""

Natural = Annotated[int, Range(0)]
"""A whole number, at least 0."""

Seed = Annotated[int, Range(0, 2**32 - 1)]
"""A seed of NumPy's random numbers."""


Wrong = tuple[str, Any, str] | None
"""Where in an argument something is wrong, such as ``"[2]"``, its value, and what is wanted there; None: nothing is wrong."""


@dataclass(frozen=True)
class Kind:
    """What an annotation asks for."""

    words: str  # the kind, as in "give a number"
    wrong: Callable[[Any], Wrong]

    @classmethod
    def of(cls, test: Callable[[Any], bool], words: str) -> Self:
        """The kind of the values that pass a test."""
        return cls(words, lambda value: None if test(value) else ("", value, words))

    def accepts(self, value: Any) -> bool:
        """Whether a value is of the kind."""
        return self.wrong(value) is None


def checked(target: Target) -> Target:
    """A public function, marked for the door; or a method, or a class with its constructor, that checks its arguments."""
    if isinstance(target, type):
        target.__init__ = checking(target.__init__)  # type: ignore[misc]
        return target
    if "." in target.__qualname__.rpartition("<locals>.")[2]:  # a method
        return checking(target)
    target.checked_at_the_door = True  # type: ignore[attr-defined]
    return target


def at_the_door(value: Any, namespace: str, name: str) -> Any:
    """What users get of a public name: a marked function refuses wrong arguments; everything else is as it is."""
    if not getattr(value, "checked_at_the_door", False):
        return value
    door = checking(value)
    door.__module__, door.__qualname__ = namespace, name  # where pickle finds it
    return door


def checking(function: Target) -> Target:
    """The function behind a check of its arguments, whoever calls it.

    For engines, which users and `pm.solve` call by their names in one registry, and for settings of estimators, which `fit` hands
    on.
    """
    rules: dict[str, Kind] = {}
    order: list[tuple[str, Kind | None]] = []

    def read() -> None:
        rules.update(argument_kinds(function))
        names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in BY_POSITION]
        order.extend([(name, rules.get(name)) for name in names] or [("", None)])

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not order:  # annotations are read at the first call: they may name classes that are defined later
            read()
        for k, ((name, kind), value) in enumerate(zip(order, args, strict=False)):
            if kind is not None and kind.wrong(value):
                args = (*args[:k], _taken(name, kind, value), *args[k + 1 :])
        for name, value in named.items():
            kind = rules.get(name)
            if kind is not None and kind.wrong(value):
                named = named | {name: _taken(name, kind, value)}
        return function(*args, **named)

    if not inspect.iscoroutinefunction(function):
        return typing.cast("Target", call)

    @functools.wraps(function)
    async def call_later(*args: Any, **named: Any) -> Any:
        return await call(*args, **named)

    return typing.cast("Target", call_later)


def unchecked(function: Target) -> Target:
    """The function that `checking` stands before, for callers that have checked the arguments."""
    return typing.cast("Target", inspect.unwrap(function))


BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def checked_arguments(function: Callable[..., Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Named arguments of a function as `checking` hands them on."""
    kinds = argument_kinds(function.func if isinstance(function, functools.partial) else function)
    return {name: _taken(name, kinds.get(name), value) for name, value in named.items()}


def argument_kinds(function: Callable[..., Any]) -> dict[str, Kind]:
    """What each argument of a function has to be, by its annotations; arguments that may be anything are left out."""
    plain = unchecked(function)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in inspect.signature(plain).parameters.values() if p.kind not in variadic]
    given = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    holder = types.SimpleNamespace(__annotations__=given)  # without the result, whose type may be for type checkers alone
    hints = typing.get_type_hints(holder, globalns=plain.__globals__, include_extras=True)
    kinds = {name: kind_of(hint) for name, hint in hints.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def check_argument(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not of the kind `hint`."""
    kind = kind_of(hint)
    if kind is not None and (wrong := kind.wrong(value)):
        _refuse(name, *wrong)


def check_arguments(holder: Any, wanted: Mapping[str, Any]) -> None:
    """`check_argument` of attributes, such as the settings of an estimator, each against its kind in `wanted`."""
    for name, hint in wanted.items():
        check_argument(name, getattr(holder, name), hint)


def _taken(name: str, kind: Kind | None, value: Any) -> Any:
    """The value if it is of the kind, or is it with fractions for its decimals; others are refused."""
    if kind is None or (wrong := kind.wrong(value)) is None:
        return value
    exact = without_decimals(value)
    if exact is value or not kind.accepts(exact):
        _refuse(name, *wrong)
    return exact


def without_decimals(value: Any) -> Any:
    """The number of a `Decimal`, or a list, tuple or dictionary with those of its decimals; any other value itself.

    That of a finite one is its `Fraction`, unless its exponent is beyond `MOST_DECIMALS`: then it stays.
    """
    if isinstance(value, Decimal):
        if value.is_infinite():
            return float(value)
        return value if value.is_nan() or abs(value.adjusted()) > MOST_DECIMALS else Fraction(value)
    if type(value) in (list, tuple) and any(isinstance(entry, Decimal) for entry in value):
        return type(value)(map(without_decimals, value))
    if type(value) is dict and any(isinstance(entry, Decimal) for entry in value.values()):
        return {key: without_decimals(entry) for key, entry in value.items()}
    return value


def _refuse(name: str, place: str, value: Any, wanted: str) -> NoReturn:
    if isinstance(value, Decimal) and wanted.startswith("a number"):
        wanted += " that a float can hold"
    raise InvalidInputError(f"{name}{place} is {shown(value)}; give {wanted}")


# annotations ---------------------------------------------------------------------------------------------------------------


@functools.cache
def kind_of(hint: Any) -> Kind | None:
    """What an annotation asks for; None where anything goes."""
    if hint in (Any, object, typing.Self) or isinstance(hint, TypeVar):
        return None
    if hint == ArrayLike:
        return Kind.of(_is_array_like, "an array or a sequence")
    # another annotation but narrower, one of several, or a word
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _narrowed(kind_of(arguments[0]), arguments[1:])
    if origin in (Union, types.UnionType):
        return _one_of(_members(arguments))
    if origin is Literal:
        words = ", ".join(map(repr, arguments))
        words = f"one of {words}" if arguments[1:] else words
        return Kind.of(lambda value: isinstance(value, str) and value in arguments, words)
    # collections, whose entries are checked as well
    if origin is tuple and arguments[1:] != (...,):
        places = [kind_of(argument) for argument in arguments]
        right = Kind.of(lambda value: isinstance(value, tuple) and len(value) == len(places), f"a tuple of {len(places)}")
        return _collection(right, lambda value: zip(range(len(places)), value, places, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        parts = kind_of(arguments[1])
        return _collection(_MAPPING, lambda value: ((key, entry, parts) for key, entry in value.items()))
    if origin in (tuple, Sequence):
        parts = kind_of(arguments[0])
        right = _SEQUENCE if origin is Sequence else Kind.of(lambda value: isinstance(value, tuple), "a tuple")
        return right if parts is None else _collection(right, lambda value: ((k, x, parts) for k, x in enumerate(value)))
    if origin is Iterable:
        return Kind.of(_is_iterable, "several values")
    if origin is Callable:
        return Kind.of(callable, "a function")
    return _instance(hint if origin is None else origin)


def _instance(wanted: Any) -> Kind:
    """An instance of a class; numbers and truth values as Python and NumPy have them."""
    if wanted in KNOWN:
        return KNOWN[wanted]
    if getattr(wanted, "_is_protocol", False):
        return _protocol(wanted)
    if issubclass(wanted, os.PathLike):
        return Kind.of(lambda value: isinstance(value, os.PathLike), "a path")
    return Kind.of(wanted.__instancecheck__, article(wanted.__name__))


KNOWN: dict[Any, Kind] = {
    type(None): Kind.of(lambda value: value is None, "None"),
    bool: Kind.of(lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    int: Kind.of(lambda value: not isinstance(value, bool) and isinstance(value, Integral), "a whole number"),
    float: Kind.of(lambda value: not isinstance(value, bool) and isinstance(value, Real) and value == value, "a number"),
    Fraction: Kind.of(lambda value: not isinstance(value, bool) and isinstance(value, Rational), "a number"),
    Decimal: Kind.of(lambda value: isinstance(value, Decimal) and not value.is_nan(), "a number"),
    str: Kind.of(lambda value: isinstance(value, str), "a string"),
    np.ndarray: Kind.of(lambda value: isinstance(value, np.ndarray) and value.ndim > 0, "an array"),
}


def _protocol(wanted: Any) -> Kind:
    """An object that has the public members of a protocol."""
    bases = [base for base in wanted.__mro__ if getattr(base, "_is_protocol", False)]
    members = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    public = [name for name in members if not name.startswith("_") or name == "__call__"]
    if public == ["__call__"]:
        return Kind.of(callable, f"a function like {wanted.__name__}")
    return Kind.of(
        lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in public), article(wanted.__name__)
    )


def _members(arguments: tuple[Any, ...]) -> list[Kind | None]:
    """The kinds of a union. `ArrayLike` is a union too, which dissolves in the larger one; from Python 3.12 on it is a name."""
    arrays = set(get_args(ArrayLike)) or {ArrayLike}
    others = [kind_of(argument) for argument in arguments if argument not in arrays]
    return [*others, kind_of(ArrayLike)] if arrays <= set(arguments) else [kind_of(argument) for argument in arguments]


def _one_of(kinds: list[Kind | None]) -> Kind | None:
    """Any of several kinds; numbers of several types are numbers."""
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    words = list(dict.fromkeys(kind.words for kind in known))
    if "a number" in words:
        words = [w for w in words if w != "a whole number"]
    words.sort(key=lambda w: w == "None")
    text = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))

    def wrong(value: Any) -> Wrong:
        inside: Wrong = None
        for kind in known:
            found = kind.wrong(value)
            if found is None:
                return None
            if found[0]:  # an entry of a collection
                inside = inside or found
        return inside or ("", value, text)

    return Kind(text, wrong)


def _narrowed(kind: Kind | None, notes: Sequence[Any]) -> Kind | None:
    """A kind with what `Annotated` adds: intervals, and a text that says what is wanted."""
    if kind is None:
        return None
    ranges = [note for note in notes if isinstance(note, Range)]
    words = next((note for note in notes if isinstance(note, str)), f"{kind.words} {' and '.join(map(str, ranges))}".strip())

    def wrong(value: Any) -> Wrong:
        found = kind.wrong(value)
        if found is not None and found[0]:
            return found
        return None if found is None and all(interval.holds(value) for interval in ranges) else ("", value, words)

    return Kind(words, wrong)


def _collection(whole: Kind, parts: Callable[[Any], Iterable[tuple[Any, Any, Kind | None]]]) -> Kind:
    """A sequence, a tuple or a mapping whose entries are looked at: `parts` gives key, entry and kind of each."""

    def wrong(value: Any) -> Wrong:
        found = whole.wrong(value)
        if found is not None:
            return found
        for key, entry, kind in parts(value):
            found = None if kind is None else kind.wrong(entry)
            if found is not None:
                return f"[{shown(key)}]{found[0]}", *found[1:]
        return None

    return Kind(whole.words, wrong)


def _is_iterable(value: Any) -> bool:
    """Whether it gives values one by one; text does not, nor does an array without a dimension."""
    return not isinstance(value, (str, bytes)) and hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0


def _is_array_like(value: Any) -> bool:
    """Whether NumPy reads it as an array of numbers or names: a sequence that is not text, or an array of any library."""
    if isinstance(value, Sequence):
        return not isinstance(value, (str, bytes))
    return hasattr(value, "__array__") and getattr(value, "ndim", 1) > 0


_MAPPING = Kind.of(lambda value: isinstance(value, Mapping), "a mapping")
_SEQUENCE = Kind.of(lambda value: _is_array_like(value) and getattr(value, "ndim", 1) == 1, "a sequence")  # no table
