"""The commands as data, in the order in which a newcomer meets them: help, example, options, and the function that runs each.

`prunemodels.command_line.parsing` says how the options are written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from formulations.programs.formulation import AS_ARRAYS

INPUTS = ("forest", "cascade", "pruned", "against", "data", "costs", "train", "error_data", "held_out", "table", "certificate")
"""Arguments that name input files, which no command overwrites."""


@dataclass(frozen=True)
class Command:
    """A command: its line of help, and module and function, which are imported when it runs.

    `options` are those besides `COMMON`; `example` has no program's name; `description` is what its own help says first,
    where that is more than `help`. ``check`` has `claims`, each with options of its own.
    """

    help: str
    run: str = ""
    options: str = ""
    example: str = ""
    description: str = ""
    claims: dict[str, Command] = field(default_factory=dict)


COMMON = """
# of every command
--force  replace output files that exist
--json   print the summary as JSON, and nothing else
--quiet  no progress on stderr
"""
"""Options of all commands."""

MODEL = "a fitted scikit-learn forest: .skops, or .joblib with --trust-pickle"
BOOSTED = "; or a boosted model: these, XGBoost's .json or .ubj, LightGBM's .txt, CatBoost's .json"
TABLE = "(.csv, .csv.gz, .parquet, .xlsx)"
TRUST = "--trust-pickle  load a joblib file, which runs any code in it; only from sources you trust"
COSTS = "table with the columns feature,cost[,item,...], or one price for all"
DECIMAL = "--decimal point|comma:choice  what stands before decimals in tables, where one leaves it open: 3.477 may be 3477"
COLUMNS = f"""
--ignore A,B,...:names      columns of the tables that are no features, such as identifiers
{DECIMAL}
--map-labels PAIRS:pairs    labels of the tables by those of the model, e.g. 1=0,2=1
"""
GROUPS = """--groups COLUMN  column of all data files that says which examples belong together, such as the patient of a visit: no
    group is on two sides of a split or fold, and intervals count groups
""".strip()
COUNTED_GROUPS = """--groups COLUMN  column of all data files that says which examples belong together, such as the patient of a
    visit: intervals count groups
""".strip()
WEIGHTS = """
--weights COLUMN  column of all data files, --train in-bag excepted: an example stands for that many, in cost as in error
""".strip()
PRICES = f"""
{WEIGHTS}
--costs FILE|NUMBER?           {COSTS}
--evaluation-cost A:amount=0  price of evaluating one split (default: 0)
{TRUST}
{COLUMNS.strip()}
"""


OWN_PRICES = f"""
--costs FILE|NUMBER           {COSTS} (default: those
    that the model was pruned with; a cascade has its own)
--evaluation-cost A:amount=0  price of evaluating one split (default: 0)
--budget B:amount             of a cascade: the policy within this mean cost
""".strip()


def inputs(model: str = f"forest FOREST  {MODEL}", *, need: str = "!", boosted: bool = False) -> str:
    """The options for the model, the cost sample, the prices, and the data on which errors are measured.

    `model` is the argument that names the model, which with `boosted` may be a boosted one; `need` is an exclamation mark where a
    cost sample and prices must be given.
    """
    return f"""
{model}{BOOSTED * boosted}
# examples and prices
--data FILE{need}  examples like those to be predicted {TABLE}: the cost sample
--label COLUMN  the label column of all data files; with it, the error on --data is
    reported{"; a boosted model needs it" * boosted}
{PRICES.strip().replace("?", need)}
# errors that pruning minimises{" (a boosted model: its own loss on --data)" * boosted}
--errors in-bag|out-of-bag|given:choice=in-bag  the examples on which the errors to be minimised are measured
    (default: in-bag)
