"""A formulation as arrays that nothing has solved yet: written for another solver, whose answer is read back.

Solution files differ, but each line of one that gives a variable's value has the variable's name and, behind it, the value:

    z(3) 1                                   HiGHS, Gurobi, SCIP
      7 z(3)  1  0.25                        CBC: number, name, value, reduced cost
      7 z(3)  *  1  0  1                     GLPK's report: number, name, kind, value, bounds; a long name has a line of its own
    <variable name="z(3)" index="3" value="1"/>   CPLEX

Variables that a file leaves out are 0. Dual values and other solutions below the first one are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.programs.files import labels_of, write_program
from formulations.programs.formulation import formulation_named
from formulations.programs.limit_rows import limit_matrix, limit_rows
from formulations.programs.linear_program import INTEGRAL, LinearProgram
from solvers.closures.tree_pass import pruning_of_point
from solvers.programs.rounding import program_of

ENDS = re.compile(r"#?\s*(dual solution|basis|solution no)", re.IGNORECASE)
"""Lines below which a file tells something else than the first solution."""

CPLEX = re.compile(r'<variable\s[^>]*?name="([^"]+)"[^>]*?\svalue="([^"]+)"')


@dataclass(frozen=True, eq=False)
class BuiltProgram:
    """A formulation of an instance, not solved.

    Parameters
    ----------
    program
        cost, matrix, sides, bounds, integrality, and the names of rows and columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import highspy
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> built = pm.programs.build(problem, "LP1", limits=[pm.Limit(10), pm.Limit(30, "splits")])
    >>> built.program.matrix.shape
    (3878, 1358)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     solver = highspy.Highs()
    ...     solver.silent()
    ...     _ = solver.readModel(str(built.write(f"{folder}/model.mps"))), solver.run()
    ...     _ = solver.writeSolution(f"{folder}/model.sol", 0)
    ...     built.read(f"{folder}/model.sol")
    ...
    Pruning(cost=10, error=0.137, 9 splits)
    """

    problem: PruningProblem
    formulation: str
    program: LinearProgram

    @checked
    def write(self, file: str | Path) -> Path:
        """Write the program as .mps or .lp, see `write_program`, and return the file's path."""
        write_program(self.program, file)
        return Path(file)

    @checked
    def read(self, file: str | Path) -> Pruning:
        """The pruning in a solver's solution file: of HiGHS, CBC, GLPK (``-o``), SCIP, Gurobi or CPLEX.

        Raises
        ------
        BrokenFileError
            if there is no such file, or no line of it gives the value of a variable.
        InvalidInputError
            for a point that is not integral; the message names the most fractional variable.
        """
        path = Path(file)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFileError(f"cannot read {path}: {error}") from error
        names = {name: k for k, name in enumerate(labels_of(self.program.columns))}
        x, found = np.zeros(len(names)), False
        for name, value in _values(text.splitlines(), names):
            x[names[name]], found = value, True
        if not found:
            raise BrokenFileError(
                f"{path} gives no value of a variable, such as {next(iter(names))!r}; write the solution with the names of the "
                "file that was solved"
            )
        return self.pruning(x)

    @checked
    def pruning(self, x: NDArray[np.float64]) -> Pruning:
        """The pruning that an integral point describes.

        Raises
        ------
        InvalidInputError
            for a point that is not integral, or of another length.
        """
        columns = self.program.columns
        if np.shape(x) != (len(columns),):
            raise InvalidInputError(f"x has shape {np.shape(x)}; the program has {len(columns)} columns")
        apart = np.abs(x - np.rint(x))
        if apart.max(initial=0.0) > INTEGRAL:
            k = int(apart.argmax())
            raise InvalidInputError(
                f"{columns[k]} is {x[k]:.6g}: the point is not integral, so it is no pruning; solve the integer program "
                "(relax=False)"
            )
        return pruning_of_point(self.problem, self.program, np.rint(x))

    def __repr__(self) -> str:
        return f"BuiltProgram({self.formulation}, {self.program!r})"


@checked
def build(
    problem: PruningProblem,
    formulation: str = "IP3",
    *,
    lam: float | None = None,
    limits: Sequence[Limit] | None = None,
    relax: bool = False,
    merge: bool = False,
) -> BuiltProgram:
    """A formulation as arrays, without solving it.

    Parameters
    ----------
    formulation
        ``"IP0"``, the error alone, takes neither `lam` nor `limits`. ``"IP1"``, ``"IP2"``, ``"IP3"`` and ``"closure"`` take
        `lam`, error per unit of cost. ``"LP1"`` takes `limits`: NWS15's LP1 for one limit of the mean cost, and the closure form
        with a row for each limit for any others.
    relax
        the linear relaxation in place of the integer program.
    merge
        one variable for purchases with the same usage.

    Raises
    ------
    InvalidInputError
        unless `lam` or `limits` is given as the formulation needs it; for limits that name no such item, currency or row.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.programs.build(pm.datasets.two_trees(), "IP3", lam=0.1)
    BuiltProgram(IP3, LinearProgram(integer program: 15 rows, 19 columns, 38 nonzeros))
    """
    takes = formulation_named(formulation).takes
    needed = "limits" if takes == "budget" else takes
    for name, is_given in {"lam": lam is not None, "limits": limits is not None}.items():
        if is_given and name != needed:
            raise InvalidInputError(f"{formulation} takes {needed or 'neither lam nor limits'}, not {name}; leave {name} out")
        if not is_given and name == needed:
            example = "[pm.Limit(10)]" if name == "limits" else "0.01"
            raise InvalidInputError(f"{formulation} needs {needed}; give {needed}={example}")
    if limits is None:
        return BuiltProgram(problem, formulation, program_of(problem, formulation, lam=lam, relax=relax, merge=merge))
    rows = limit_rows(problem, limits)
    if not rows.is_budget:
        return BuiltProgram(problem, formulation, limit_matrix(rows, relax=relax, merge=merge))
    program = program_of(problem, formulation, budget=rows.rows[0].at_most, relax=relax, merge=merge)
    return BuiltProgram(problem, formulation, program)


def _values(lines: Sequence[str], names: dict[str, int]) -> Iterator[tuple[str, float]]:
    """The variables and values of a solution file."""
    waiting: str | None = None  # a name whose value stands on the next line
    for line in lines:
        if ENDS.match(line.strip()):
            return
        cplex = CPLEX.search(line)
        words = [cplex[1], cplex[2]] if cplex else line.split()
        place = next((k for k, word in enumerate(words[:3]) if word in names), None)
        name, rest = (words[place], words[place + 1 :]) if place is not None else (waiting, words)
        if name is None:
            continue
        value = next((number for number in map(_number, rest[:3]) if number is not None), None)
        waiting = name if value is None and place is not None else None
        if value is not None:
            yield name, value


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
