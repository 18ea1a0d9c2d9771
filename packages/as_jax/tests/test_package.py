from pathlib import Path

import calque_as_jax


def test_the_version_is_that_of_the_release():
    assert calque_as_jax.__version__ == "0.1.0"
    assert (Path(calque_as_jax.__file__).parent / "py.typed").exists()
