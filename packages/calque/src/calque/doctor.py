"""`python -m calque.doctor`: print versions, devices and settings, and name each wrong setting.

One idea: a report is a list of sections, each with its lines and with its faults.  A fault is one sentence that names
the value and the remedy.  The exit status is 1 if there is a fault.  Nothing here imports `calque` itself: another
author's package may have put its own module in that place, which is one of the faults.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import platform
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from calque_core import config
from calque_core.engine import FACADE, facade_fault, import_at_rest, install_command, similar_name

PACKAGES = (
    FACADE, "calque-pytree", "calque-core", "calque-autodiff", "calque-jet", "calque-batching", "calque-linalg",
    "calque-special", "calque-signal", "calque-sparse", "calque-laplacian", "calque-harvest", "calque-bounds",
    "calque-numpy", "calque-xla-backend", "calque-as-jax",
)  # fmt: skip
OTHERS = ("numpy", "jaxlib", "ml_dtypes", "scipy", "jax")
VARIABLES = (
    "CALQUE_CACHE",
    "CALQUE_CACHE_SIZE",
    "CALQUE_COORDINATOR_ADDRESS",
    "CALQUE_COORDINATOR_BIND_ADDRESS",
    "CALQUE_NUM_PROCESSES",
    "CALQUE_PROCESS_ID",
)
_REQUIREMENT = re.compile(r"^([\w.-]+)\s*([^;]*)$")
_BOUND = re.compile(r"^(>=|<=|==|!=|<|>)([\d.]+)$")


class Section(NamedTuple):
    """A part of the report: its title, its lines, and its faults."""

    title: str
    lines: list[str]
    faults: list[str]


def examine() -> list[Section]:
    """Return the sections of the report.

    >>> from calque.doctor import examine
    >>> [section.title for section in examine()]
    ['versions', 'devices', 'plugins', 'settings', 'compiled programs on disk']
    """
    return [_versions(), _devices(), _plugins(), _settings(), _disk()]


def main() -> int:
    """Print the report; return the number of the exit status: 1 if something is wrong."""
    logging.getLogger("calque").addHandler(logging.NullHandler())  # the report says what the log would
    sections = examine()
    for section in sections:
        print(section.title, *section.lines, sep="\n  ")  # noqa: T201  this command prints
    faults = [fault for section in sections for fault in section.faults]
    print("\n".join(["wrong", *(f"  {fault}" for fault in faults)]) if faults else "nothing is wrong")  # noqa: T201
    return int(bool(faults))


# Versions


def _versions() -> Section:
    lines = [f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    lines += [f"{name} {_version(name) or 'is not installed'}" for name in (*PACKAGES, *OTHERS)]
    stranger = facade_fault()
    return Section("versions", lines, [*([stranger] if stranger else []), *_wrong_versions()])


def _wrong_versions() -> Iterator[str]:
    """Yield a sentence for each requirement of an installed package that another installed package does not meet."""
    for package in (*PACKAGES, "jax", "jaxlib"):
        for requirement in _requirements(package):
            match = _REQUIREMENT.match(requirement)
            name, bounds = (match[1], match[2].replace(" ", "")) if match else ("", "")
            version = _version(name) if name in (*PACKAGES, *OTHERS) else None
            if version and not all(_meets(version, bound) for bound in bounds.split(",")):
                yield (
                    f"{package} {_version(package)} needs {name}{bounds}, but {name} {version} is installed. Install "
                    f"versions that go together: pip install --upgrade {package} {name}."
                )


def _requirements(package: str) -> list[str]:
    """Return the requirements of a package that hold everywhere; an empty list if it is not installed."""
    if _version(package) is None:
        return []
    return [requirement for requirement in importlib.metadata.requires(package) or [] if ";" not in requirement]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _meets(version: str, bound: str) -> bool:
    """Tell whether a version meets a bound such as '>=0.1'; a bound of another form is taken as met."""
    match = _BOUND.match(bound)
    if match is None:
        return True
    ours, theirs = _numbers(version), _numbers(match[2])
    return {
        ">=": ours >= theirs, "<=": ours <= theirs, "==": ours == theirs, "!=": ours != theirs, "<": ours < theirs,
        ">": ours > theirs,
    }[match[1]]  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without zeros at its end: 1.0 is 1."""
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[a-z+-]", version)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


# The backend


def _has_backend() -> bool:
    return importlib.util.find_spec("calque_xla_backend") is not None


def _backend() -> Any:
    return import_at_rest("calque_xla_backend")


def _devices() -> Section:
    if not _has_backend():
        return Section(
            "devices", [f"none, and no jit: calque-xla-backend comes with {install_command('calque', 'xla')}"], []
        )
    try:
        devices = _backend().devices()
    except (ImportError, RuntimeError, ValueError) as error:  # of another jaxlib; XLA does not start; a wrong flag
        return Section("devices", ["none"], [str(error)])
    return Section("devices", [f"{device} ({device.platform})" for device in devices], [])


def _plugins() -> Section:
    """Return the plugins of XLA; `_devices` has tried to start them, and one that failed is a fault."""
    if not _has_backend():
        return Section("plugins", ["none"], [])
    try:
        known = _backend().plugins()
    except (ImportError, ValueError) as error:  # a line about the devices tells it, too
        return Section("plugins", ["none"], [str(error)] if isinstance(error, ValueError) else [])
    lines = [f"{plugin.platform}: {plugin.source}, {plugin.problem or plugin.library}" for plugin in known]
    faults = [
        f"the platform {plugin.platform!r}: {plugin.problem}" for plugin in known if plugin.library and plugin.problem
    ]
    return Section("plugins", lines or ["none"], faults)


def _disk() -> Section:
    title = "compiled programs on disk"
    try:
        cache = _backend().compilation_cache
    except ImportError:  # a line about the devices tells it
        return Section(title, ["none"], [])
    info = cache.cache_info()
    usage = f"{info.entries} programs of {_megabytes(info.bytes)}, at most {_megabytes(info.max_bytes)}"
    lines = [info.folder, usage] if info.folder else [f"none: {info.reason}"]
    return Section(title, lines, [f"{fault}." for fault in cache.check_settings()])


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


# Settings


def _settings() -> Section:
    settings = config.current()
    changed = [name for name in settings._fields if getattr(settings, name) != getattr(type(settings)(), name)]
    lines = [f"calque.config.{name} = {getattr(settings, name)!r}" for name in changed]
    names = sorted(name for name in os.environ if name.startswith("CALQUE_") or name == "XLA_FLAGS")
    lines += [f"{name}={os.environ[name]}" for name in names]
    unknown = [name for name in names if name not in (*VARIABLES, "XLA_FLAGS")]
    return Section("settings", lines or ["the default of each"], list(map(_unknown_variable, unknown)))


def _unknown_variable(name: str) -> str:
    similar = similar_name(name, VARIABLES)
    advice = f"Did you mean {similar}?" if similar else f"The variables are {', '.join(VARIABLES)}."
    return f"{name} is set, but there is no such variable. {advice}"


if __name__ == "__main__":
    sys.exit(main())
