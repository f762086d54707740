#include "daemon/front/stream/stream_statistics.h"

#include "config/base.h"

#include <string.h>

#define OLDEST_NS (10 * NS_PER_S) // an access unit that waited longer would be no live picture

static void add_to_bitrate(struct stream_statistics *statistics, uint64_t bytes, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - statistics->window_began_ns;

    if (elapsed_ns >= NS_PER_S) {
        // After a pause the second before had no frames.
        statistics->bitrate_kbps =
            elapsed_ns < 2 * NS_PER_S
                ? (uint32_t)(statistics->window_bytes * 8 * NS_PER_MS / (uint64_t)elapsed_ns)
                : 0;
        statistics->window_began_ns = now_ns;
        statistics->window_bytes = 0;
    }
    statistics->window_bytes += bytes;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void mend_times(struct stream_statistics *statistics, struct link_access_unit *unit,
                       int64_t now_ns)
{
    int64_t captured_ns = clamp(unit->captured_ns, now_ns - OLDEST_NS, now_ns);

    statistics->bad_timestamps += captured_ns != unit->captured_ns;
    unit->captured_ns = captured_ns;
    unit->grabbed_ns = clamp(unit->grabbed_ns, unit->captured_ns, now_ns);
    unit->computed_ns = clamp(unit->computed_ns, unit->grabbed_ns, now_ns);
    unit->encoded_ns = clamp(unit->encoded_ns, unit->computed_ns, now_ns);
}

void stream_statistics_add(struct stream_statistics *statistics, struct link_access_unit *unit,
                           uint64_t bytes, int64_t now_ns)
{
    mend_times(statistics, unit, now_ns);
    statistics->access_units++;
    statistics->key_frames += unit->key_frame != 0;
    statistics->bytes += bytes;
    add_to_bitrate(statistics, bytes, now_ns);
    if (unit->slate) {
        return;
    }
    histogram_add_ns(&statistics->latency[LATENCY_CAPTURE], unit->grabbed_ns - unit->captured_ns);
    histogram_add_ns(&statistics->latency[LATENCY_COMPUTE], unit->computed_ns - unit->grabbed_ns);
    histogram_add_ns(&statistics->latency[LATENCY_ENCODE], unit->encoded_ns - unit->computed_ns);
    histogram_add_ns(&statistics->latency[LATENCY_LINK], now_ns - unit->encoded_ns);
}

void stream_statistics_describe(const struct stream_statistics *statistics, int64_t now_ns,
                                struct snapshot_mount *mount)
{
    bool idle = now_ns - statistics->window_began_ns > 2 * NS_PER_S;

    mount->access_units = statistics->access_units;
    mount->key_frames = statistics->key_frames;
    mount->bytes = statistics->bytes;
    mount->encoded = statistics->encoded;
    mount->dropped = statistics->dropped;
    mount->bad_timestamps = statistics->bad_timestamps;
    mount->bitrate_kbps = idle ? 0 : statistics->bitrate_kbps;
    memcpy(mount->encoder, statistics->encoder, sizeof mount->encoder);
    memcpy(mount->governor, statistics->governor, sizeof mount->governor);
    memcpy(mount->latency, statistics->latency, sizeof mount->latency);
}
