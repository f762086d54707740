"""The tutorials' table, small and with what is installed: every row is right, or says why it is not
there. (`make bench-tutorials` gets Numba, and measures.)"""

import json
import os
import subprocess
import sys

import pytest

import programs

BENCH = programs.ROOT / "tests/bench/tutorials/bench_tutorials.py"
ROWS = ["python", "numba_jit", "numba_typed", "numba_parallel", "opencv", "cuda_automatic",
        "cuda_manual", "cpu", "cuda"]


def run(*words, **variables):
    environment = dict(os.environ, EDGED_BUILD=str(programs.EDGECTL.parent),
                       CUDA_VISIBLE_DEVICES="", **variables)
    return subprocess.run([sys.executable, "-B", BENCH, "--no-install", *words], env=environment,
                          capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("size", ["65x47", "3x3"])
def test_rows_equal_their_definitions_or_say_why_they_are_missing(size):
    result = run("--size", size, "--json")
    assert result.returncode == 0, result.stderr
    rows = {row["row"]: row for row in json.loads(result.stdout)["rows"]}
    assert list(rows) == ROWS
    for row in rows.values():
        if "reason" in row:
            assert row["reason"] and not row["reason"].startswith("failed")
        else:
            assert (row["different"], row["most"]) == (0, 0) and row["ms"] > 0
    for always in ("python", "opencv", "cpu"):
        assert "ms" in rows[always]
    assert rows["cuda"]["reason"]


def test_wheels_that_are_none_are_a_row_without_figures(tmp_path):
    (tmp_path / "numba").write_text("raise ImportError\n")
    result = run("--size", "16x16", "--json", NUMBA_WHEELS=str(tmp_path))
    rows = {row["row"]: row for row in json.loads(result.stdout)["rows"]}
    assert result.returncode == 0 and "ms" in rows["opencv"] and "ms" in rows["cpu"]
    assert rows["numba_jit"].get("reason", "Numba is not installed") == "Numba is not installed"


def test_table_has_a_line_a_row():
    lines = run("--size", "16x16").stdout.splitlines()
    assert lines[0].startswith("astronaut.png mirrored to 16x16")
    assert lines[3].startswith("plain Python loops") and lines[10].startswith("edged CPU")
    assert lines[11].startswith("edged CUDA")