--train FILE                the forest's training data, rows in their order, for in-bag or out-of-bag
--error-data FILE           labelled data for given
--mistakes COSTS:mistakes    what it costs to call A's examples B, e.g. ill:well=10,well:ill=1 (default: 1 each)
"""


METHODS = """
--method path|best|exact:choice  search within the budget or limits: path (the best breakpoint, at once), best (default;
    improves it, in seconds), exact (until proven)
--time-limit S:seconds    seconds for the search within the budget or limits (default: 10 for best, 300 for exact)
"""
POSITIVE = "--positive CLASS  the class to be found, e.g. ill (default: the rarer of two): how many are missed, and false alarms"
LAM = "--lam L:amount  how much error one unit of cost is worth"
BUDGET = "--budget B:amount  largest mean cost of a prediction, in the unit of the prices"
BUDGETS = """--budget B+:amount  largest mean cost of a prediction, in the unit of the prices; of several budgets, such as 3 6 12,
    each has a file of its own, --out with the budget behind its name
""".strip()
LIMIT = """--limit L+:limit  at most so much: minutes=30 (a column cost_minutes of the prices), 'mri<=0.3' (the share
    of examples that ask for an item), splits=200; once for each limit
""".strip()
PICTURE = "--picture STEM  draw the trade-off as STEM.png and STEM.svg, or the one whose ending is given"
EXIT_OUTPUTS = f"""
--loss error|log_loss:choice=error  what predictions are judged by; log_loss where probabilities are wanted (default: error)
--budget B+:amount  largest mean cost of a prediction (default: the cheapest policy that held-out rows cannot tell from the
    best); of several budgets, such as 3 6 12, each has a file of its own, --out with the budget behind its name
--max-error E:amount  in place of a budget: the cheapest policy that errs at most so much on new examples, e.g. 0.05; a quarter
    of --data tests it
--confidence C:confidence  of --max-error (default: 0.95)
--held-out FILE    labelled examples kept apart, a table like --data: cost, error, and which examples stop where
{POSITIVE}
--out FILE!        the cascade: .skops or .joblib, for prunemodels.load_cascade
--picture STEM     draw which examples stop where as STEM.png and STEM.svg, or the one whose ending is given
"""
EXAMPLE_INPUTS = "forest.skops --data valid.csv --label y --costs prices.csv"
PAPERS = f"forest FOREST|papers  {MODEL}"
MATRIX = f"forest MATRIX|FOREST|papers  a matrix or program: .npy, .npz (scipy), .mtx, .csv, .mps, .lp; or {MODEL}"
FORMULATION = f"""
--formulation {"|".join(AS_ARRAYS)}:choice  the formulation whose matrix is checked, for a forest or the papers' trees
    (default: IP3)
--merge             one variable for purchases with the same usage
"""

CLAIMS = {
    "tu": Command(
        "a matrix is totally unimodular",
        "check:check_tu",
        f"""{inputs(MATRIX, need="")}{FORMULATION}
--method NAME           one method only (default: the fastest that decides)
--certificate FILE.npz  only check this tree and its paths, whoever found them
--out FILE.npz          write the tree and its paths, if that is the certificate
--picture STEM          draw the pieces of the matrix as STEM.png and STEM.svg, or the one whose ending is given
""",
    ),
    "integrality": Command(
        "all vertices are whole: of a program's relaxation, or of { x >= 0 : A x <= b } for a matrix A",
        "check:check_whole_vertices",
        f"""{inputs(MATRIX, need="")}{FORMULATION}
--sides A,B,...:amounts  b: one number for all rows of a matrix, or one for each (default: 1)
--budget B:amount        the budget of the formulation LP1 (default: 1)
""",
    ),
    "counterexample": Command("the naive formulation has the fractional vertex that the papers give", "check:check_naive_vertex"),
    "figure": Command(
        "the papers' trees have the printed matrices, and row operations turn one into the other", "check:check_figure"
    ),
    "solution": Command(
        "a pruned forest is optimal for a lambda, or an answer within a budget or limits is proven",
        "check:check_a_solution",
        f"""{inputs(PAPERS, need="")}
