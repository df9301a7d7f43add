"""The tests that `examples/test_payments.py` shows, run on this suite's session."""

from __future__ import annotations

from examples.test_payments import (
    test_a_field_that_the_job_does_not_read_is_told,
    test_a_payment_is_counted_once_wherever_the_job_dies,
    test_payments_are_counted_and_summed,
    test_what_comes_in_while_the_job_is_down_is_counted_once,
)

__all__ = [
    "test_a_field_that_the_job_does_not_read_is_told",
    "test_a_payment_is_counted_once_wherever_the_job_dies",
    "test_payments_are_counted_and_summed",
    "test_what_comes_in_while_the_job_is_down_is_counted_once",
]
