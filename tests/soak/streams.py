"""What a viewer must not notice, and what a test may ask of four of them."""

import pattern

SIZE = (1280, 720)
CAMERA = {"width": SIZE[0], "height": SIZE[1]}
KINDS = [(p, t) for p in ("gstreamer", "ffmpeg") for t in ("udp", "tcp")]
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


def watch_for(seconds, viewers):
    """Watches until each viewer has seen so many seconds, and returns these frames of each."""
    for viewer in viewers:
        # Who joins others may first decode what depends on the key frame before.
        viewer.skip_unreadable(most=pattern.FPS // 2)
    count = int(seconds * pattern.FPS)
    return [viewer.next_frames(count, seconds + 20) for viewer in viewers]


def watch_by_four(watch, url):
    """Four viewers, of every program and transport."""
    viewers = [watch(url, program=p, transport=t, size=SIZE) for p, t in KINDS]
    for viewer in viewers:
        viewer.wait_numbers(2 * pattern.FPS)
    return viewers
