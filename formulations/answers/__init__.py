"""What solvers answer: prunings, paths of them, solutions with bounds."""
