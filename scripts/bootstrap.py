"""Makes .venv hold what requirements.lock names; standard library only, safe to repeat."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / ".lockhash"
OLDEST = (3, 11)


def main() -> int:
    if sys.version_info < OLDEST:
        return use_newer_python()
    if not os.access(str(ROOT), os.W_OK):
        return fail("this folder is read-only: copy the project to a folder you can write to.")
    wanted = fingerprint()
    if up_to_date(wanted):
        return 0
    with exclusive():
        return 0 if up_to_date(wanted) else install(wanted)


def up_to_date(wanted: str) -> bool:
    """The stamp is written last, so a half-finished install never counts."""
    return STAMP.exists() and STAMP.read_text() == wanted and python_works()


def use_newer_python() -> int:
    for name in ("python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found and succeeds([found, "-c", ""]):  # pyenv's shims exist without their Python
            os.execv(found, [found, __file__])
    return fail(
        "ContextOS needs Python 3.11 or newer; this is {}.{}. Install one or run "
        "`make PYTHON=/path/to/python3.11 ...`.".format(*sys.version_info[:2])
    )


def fail(text: str) -> int:
    print("setup: " + text, file=sys.stderr)
    return 2


def fingerprint() -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return hashlib.sha256(LOCK.read_bytes() + version.encode()).hexdigest()


def venv_python() -> str:
    return str(VENV / "bin" / "python")


def python_works() -> bool:
    return os.path.exists(venv_python()) and succeeds([venv_python(), "-c", "import django"])


def succeeds(command: List[str]) -> bool:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, stdout=quiet, stderr=quiet, check=False).returncode == 0
    except OSError:
        return False


class exclusive:  # noqa: N801  a context manager spelled as the word it reads as
    """Two `make` at once: the second waits instead of spoiling the first one's install."""

    def __enter__(self) -> None:
        import fcntl

        (ROOT / "build").mkdir(exist_ok=True)
        self.file = open(ROOT / "build" / ".setup.lock", "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


def install(wanted: str) -> int:
    STAMP.unlink(missing_ok=True)
    print("setup: installing into .venv (once; later runs re-use it) ...", file=sys.stderr)
    if not succeeds([venv_python(), "-m", "pip", "--version"]):
        shutil.rmtree(VENV, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=False)
        if made.returncode:
            return fail("python -m venv failed; on Debian install python3-venv and run again.")
    if not (install_with_uv() or install_with_pip()):
        return fail(
            "installing from requirements.lock failed; see the lines above, then run again."
        )
    STAMP.write_text(wanted)
    print("setup: done.", file=sys.stderr)
    return 0


def install_with_uv() -> bool:
    uv = str(VENV / "bin" / "uv")
    pip = [venv_python(), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    pinned = next(
        (line.split()[0] for line in LOCK.read_text().splitlines() if line.startswith("uv==")), "uv"
    )
    if not os.path.exists(uv) and not succeeds([*pip, pinned]):
        return False
    command = [uv, "pip", "install", "-q", "--python", venv_python(), "--require-hashes"]
    return subprocess.run([*command, "-r", str(LOCK)], check=False).returncode == 0


def install_with_pip() -> bool:
    print("setup: uv is not to be had, using pip (about a minute) ...", file=sys.stderr)
    command = [venv_python(), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    return (
        subprocess.run([*command, "--require-hashes", "-r", str(LOCK)], check=False).returncode == 0
    )


if __name__ == "__main__":
    sys.exit(main())
