"""`python -m calque_as_jax program.py args` runs a program on calque; with --check, it lists what calque lacks."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from calque_as_jax.checking import absent_names

USAGE = "usage: python -m calque_as_jax [--check] program.py [arguments], or -m module [arguments]"


def main(arguments: list[str]) -> int:
    """Run or check the program that the arguments name; return the exit status."""
    match arguments:
        case ["--check", *paths] if paths:
            return check(paths)
        case ["-m", module, *rest]:
            sys.argv[:] = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [path, *_] if not path.startswith("-"):
            sys.argv[:] = arguments
            sys.path.insert(0, str(Path(path).parent))
            runpy.run_path(path, run_name="__main__")
        case _:
            sys.stderr.write(f"{USAGE}\n")
            return 2
    return 0


def check(paths: list[str]) -> int:
    """Write the names of jax that programs use and calque lacks; return 1 if there are any."""
    lines = [f"{path}:{line}: {text}" for path in paths for line, text in absent_names(path)]
    sys.stdout.write("".join(f"{line}\n" for line in lines or ["all names of jax that it uses are there"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