# claim: --lam or --proof
|! --lam L:amount      how much error one unit of cost is worth
|! --proof FILE.npz    an answer within a budget or limits, as prune --proof or save_solution writes it
--pruned FILE          the pruned forest, whoever pruned it (default: what --solver finds)
--solver NAME=min_cut  the solver whose answer and bound are checked (default: min_cut)
""",
    ),
    "path": Command(
        "every pruning of a forest's path is optimal, and they are nested",
        "check:check_a_path",
        f"""{inputs(PAPERS, need="")}
--table FILE.csv  also compare this table, as prunemodels path writes it, with the path
""",
    ),
    "exits": Command(
        "every policy of a saved cascade's exit path is optimal, and they are nested",
        "check:check_exits",
        f"""
cascade CASCADE  what exits or cascade wrote: .skops, or .joblib with --trust-pickle
{TRUST}
""",
    ),
    "corollary": Command(
        "the linear relaxation solves every budget (Corollary 4.3 of NWS15)",
        "check:check_the_corollary",
        f"""{inputs(PAPERS, need="")}
--budgets A,B,...:amounts  check only these budgets (default: the middle of every edge of the hull)
""",
    ),
}

TASKS: dict[str, dict[str, Command]] = {
    "See what it does": {
        "demo": Command(
            "train, prune and evaluate a forest, on data that needs no network",
            "demo:demo_command",
            f"""
--data FILE|NAME       heart (medical tests at their prices), miniboone, covtype426k, or a labelled table; default:
    scikit-learn's breast cancer data
--label COLUMN         label column of --data (default: the last)
{DECIMAL}
--seeds N:count        grow N forests (default: 5 with --data, else 1)
--trees T:count=40     trees of the forest (default: 40)
--out DIR=demo-output  folder for pictures, tables and the pruned forest (default: demo-output)
""",
            "demo",
        ),
    },
    "Train and prune a model": {
        "train": Command(
            "train a forest or boosted model on a table, save it, and show its error",
            "judge:train_command",
            f"""
--data FILE!      labelled examples to train on {TABLE}
--label COLUMN!   the label column of all data files
{GROUPS}
--ignore A,B,...:names      columns of the tables that are no features, such as identifiers
{DECIMAL}
--model forest|boosted:choice=forest  what is trained (default: forest)
--regression      predict the labels as numbers, even if all of them are integers
--trees T:count=100  trees of the forest, or rounds of boosting (default: 100)
--depth D:count   largest depth of a tree (default: 8 of a forest, 4 of boosting)
--seed N:whole=0  seed of the split and of the trees (default: 0)
# where the error is measured
| --held-out FILE      labelled examples kept apart, a table like --data
| --split S:part       share of --data that is kept apart, drawn at random (default: 0.4)
--apart-csv FILE.csv   write the examples that --split kept apart: prune and exits need such examples
{POSITIVE}
# output
--out FILE!       the model: .skops or .joblib
""",
            "train --data patients.csv --label y --apart-csv apart.csv --out forest.skops",
            "Train a model on a table: words, dates and empty cells are prepared for the trees, and the preparation is saved "
            "with the model, which takes tables like --data from then on.",
        ),
        "evaluate": Command(
            "what a model or cascade costs and how it errs on labelled examples, also against another",
            "evaluate:evaluate_command",
            f"""
forest FOREST|CASCADE  what train, prune, exits or cascade wrote, or {MODEL}{BOOSTED}
--against FILE   another model or cascade, compared on the same examples
# examples and prices
--data FILE!     labelled examples, preferably kept apart {TABLE}
--label COLUMN!  the label column of --data
{OWN_PRICES}
{DECIMAL}
--ignore A,B,...:names      columns of the tables that are no features, such as identifiers
--map-labels PAIRS:pairs    labels of the tables by those of the model, e.g. 1=0,2=1
{WEIGHTS}
{COUNTED_GROUPS}
{TRUST}
{LIMIT}
{POSITIVE}
""",
            "evaluate cheap.skops --data test.csv --label y --against forest.skops --costs prices.csv",
        ),
        "predict": Command(
            "answers of a model or cascade for new rows: class, probabilities, what is bought and paid",
            "evaluate:predict_command",
            f"""
