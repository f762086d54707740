#include "daemon/front/snapshot.h"

#include <stdlib.h>

const char *latency_step_name(enum latency_step step)
{
    static const char *const names[LATENCY_STEP_COUNT] = {
        [LATENCY_CAPTURE] = "capture",
        [LATENCY_COMPUTE] = "compute",
        [LATENCY_ENCODE] = "encode",
        [LATENCY_LINK] = "link",
        [LATENCY_CAPTURE_TO_RTP] = "capture_to_rtp",
    };

    return names[step];
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot) {
        return;
    }
    free(snapshot->mounts);
    free(snapshot->cameras);
    free(snapshot);
}
