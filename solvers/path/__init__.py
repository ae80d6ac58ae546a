"""The path of all optimal prunings: its parts are divided, guessed, verified and assembled."""
