"""Names of sibling packages: where a public name is that a module of calque lacks.

One idea: each layer is a package of its own, so a user looks for `vmap` beside `grad`; the error about the missing name
says where it is, also where that package is not installed.

Read next: `sibling_names.py`, the table; `late.py`, which asks for the advice.
"""

from __future__ import annotations

from calque_core.distributions import about_stranger, install_command
from calque_core.sibling_names import NAMES


def sibling_advice(package: str, name: str) -> str | None:
    """Return the sentence that says which other module of ours has a public name; None if there is none.

    `package` is the module that lacks it; a module that is none of ours gets no advice.

    >>> from calque_core.siblings import sibling_advice
    >>> sibling_advice("calque_autodiff", "vmap")
    'Use calque_batching.vmap (pip install calque-batching).'
    """
    own = package.partition(".")[0]
    if own not in NAMES:
        return None
    having = [module for module, names in NAMES.items() if module != package and name in names.split()]
    places = [
        f"{module}.{name}" + ("" if module.partition(".")[0] == own else f" ({install_command(module)})")
        for module in having
    ]
    return f"Use {' or '.join(places)}.{about_stranger()}" if places else None
