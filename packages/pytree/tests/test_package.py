import subprocess
import sys

import calque_pytree


def test_every_public_name_exists_and_is_documented():
    for name in calque_pytree.__all__:
        value = getattr(calque_pytree, name)
        assert name in {"KeyEntry", "KeyPath", "default_registry"} or value.__doc__, name


def test_importing_loads_nothing_but_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import calque_pytree; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before} - {'calque_pytree'}; "
        "print(sorted(new - set(sys.stdlib_module_names)), 'pickle' in new)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


def test_short_and_long_names_are_one_function():
    for name in calque_pytree.__all__:
        short = name.removeprefix("tree_")
        if short != name:
            assert getattr(calque_pytree, short) is getattr(calque_pytree, name)
