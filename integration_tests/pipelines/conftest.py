"""A desk for each pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration_tests.pipelines.desk import Desk


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(spark, tmp_path)