forest FOREST|CASCADE  what train, prune, exits or cascade wrote, or {MODEL}{BOOSTED}
--data FILE!      the rows to answer {TABLE}, with the columns of training
{OWN_PRICES}
--unknown-as-missing  words that training did not know count as missing; else they are refused
--keep A,B,...:names  columns of --data that stand before the answers, such as identifiers
--ignore A,B,...:names  columns of --data that are no features, for a model without names of columns
{DECIMAL}
{TRUST}
--out FILE.csv!   the answers, a row for each of --data
""",
            "predict cheap.skops --data new.csv --keep patient_id --out answers.csv",
            "Predict rows without labels. The file has the class or number, the probability of each class, what the row pays, "
            "what it buys in which order, and the stage at which a cascade stops.",
        ),
        "prune": Command(
            "prune a forest or boosted model to a budget or for a price of cost, and save it",
            "prune:prune_command",
            f"""{inputs(boosted=True)}
{GROUPS}
# goal: --budget and --limit, or --lam, or --max-error
{BUDGETS}
{LIMIT}
{LAM}
--max-error E:amount  the cheapest pruning of the path that errs at most so much on new examples, e.g. 0.05
{METHODS.strip()}
--confidence C:confidence  of --max-error (default: 0.95): one half of --data chooses the pruning, the other tests it
# output
--held-out FILE      examples kept apart, a table like --data: report the cost there with its interval
{POSITIVE}
--cut-vote           two classes: predict the second one from another fraction of the vote on, where that errs less (--label)
--drop-unused        the model in --out is given only the columns that it reads
--out FILE!          the pruned forest: .skops or .joblib; a boosted model: its library's format too
--path-csv FILE.csv  also write the whole path
--proof FILE.npz     also write the answer with the proof of its bound, for check solution
{PICTURE}
""",
            f"prune {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --out cheap.skops",
        ),
        "path": Command(
            "every optimal pruning of a forest, as a table of cost and error",
            "prune:path_command",
            f"""{inputs()}
# output
--out FILE.csv!  the table: lambda, cost, error and splits of each breakpoint
--held-out FILE  labelled examples kept apart, a table like --data: the screen shows cost and error on them
{PICTURE}
""",
            f"path {EXAMPLE_INPUTS} --out path.csv",
        ),
        "report": Command(
            "one HTML page on what pruning did, or a cascade does: cost, error, features, proof",
            "report:report_command",
            f"""{inputs(f"forest FOREST|CASCADE  what exits or cascade wrote, or {MODEL}", need="", boosted=True)}
# the page
--budget B:amount    prune to this mean cost of a prediction; for a cascade: choose the policy within it
{LIMIT}
--lam L:amount       prune where one unit of cost is worth this error; for a cascade: choose the policy
--pruned FILE        a forest that was pruned from FOREST, whoever pruned it
{METHODS.strip()}
--held-out FILE        labelled examples kept apart, a table like --data, on which the page's figures are measured
{COUNTED_GROUPS}
--confidence C:confidence=0.95  confidence of the page's intervals (default: 0.95)
--title TITLE          heading of the page
--unit WORD            unit of the prices, e.g. dollars
{POSITIVE}
--out FILE.html!       the page: complete, it loads nothing from elsewhere
""",
            f"report {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --unit dollars --out report.html",
            "Write one page on a pruned forest or boosted model, which needs --data, --costs, --label, --held-out and one of "
            "--budget, --lam and --pruned; or on a cascade, which needs nothing more. With --held-out and --label it shows which "
            "examples stop where; --weights is then a column of --held-out.",
        ),
    },
    "Stop early where the answer is sure": {
        "exits": Command(
            "stop early where a pruned forest is sure: exits along a forest's optimal path",
            "exits:exits_command",
            f"""{inputs()}
{GROUPS}
# exits
--stages S:count=20  number of prunings that become stages, spread over the cost; where two neighbours are far apart, stages
    between them are added (default: 20)
{EXIT_OUTPUTS.strip()}
""",
            f"exits {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --out exits.skops",
            "Give a forest exits, without training it again. --data are labelled examples that the forest was not trained on: "
            "prunings are computed from them, and when to stop is learned from them.",
        ),
        "cascade": Command(
            "train models on nested sets of features, and ask for more only in doubt",
            "exits:cascade_command",
            f"""
