"""The packages of calque on an index: which of them has a module, and how to install it.

One idea: a message about a missing piece ends with a command, and the command installs a package of ours.  The name
"calque" on the index belongs to another project, so the facade is distributed under `FACADE`, and a package of that
name is an error to report wherever it has the module `calque`.

Read next: `siblings.py`, which says which package has a public name.
"""

from __future__ import annotations

from functools import cache

from calque_pytree import late_function

FACADE = "calque-transforms"


def distribution_of(module: str) -> str:
    """Return the name on an index of the package that has a module of ours.

    >>> from calque_core.distributions import distribution_of
    >>> distribution_of("calque_numpy.linalg"), distribution_of("calque")
    ('calque-numpy', 'calque-transforms')
    """
    package = module.partition(".")[0]
    return FACADE if package == "calque" else package.replace("_", "-")


def install_advice(module: str, extra: str = "") -> str:
    """Return the sentence that says how to install the package of a module; one more if a stranger has its place.

    >>> from calque_core.engine import install_advice
    >>> install_advice("calque", "xla")
    'Install it: pip install "calque-transforms[xla]".'
    """
    return f"Install it: {install_command(module, extra)}.{about_stranger()}"


def install_command(module: str, extra: str = "") -> str:
    """Return the command that installs the package of a module, with an extra if one is named."""
    name = distribution_of(module)
    return f'pip install "{name}[{extra}]"' if extra else f"pip install {name}"


@cache  # it reads the metadata of all installed packages: 20 ms
def facade_fault() -> str | None:
    """Return the sentences about a package of another author that has the module `calque`; None if there is none."""
    owners = sorted(set(_packages_distributions().get("calque", ())))
    strangers = [owner for owner in owners if owner.lower().replace("_", "-") != FACADE]
    if not strangers:
        return None
    names = ", ".join(f"{name} {_version(name)}" for name in strangers)
    verb = "is another author's, and has" if len(strangers) == 1 else "are other authors', and have"
    again = f"; then pip install --force-reinstall --no-deps {FACADE}" if len(owners) > len(strangers) else ""
    return (
        f"The installed package {names} {verb} the module calque in place of {FACADE}. "
        f"Remove it: pip uninstall {' '.join(strangers)}{again}."
    )


def about_stranger() -> str:
    """Return what follows the advice to install a package: a space and `facade_fault()`, or nothing."""
    fault = facade_fault()
    return f" {fault}" if fault else ""


# The import of importlib.metadata takes 10 ms, and only errors need it.
_packages_distributions = late_function("importlib.metadata", "packages_distributions")
_version = late_function("importlib.metadata", "version")
