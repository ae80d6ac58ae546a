"""Run chapters and store what they print and draw.

    python -m notebooks.execute                 all chapters, one after another
    python -m notebooks.execute 08_budgets      one of them
    python -m notebooks.execute --check         run nothing: are the stored outputs
                                                those of the code, and small?
    python -m notebooks.execute --compare       run, write nothing: does a run still
                                                print what is stored?

The stored outputs obey three rules, which `faults` checks:

1. They are those of one run from top to bottom. The notebook's metadata hold a hash
   of its code, so code that was changed later is found without running it.
2. Pictures are PNG of at most `COLOURS` colours and `MOST_OF_A_PICTURE` bytes,
   without metadata. The outputs of a chapter have at most `MOST_OF_A_CHAPTER` bytes.
3. Nothing fails or warns. Texts are the same in each run, except in cells with the
   tag `VARIES`, which print seconds, name the machine, or print last digits that
   differ between processors.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

COLOURS = 64
MOST_OF_A_PICTURE = 60_000
MOST_OF_A_CHAPTER = 400_000

VARIES = "varies"
"""The tag of a cell whose text differs between runs or machines."""

KEPT = ("text/plain", "text/html", "image/png")
"""The kinds of output that are stored."""

METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
"""What a stored notebook says of its kernel: nothing of the machine that ran it."""

Notebook = dict[str, Any]


def chapters() -> list[Path]:
    """The chapters in their order."""
    return sorted(HERE.glob("*.ipynb"))


def read(file: Path) -> Notebook:
    """A notebook as it is stored."""
    notebook: Notebook = json.loads(file.read_text(encoding="utf-8"))
    return notebook


def write(notebook: Notebook, file: Path) -> None:
    """Write a notebook as Jupyter does."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """The cells that run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text_of(lines: str | Sequence[str]) -> str:
    """A notebook's text, which is stored whole or line by line."""
    return lines if isinstance(lines, str) else "".join(lines)


def tags_of(cell: dict[str, Any]) -> list[str]:
    """The tags of a cell."""
    return list(cell["metadata"].get("tags", []))


def hash_of(notebook: Notebook) -> str:
    """SHA-256 of the code, cell by cell."""
    code = [text_of(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def run(notebook: Notebook, *, timeout: int = 1200) -> Notebook:
    """The notebook after one run in the repository's root, with light outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        if a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    # figures are drawn where the kernel shows them, whatever MPLBACKEND says outside
    environment = {"OMP_NUM_THREADS": "1"} | os.environ | {"MPLBACKEND": ""}
    fresh = nbformat.reads(json.dumps(notebook), as_version=4)
    options = {"record_timing": False, "coalesce_streams": True, "timeout": timeout}
    folder = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(fresh, resources=folder, **options)
    done: Notebook = json.loads(nbformat.writes(client.execute(env=environment)))
    for cell in code_cells(done):
        cell["outputs"] = [
            light(output) for output in cell["outputs"] if not compiles(output)
        ]
    done["metadata"] = METADATA | {"prunemodels": {"code": hash_of(done)}}
    return done


def compiles(output: dict[str, Any]) -> bool:
    """Whether it says that kernels are compiled, as a first run does."""
    return output.get("name") == "stderr" and text_of(output["text"]).startswith(
        "prunemodels: compiling"
    )


def light(output: dict[str, Any]) -> dict[str, Any]:
    """An output with its picture in few colours, and with what is stored alone."""
    if "data" not in output:
        return output
    data = {kind: output["data"][kind] for kind in KEPT if kind in output["data"]}
    if "image/png" in data:
        data["image/png"] = fewer_colours(text_of(data["image/png"]))
    return {**output, "data": data, "metadata": {}}


def fewer_colours(encoded: str) -> str:
    """A PNG in base64 with a palette, on white, and nothing about who drew it."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        white = Image.new("RGBA", image.size, "white")
        flat = Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    place, dither = io.BytesIO(), Image.Dither.NONE
    flat.quantize(COLOURS, dither=dither).save(place, format="PNG", optimize=True)
    return base64.b64encode(place.getvalue()).decode()


def faults(notebook: Notebook) -> Iterator[str]:
    """What is wrong with the stored outputs, in sentences; nothing is run."""
    if notebook["metadata"].get("prunemodels", {}).get("code") != hash_of(notebook):
        yield "the code is not the one whose outputs are stored"
    total = 0
    for number, cell in enumerate(code_cells(notebook), 1):
        if cell["execution_count"] != number:
            yield f"code cell {number} was run as number {cell['execution_count']}"
        for output in cell["outputs"]:
            total += len(json.dumps(output))
            yield from (f"code cell {number} {fault}" for fault in _of_output(output))
    if total > MOST_OF_A_CHAPTER:
        yield f"its outputs have {total:,} bytes; allowed are {MOST_OF_A_CHAPTER:,}"


def _of_output(output: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one output, as the end of a sentence."""
    if output["output_type"] == "error" or output.get("name") == "stderr":
        yield "fails or warns"
    for kind, data in output.get("data", {}).items():
        if kind not in KEPT:
            yield f"shows {kind}; only {', '.join(KEPT)} are stored"
        if kind == "image/png":
            picture = base64.b64decode(text_of(data))
            if len(picture) > MOST_OF_A_PICTURE:
                most = f"allowed are {MOST_OF_A_PICTURE:,}"
                yield f"draws a picture of {len(picture):,} bytes; {most}"
            if b"tEXt" in picture or b"iTXt" in picture:
                yield "draws a picture that says who drew it"


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell prints, and what its last expression reads as."""
    outputs = cell["outputs"]
    plain = (
        o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs
    )
    return [text_of(text) for text in plain]


def differences(stored: Notebook, fresh: Notebook) -> Iterator[str]:
    """Where a fresh run prints something else than what is stored."""
    pairs = zip(code_cells(stored), code_cells(fresh), strict=True)
    for number, (old, new) in enumerate(pairs, 1):
        was, now = texts(old), texts(new)
        if VARIES not in tags_of(new) and was != now:
            was_text, now_text = "".join(was), "".join(now)
            yield f"code cell {number} printed\n{was_text}\nand prints\n{now_text}\n"


def treated(file: Path, *, check: bool, compare: bool) -> list[str]:
    """Check, compare or run a chapter; what is wrong with it."""
    stored = read(file)
    if check:
        return list(faults(stored))
    fresh = run(stored)
    if compare:
        return list(differences(stored, fresh))
    write(fresh, file)
    return list(faults(fresh))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its status is 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m notebooks.execute",
        description="Run chapters and store what they print and draw.",
    )
    parser.add_argument("chapter", nargs="*", help="such as 08_budgets; default: all")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="run nothing")
    what.add_argument("--compare", action="store_true", help="run, but write nothing")
    given = parser.parse_args(arguments)
    named = [HERE / f"{Path(name).stem}.ipynb" for name in given.chapter]
    count = 0
    for file in named or chapters():
        found = treated(file, check=given.check, compare=given.compare)
        count += len(found)
        for fault in found:
            print(f"{file.name}: {fault}", file=sys.stderr)
        if not given.check:
            print(f"{file.name}: done", flush=True)
    if count:
        print(
            "python -m notebooks.execute CHAPTER stores new outputs", file=sys.stderr
        )
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
