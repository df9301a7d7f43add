"""What Spark says of pandas 3 at each start is not said; everything else is."""

from __future__ import annotations

import subprocess
import sys

SAYS = """
import warnings
warnings.simplefilter("default")
import trident
warnings.warn("PySpark does not yet fully support pandas >= 3.0.0. Some features may not work", FutureWarning)
warnings.warn("PySpark will do something else", FutureWarning)
"""


def test_one_warning_of_sparks_is_not_shown_and_no_other() -> None:
    said = subprocess.run([sys.executable, "-c", SAYS], capture_output=True, text=True, check=True).stderr
    assert "something else" in said
    assert "pandas" not in said
