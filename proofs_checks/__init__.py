"""Evidence: checkers that share no code with what they check."""

from proofs_checks.optimality import check_path, check_solution
from proofs_checks.verdict import Verdict

__all__ = ["Verdict", "check_path", "check_solution"]
