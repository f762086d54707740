"""Tests that run the same code as others, with other numbers: a sanitizer leaves them out (make asan)."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "repeats: the same code as another test, see once()")


def once(*names):
    """Parameters of a test that differ in numbers alone: the first one runs the code of all."""
    return [*names[:1], *(pytest.param(name, marks=pytest.mark.repeats) for name in names[1:])]


def crossed(rows, columns):
    """Every pair of them, as parameters; the first of each with all of the others run the code of all."""
    return [pytest.param(row, column, marks=[pytest.mark.repeats] if i and k else [])
            for i, row in enumerate(rows) for k, column in enumerate(columns)]
