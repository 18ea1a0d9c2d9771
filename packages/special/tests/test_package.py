from pathlib import Path

import calque_special


def test_the_version_is_that_of_the_release():
    assert calque_special.__version__ == "0.1.0"
    assert (Path(calque_special.__file__).parent / "py.typed").exists()
