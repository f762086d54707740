#include "daemon/front/stream/meter.h"

#include "config/base.h"

#include <string.h>

#define OLDEST_NS (10 * NS_PER_S) // an access unit that waited longer would be no live picture

static void add_to_bitrate(struct meter *meter, uint64_t bytes, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - meter->window_began_ns;

    if (elapsed_ns >= NS_PER_S) {
        // After a pause the second before had no frames.
        meter->bitrate_kbps =
            elapsed_ns < 2 * NS_PER_S
                ? (uint32_t)(meter->window_bytes * 8 * NS_PER_MS / (uint64_t)elapsed_ns)
                : 0;
        meter->window_began_ns = now_ns;
        meter->window_bytes = 0;
    }
    meter->window_bytes += bytes;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void mend_times(struct meter *meter, struct link_access_unit *unit, int64_t now_ns)
{
    int64_t captured_ns = clamp(unit->captured_ns, now_ns - OLDEST_NS, now_ns);

    meter->bad_timestamps += captured_ns != unit->captured_ns;
    unit->captured_ns = captured_ns;
    unit->grabbed_ns = clamp(unit->grabbed_ns, unit->captured_ns, now_ns);
    unit->computed_ns = clamp(unit->computed_ns, unit->grabbed_ns, now_ns);
    unit->encoded_ns = clamp(unit->encoded_ns, unit->computed_ns, now_ns);
}

void meter_add(struct meter *meter, struct link_access_unit *unit, uint64_t bytes, int64_t now_ns)
{
    mend_times(meter, unit, now_ns);
    meter->access_units++;
    meter->key_frames += unit->key_frame != 0;
    meter->bytes += bytes;
    add_to_bitrate(meter, bytes, now_ns);
    if (unit->slate) {
        return;
    }
    histogram_add_ns(&meter->latency[LATENCY_CAPTURE], unit->grabbed_ns - unit->captured_ns);
    histogram_add_ns(&meter->latency[LATENCY_COMPUTE], unit->computed_ns - unit->grabbed_ns);
    histogram_add_ns(&meter->latency[LATENCY_ENCODE], unit->encoded_ns - unit->computed_ns);
    histogram_add_ns(&meter->latency[LATENCY_LINK], now_ns - unit->encoded_ns);
}

void meter_describe(const struct meter *meter, int64_t now_ns, struct snapshot_mount *mount)
{
    bool idle = now_ns - meter->window_began_ns > 2 * NS_PER_S;

    mount->access_units = meter->access_units;
    mount->key_frames = meter->key_frames;
    mount->bytes = meter->bytes;
    mount->encoded = meter->encoded;
    mount->dropped = meter->dropped;
    mount->bad_timestamps = meter->bad_timestamps;
    mount->bitrate_kbps = idle ? 0 : meter->bitrate_kbps;
    memcpy(mount->encoder, meter->encoder, sizeof mount->encoder);
    memcpy(mount->latency, meter->latency, sizeof mount->latency);
}
