"""``prunemodels completion``: a script for the shell, which shtab writes from the parser."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

from formulations.extras import package

SHELLS = {
    "bash": 'eval "$(prunemodels completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(prunemodels completion zsh)" in ~/.zshrc, after compinit',
    "tcsh": "prunemodels completion tcsh | source /dev/stdin in ~/.tcshrc",
}
"""The shells, and the line that sets each of them up."""


@dataclass(frozen=True)
class Script:
    """The script, and the shell that it is for."""

    shell: str
    script: str

    def text(self) -> str:
        """The script alone."""
        return self.script

    def json(self) -> str:
        """As one JSON object."""
        return json.dumps({"shell": self.shell, "script": self.script})


def completion_command(args: argparse.Namespace) -> Script:
    """``prunemodels completion``."""
    from prunemodels.command_line.cli import parser

    shtab = package("shtab")
    top = parser()
    for action in top._subparsers._group_actions if top._subparsers else ():  # argparse has no public way to them
        action.help = "command"  # shtab leaves out what help does, and help shows the commands by task
    return Script(args.shell, shtab.complete(top, shell=args.shell))
