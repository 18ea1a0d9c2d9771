"""Lets the tests of this folder share their tables: each file is imported by path, which finds no neighbours."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
