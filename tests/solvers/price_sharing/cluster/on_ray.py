"""Ray actors that are killed at a chosen call, and what is left of processes."""

from __future__ import annotations

import ipaddress
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from solvers.price_sharing.cluster.ray_workers import RayWorkers

TELLS = {"set_weight_unit", "open", "fix"}  # calls that change a shard: a new one is told them again


class Killing(RayWorkers):
    """Notes every call, and kills the process of worker `victim` at its `at`-th call of `method`, counted from 0. The process is
    stopped first, so that it cannot answer: the call is under way when it dies.
    """

    asked: list[list[str]] | None = None

    def watch(self, victim: int = 0, method: str = "", at: int = 0, by: Callable[[], object] | None = None) -> None:
        """Begin to note calls anew, and kill during one of them, or do something else then; nothing without arguments."""
        self.victim, self.method, self.at, self.by = victim, method, at, by
        self.asked = [[] for _ in self.recipes]

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        if self.asked is None:
            return super().submit(i, method, args)
        asked = self.asked
        fatal = i == self.victim and method == self.method and asked[i].count(method) == self.at
        asked[i].append(method)
        if not fatal:
            return super().submit(i, method, args)
        self.at = -1
        os.kill(self.processes[i], signal.SIGSTOP)
        call = super().submit(i, method, args)
        if self.by is None:
            os.kill(self.processes[i], signal.SIGKILL)
        else:
            self.by()
        return call


def asked_again(calls: list[str], method: str, at: int) -> list[str]:
    """Calls of one run when the `at`-th of `method` was lost: up to it, those of the journal, it again, and the rest."""
    lost = [k for k, m in enumerate(calls) if m == method][at]
    # the journal of a run: the unit of weights that was told before it, then its own
    journal = ["set_weight_unit"] + [m for m in calls[:lost] if m in TELLS]
    return calls[: lost + 1] + journal + calls[lost:]


def descendants(process: int) -> set[int]:
    """Its children, their children, and so on."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        state = _stat(int(folder.name))
        if state is not None:
            below.setdefault(int(state[1]), []).append(int(folder.name))
    found, ahead = set(), [process]
    while ahead:
        children = below.get(ahead.pop(), [])
        found.update(children)
        ahead += children
    return found


def assert_gone(processes: set[int], within: float = 20) -> None:
    """They end within so many seconds: Ray asks its daemons to end, and does not wait for the last."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline and any(map(is_alive, processes)):
        time.sleep(0.05)
    assert not [p for p in processes if is_alive(p)]


def is_alive(process: int) -> bool:
    """Whether it runs; one that has ended and waits to be collected does not."""
    state = _stat(process)
    return state is not None and state[0] != "Z"


def _stat(process: int) -> list[str] | None:
    """State, parent and so on; None where there is no such process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def listening(process: int) -> set[str]:
    """The addresses on which a process and its descendants listen."""
    address = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":  # LISTEN
                packed = bytes.fromhex(words[1].partition(":")[0])
                whole = b"".join(packed[k : k + 4][::-1] for k in range(0, len(packed), 4))
                ip = ipaddress.ip_address(whole)
                address[f"socket:[{words[9]}]"] = str(getattr(ip, "ipv4_mapped", None) or ip)
    found = set()
    for pid in (process, *descendants(process)):
        for file in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                found.add(address.get(os.readlink(file), ""))
    return found - {""}
