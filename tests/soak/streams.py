"""What a viewer must not notice."""

import pattern

GAP_MAX_MS = 150


def longest_gap_ms(frames):
    """The longest time without a picture."""
    times_ns = [arrival_ns for _, arrival_ns in frames]
    return max(after - before for before, after in zip(times_ns, times_ns[1:])) / 1e6


def assert_whole(frames, period=1 << pattern.NUMBER_BITS, gap_max_ms=GAP_MAX_MS):
    """Every frame in order, none missing, none late, all of them readable."""
    missing, unreadable = pattern.holes(frames, period)
    seen = (f"{len(frames)} frames: {missing} missing, {unreadable} unreadable,"
            f" longest gap {longest_gap_ms(frames):.0f} ms")
    print(seen)
    assert (missing, unreadable) == (0, 0) and longest_gap_ms(frames) <= gap_max_ms, seen