--data FILE!         labelled examples, to train the models and to learn when to stop {TABLE}
--label COLUMN!      the label column of all data files
{GROUPS}
{WEIGHTS}
--costs FILE|NUMBER!  {COSTS}
{COLUMNS.strip()}
--regression         predict the labels as numbers, even if all of them are integers
--mistakes COSTS:mistakes  what it costs to call A's examples B, e.g. ill:well=10,well:ill=1 (default: 1 each)
--max-cost C:amount  no example ever pays more (default: no cap)
--stages S:count=16  the largest number of sets that become stages (default: 16)
--checkpoint NAME    keep what is found and trained in the folder NAME: after Ctrl-C the same command goes on
    from there
{EXIT_OUTPUTS.strip()}
""",
            "cascade --data train.csv --label y --costs prices.csv --budget 24 --held-out test.csv --out cascade.skops",
        ),
    },
    "Look behind the answer": {
        "check": Command(
            "verify a claim and show the evidence: total unimodularity, optimality, ...",
            example=f"check solution {EXAMPLE_INPUTS} --lam 0.01 --pruned cheap.skops",
            description="Verify a claim and show the evidence. `prunemodels --help` lists the exit statuses. In the place of a "
            "forest the word 'papers' stands for the two trees of the papers' Figure 1.",
            claims=CLAIMS,
        ),
        "compare": Command(
            "run several solvers on one problem: value, bound, time and memory of each",
            "programs:compare_command",
            f"""{inputs()}
# comparison
|! {LAM}
|! --budget B+:amount      largest mean cost of a prediction, or several, such as 3 6 12
--solvers A,B,...:names    which solvers, in that order (default: all)
--time-limit S:seconds=30  seconds for each solver (default: 30; inf lifts the limit)
--out FILE.csv             also write the table, with all digits
""",
            f"compare {EXAMPLE_INPUTS} --lam 0.01 --solvers min_cut,highs_ip3 --time-limit 60",
        ),
        "export": Command(
            "write the problem as a linear or integer program, for other solvers",
            "programs:export_command",
            f"""{inputs()}
# program
| {LAM}; for IP1, IP2, IP3 and closure
| --budget B:amount  largest mean cost of a prediction; for LP1
--formulation {"|".join(AS_ARRAYS)}:choice  the papers' name of the formulation (default: IP3 with --lam, LP1 with --budget)
--relax              the linear relaxation, not the integer program
--merge              one variable for purchases with the same usage: smaller, same optimum; not for IP0
--out FILE!          the program: .lp or .mps, or either with .gz
""",
            f"export {EXAMPLE_INPUTS} --lam 0.01 --out problem.mps",
        ),
    },
    "Set up a service": {
        "warm-up": Command(
            "compile ahead what a service compiles at its first prediction",
            "evaluate:warm_up_command",
            "--all  also what pruning uses",
            "warm-up",
            "Compile the kernels of predictions on demand and of evaluation, and store them: in the folder of NUMBA_CACHE_DIR, "
            "else beside the package, else in the home. A service that finds them there starts without compiling.",
        ),
    },
}

COMMANDS = {name: command for task in TASKS.values() for name, command in task.items()}
