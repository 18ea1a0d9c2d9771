"""Puts the folder on the path, so that tests import the module that writes down public names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
