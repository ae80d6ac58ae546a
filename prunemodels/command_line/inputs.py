"""What commands read beside tables: goals, models, prices and errors; messages begin with the option that they are about."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pandas as pd

from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.limit import Limit
from formulations.instance.node_errors import NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.shown import probably_meant
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.cascade_files import holds_cascade, load_cascade
from prunemodels.command_line.examples import Examples, marks_of, read_examples
from prunemodels.command_line.parsing import errors_naming, option_of, shows_progress
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import model_name
from prunemodels.command_line.values import NOT_WITH_UNDERSCORES
from prunemodels.data_files import read_prices, shown
from prunemodels.files.forests import load_forest
from prunemodels.models.costs import items_from_list
from prunemodels.models.forests.error_samples import ErrorSample, Given, InBag, OutOfBag
from prunemodels.models.forests.problems import problem_of
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.tree_model import TreeModel, tree_model_of
from prunemodels.stages.judging import cost_matrix
from prunemodels.stages.raw_tables import identifiers
from prunemodels.stages.stages import check_same_prices
from solvers import pruning_path


def limit_as_budget(args: argparse.Namespace) -> None:
    """Turn one ``--limit`` of the mean cost into ``--budget``, its short form; refuse goals that do not go together."""
    if args.limit is not None and len(args.limit) == 1 and args.limit[0].is_plain and args.budget is None:
        args.budget, args.limit = float(args.limit[0].at_most), None
    goals = ("budget", "limit", "lam", "max_error", "pruned")
    given = [option_of(name) for name in goals if getattr(args, name, None) is not None]
    if len(given) > 1 and given != ["--budget", "--limit"]:
        raise InvalidInputError(f"{' and '.join(given)} do not go together; give one goal, or --budget with --limit")


def each_budget(args: argparse.Namespace) -> list[argparse.Namespace]:
    """The arguments for each of several budgets, smallest first; themselves where there is one at most."""
    budgets = sorted({*(args.budget if isinstance(args.budget, list) else [args.budget])})
    return [argparse.Namespace(**vars(args) | {"budget": budget, "several": len(budgets) > 1}) for budget in budgets]


def file_of(args: argparse.Namespace) -> str:
    """``--out``; of one of several budgets with the budget behind its name: cheap-6.skops."""
    place = Path(args.out)
    return str(place.with_name(f"{place.stem}-{args.budget:g}{place.suffix}")) if args.several else str(args.out)


def limits_of(args: argparse.Namespace) -> list[Limit] | None:
    """The limits of ``--budget`` and ``--limit``; None without any."""
    return [*([] if args.budget is None else [Limit(args.budget)]), *(args.limit or ())] or None


def read_costs(args: argparse.Namespace, data: Examples) -> CostItems:
    """Prices from one number for every feature, or from a table of prices."""
    given, names = args.costs, data.names
    with errors_naming(f"--costs {given}"):
        try:
            uniform = Decimal(given)  # a float would round a number that is too small for it to 0
        except InvalidOperation:
            table, told = read_prices(given, marks_of(args))
            args.told += told
            if "feature" in table.columns:
                _check_unpriced(args, table, data)
            items, others = items_from_list(table, names)
            if others:
                priced = "price is" if len(others) == 1 else "prices are"
                args.told.append(f"{given}: {len(others):,} {priced} of no column here: {shown(others, SETTINGS.most_names)}")
            return items
        if "_" in given:
            raise InvalidInputError(f"{NOT_WITH_UNDERSCORES}; write {given.replace('_', '')}")
        return CostItems.plain([uniform] * len(names), names)


def costs_for(args: argparse.Namespace, model: TreeModel | Cascade, data: Examples, file: str) -> CostItems | None:
    """The prices of ``--costs`` for the model of a file; None where it has its own. A cascade's own must be the same."""
    if args.costs is None:
        if not isinstance(model, Cascade) and model.priced(None, 0)[0] is None:
            raise InvalidInputError(f"--costs is missing: {file} was not pruned with prices; {PRICES_NEEDED}")
        return None
    if not isinstance(model, Cascade):
        return read_costs(args, data)
    with errors_naming(f"--costs {args.costs}"):
        check_same_prices(model.stages_, data.names, read_costs(args, data), args.evaluation_cost)
    return None


PRICES_NEEDED = "give a table with the columns feature,cost, or one price for all"


def _check_unpriced(args: argparse.Namespace, table: pd.DataFrame, data: Examples) -> None:
    """Refuse columns without a price, all by name, identifiers first, with the option that leaves them out."""
    priced = {*table["feature"].astype(str)}
    missing = [name for name in data.names if name not in priced]
    if not missing:
        return
    found = [name for name in identifiers(data.X) if name in missing] if isinstance(data.X, pd.DataFrame) else []
    trained = getattr(args, "forest", None) is not None
    leave_out = f"{'train the model again' if trained else 'leave it out'} with --ignore {','.join(found or missing)}"
    meant = probably_meant(missing, sorted(priced))
    if found:
        looks = "has another value in nearly each row and looks like an identifier"
        others = [name for name in missing if name not in found]
        more = f"; {shown(others)} {'has' if len(others) == 1 else 'have'} no price either{meant}" if others else ""
        raise InvalidInputError(f"there is no price for {shown(found)}, which {looks}; {leave_out}, or give it a price{more}")
    remedy = "write a price, 0 if it is free" if trained else f"{leave_out}, or write a price, 0 if it is free"
    raise InvalidInputError(f"there is no price for {shown(missing)}{meant}; {remedy}")


