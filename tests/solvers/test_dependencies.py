"""Versions of native solvers that cannot share a process are refused before they are imported."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from solvers.dependencies import check_versions

ROOT = Path(__file__).resolve().parent.parent.parent


def run_with(folder: Path, package: str, version: str) -> subprocess.CompletedProcess[str]:
    """check_versions in a fresh process that finds the given version of a package first."""
    info = folder / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    code = (
        f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]; from solvers.dependencies import check_versions; "
        "loaded = set(sys.modules); check_versions(); print(sorted((set(sys.modules) - loaded) & {'highspy', 'ortools'}))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("package", "version", "needed"),
    [("highspy", "1.15.0", "1.13"), ("highspy", "1.14.0", "1.13"), ("highspy", "1.130.0", "1.13"), ("ortools", "9.16.1", "9.15")],
)
def test_wrong_versions_are_refused(package: str, version: str, needed: str, tmp_path: Path) -> None:
    """The message says what is installed, what is needed, why, and the command that mends it."""
    done = run_with(tmp_path, package, version)
    assert done.returncode != 0
    message = done.stderr.splitlines()[-1]
    assert f"ImportError: {package} {version} is installed, {package} {needed} is needed" in message
    assert "libhighs.so.1" in message
    assert "wrong optima" in message
    assert "python -m pip install 'highspy==1.13.*' 'ortools==9.15.*'" in message


@pytest.mark.parametrize(("package", "version"), [("highspy", "1.13.0"), ("highspy", "1.13"), ("ortools", "9.15.6755")])
def test_right_versions_pass(package: str, version: str, tmp_path: Path) -> None:
    """All releases of the right versions pass, and looking them up imports neither package."""
    done = run_with(tmp_path, package, version)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-Tools, the message names it and the command; highspy is left out of a light install."""

    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(ImportError, match=r"ortools 9\.15 is needed and not installed; mend it with: python -m pip install"):
        check_versions()
