"""The laws of patterns and of compressed derivatives: their tables lie in this folder and in the one above."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