@dataclass(frozen=True, eq=False)
class NamedErrors:
    """An error sample whose error messages begin with the option that asked for it."""

    sample: ErrorSample
    option: str

    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        with errors_naming(self.option):
            return self.sample.measure(forest)


NEEDED, USED = (
    {"in-bag": (), "out-of-bag": ("train",), "given": ("error_data",)},
    {"in-bag": ("train",), "out-of-bag": ("train",), "given": ("error_data",)},
)
"""The files that each choice of ``--errors`` needs, and those that it can use."""


def read_errors(args: argparse.Namespace, model: TreeModel) -> tuple[ErrorSample, list[Examples]]:
    """The error sample that ``--errors``, ``--train`` and ``--error-data`` describe, and the tables that were read for it."""
    for name in ("train", "error_data"):
        option, given = option_of(name), getattr(args, name) is not None
        if name in NEEDED[args.errors] and not given:
            raise InvalidInputError(f"--errors {args.errors} needs labelled data: give {option} FILE")
        if given and name not in USED[args.errors]:
            raise InvalidInputError(f"{option} is not used with --errors {args.errors}; drop it, or change --errors")
        if given and args.label is None:
            raise InvalidInputError(f"{option} needs labels: name the column with --label")
    files = {  # in-bag errors are those that the trees were grown by, with the weights that training had
        name: read_examples(args, option_of(name), model, weighted=name == "error_data" or args.errors == "out-of-bag")
        for name in USED[args.errors]
        if getattr(args, name) is not None
    }
    train, given_data = files.get("train"), files.get("error_data")
    sample: ErrorSample = InBag() if train is None else InBag(train.X, train.y)
    if args.errors == "out-of-bag" and train is not None:
        sample = OutOfBag(train.X, train.y, train.weights)
    if given_data is not None:
        sample = Given(given_data.X, given_data.y, given_data.weights)
    return NamedErrors(sample, f"--errors {args.errors}"), list(files.values())


@dataclass(frozen=True, eq=False)
class Instance:
    """What the arguments of a command define: a forest, the cost sample, prices, and the problem.

    `seen` are all tables on which the pruning is found.
    """

    forest: Any
    model: TreeModel
    data: Examples
    costs: CostItems
    problem: PruningProblem
    seen: list[Examples]

    def record(self, args: argparse.Namespace) -> dict[str, Any]:
        """What every command on an instance tells of it."""
        problem, ensemble = self.problem, self.problem.ensemble
        told = {"forest": args.forest, "model": model_name(self.forest), "trees": ensemble.n_trees, "task": ensemble.task}
        told |= {"measure": ensemble.measure, "data": args.data, "examples": problem.usage.n_rows}
        return told | {"error_source": problem.errors.source}


def read_instance(args: argparse.Namespace, forest: Any = None) -> Instance:
    """Read the forest (unless it was read already), the cost sample and the prices, and build the instance from them."""
    forest = read_model_file(args) if forest is None else forest
    with errors_naming("FOREST"):
        read = ReadForest.of(forest)
    model = TreeModel(forest, read.ensemble)
    data = read_examples(args, "--data", model)
    costs = read_costs(args, data)
    errors, seen = read_errors(args, model)
    judged = read.under_costs(mistake_costs(args.mistakes, model.ensemble.classes))
    options = {"errors": errors, "sample_weight": data.weights, "evaluation_cost": args.evaluation_cost}
    with doing(args, "counting what the forest asks for"):
        problem = problem_of(judged, data.X, costs=costs, **options)
    return Instance(forest, TreeModel(forest, problem.ensemble), data, costs, problem, [data, *seen])


def mistake_costs(given: dict[tuple[str, str], float] | None, classes: Any) -> Any:
    """The matrix of ``--mistakes``; None without that option."""
    if given is None:
        return None
    if classes is None:
        raise InvalidInputError("--mistakes is for classes, and the model predicts numbers; drop it")
    with errors_naming("--mistakes"):
        return cost_matrix(given, classes)


def read_model_file(args: argparse.Namespace) -> Any:
    """The model that the first argument names."""
    with errors_naming("FOREST"), doing(args, f"reading {args.forest}"):
        return load_forest(args.forest, trust_pickle=args.trust_pickle)


def read_any_model(args: argparse.Namespace, file: str, option: str = "FOREST|CASCADE") -> TreeModel | Cascade:
    """The model of a file that an option names, or the cascade with the policy that ``--budget`` chooses."""
    with errors_naming(option), doing(args, f"reading {file}"):
        if not holds_cascade(file, trust_pickle=args.trust_pickle):
            return tree_model_of(load_forest(file, trust_pickle=args.trust_pickle))
        cascade: Cascade = load_cascade(file, trust_pickle=args.trust_pickle)
    with errors_naming("--budget"):
        return cascade if args.budget is None else cascade.at_cost(args.budget)


def path_of(args: argparse.Namespace, instance: Instance) -> PruningPath:
    """The path of an instance, with progress on a terminal."""
    with doing(args, "finding all optimal prunings"):
        return pruning_path(instance.problem, progress=shows_progress(args))
