"""Behind an encoder that is too slow, frames do not wait: what the governor promises, by the clock."""

import pytest

from bench_governor import measure_edged


@pytest.mark.parametrize("governor", ["rate-size", "size-rate"])
def test_latency_stays_below_150_ms_and_all_is_back_within_10_s(tmp_path, seconds, governor):
    # Of this time it needs 0.3 s to act.
    latency, given_up, back_s = measure_edged(tmp_path, governor, max(seconds - 10, 30))
    assert given_up != ""
    assert latency["p95"] < 150, latency
    assert back_s < 10
