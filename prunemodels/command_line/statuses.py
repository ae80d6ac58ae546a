"""The exit statuses of the command line. ``prunemodels --help`` shows this list, and a test compares the page on it."""

from __future__ import annotations

DONE = 0
REFUTED = 1
REFUSED = 2
UNDECIDED = 3
DEFECT = 70
"""EX_SOFTWARE of sysexits.h."""
NOT_SHOWN = 74
"""EX_IOERR of sysexits.h."""
INTERRUPTED = 130
BY_SIGNAL = 128
"""Added to a signal's number, as shells do."""

MEANINGS = {
    "0": "done; check: the claim holds",
    "1": "check, report: a claim is refuted",
    "2": "refused: bad arguments or input, a file that cannot be read or written, or too little memory",
    "3": "check, report: no claim is refuted, but one remains undecided",
    "70": "a defect of prunemodels or of a solver that it calls; PRUNEMODELS_TRACEBACK=1 shows where",
    "74": "the summary could not be written to stdout; output files, if any, are complete",
    "130": "interrupted with Ctrl-C",
    "129, 143": "ended by SIGHUP, SIGTERM",
    "141": "stdout was closed by its reader; output files, if any, are complete",
}
"""What each status means. Only after 0, 1, 3, 74 and 141 there are output files."""


def epilog() -> str:
    """The list for a terminal."""
    return "exit status:\n" + "\n".join(f"  {status:9}{meaning}" for status, meaning in MEANINGS.items())
