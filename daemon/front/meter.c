#include "daemon/front/meter.h"

#include "config/base.h"

#include <string.h>

static void add_to_bitrate(struct meter *meter, uint64_t bytes, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - meter->window_began_ns;

    if (elapsed_ns >= NS_PER_S) {
        // After a pause there is no second before.
        meter->bitrate_kbps =
            elapsed_ns < 2 * NS_PER_S
                ? (uint32_t)(meter->window_bytes * 8 * NS_PER_MS / (uint64_t)elapsed_ns)
                : 0;
        meter->window_began_ns = now_ns;
        meter->window_bytes = 0;
    }
    meter->window_bytes += bytes;
}

void meter_add(struct meter *meter, const struct link_access_unit *unit, uint64_t bytes,
               int64_t now_ns)
{
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
    mount->dropped = meter->dropped + meter->missed;
    mount->bitrate_kbps = idle ? 0 : meter->bitrate_kbps;
    memcpy(mount->encoder, meter->encoder, sizeof mount->encoder);
    memcpy(mount->latency, meter->latency, sizeof mount->latency);
}
