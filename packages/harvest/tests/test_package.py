from pathlib import Path

import calque_harvest


def test_the_version_is_that_of_the_release():
    assert calque_harvest.__version__ == "0.1.0"
    assert (Path(calque_harvest.__file__).parent / "py.typed").exists()
