// The front's side of a view: what the camera process encoded, kept for every reader.
//
// A stream outlives the camera process that feeds it: it keeps two key frames of the NO SIGNAL
// slate and plays them in turn while the process is being replaced, so that RTSP sessions go on.
// Main loop only.
#pragma once

#include "daemon/front/status/histogram.h"
#include "daemon/front/stream/demand.h"
#include "daemon/front/stream/payloader.h"
#include "daemon/front/stream/reader.h"
#include "daemon/front/stream/stills.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Steps of a frame's life. capture: pts to grabbed; compute: to view done; encode: to access unit
// done; link: to received by the front; capture_to_rtp: pts to handed to the payloader.
enum latency_step {
    LATENCY_CAPTURE,
    LATENCY_COMPUTE,
    LATENCY_ENCODE,
    LATENCY_LINK,
    LATENCY_CAPTURE_TO_RTP,
    LATENCY_STEP_COUNT,
};

enum viewer_kind { VIEWER_RTSP, VIEWER_HTTP, VIEWER_KIND_COUNT };

// Counts of a stream: frames, bytes, bitrate and frame rate over the last second, latency of each
// step.
struct stream_statistics {
    uint64_t access_units, key_frames, bytes;
    uint64_t encoded;        // by the camera process
    uint64_t dropped;        // by the camera process, and of what is kept for readers
    uint64_t snapshots;      // JPEGs made by the camera process
    uint64_t bad_timestamps; // of access units that claim an impossible time of capture
    char encoder[24], governor[24];
    int64_t window_began_ns; // of the running second
    uint64_t window_bytes;
    unsigned window_units;
    uint32_t bitrate_kbps, fps_milli; // of the second before; 0: nothing came
    struct histogram latency[LATENCY_STEP_COUNT];
};

// `path` is "/camera/view"; `payloader` that of its codec; `bitrate_kbps` as for
// stream_set_bitrate(). 0 or -ENOMEM.
int stream_new(const char *path, const struct payloader_ops *payloader, uint32_t bitrate_kbps,
               struct stream **ret_stream);
struct stream *stream_ref(struct stream *stream);
// Takes NULL.
void stream_unref(struct stream *stream);
const char *stream_path(const struct stream *stream);
// The bit rate that the view is configured for. The ring keeps at most 2 s at
// twice that rate.
void stream_set_bitrate(struct stream *stream, uint32_t bitrate_kbps);

// Sets the handler that is told of readers and wanted key frames; NULL: none any more.
void stream_set_demand(struct stream *stream, stream_demand_handler *handler, void *context);
// Takes over `payload` (malloc'd, `size` bytes, a struct link_access_unit followed by Annex B
// bytes) as the next frame. -EBADMSG: no access unit of its codec; -ENOMEM.
int stream_take_access_unit(struct stream *stream, uint8_t *payload, size_t size);
// Takes over `payload` (malloc'd, Annex B) as a slate key frame; the newest two are kept. Errors as
// above.
int stream_take_slate(struct stream *stream, uint8_t *payload, size_t size);
// Its JPEGs, which the stream owns: who waits for one holds a reference to the stream.
struct stills *stream_stills(struct stream *stream);
// The camera process is gone: the slates play, at once and twice a second, until the next key frame
// arrives. The stream does the same by itself when it is watched and no access unit came for longer
// than freshness_left_ns() allows (the process hangs).
void stream_interrupt(struct stream *stream);
// For how long no access unit may come, as the camera process says; 0: it has no camera. From 0 to
// 60 s.
void stream_set_patience(struct stream *stream, int64_t patience_ns);
// How many frames the camera brings in a thousand seconds, as measured over a second; 0: none.
void stream_set_rate(struct stream *stream, uint32_t fps_milli);
uint32_t stream_rate(const struct stream *stream);
// Sets the camera process's counters of this view.
void stream_set_view_counters(struct stream *stream, uint64_t encoded, uint64_t dropped,
                              const char *encoder, const char *governor);
// Both slate key frames are there.
bool stream_has_slates(const struct stream *stream);

// Makes `reader` one of the stream's readers, which makes the view be encoded; it holds a reference
// to the stream. It begins held.
void stream_watch(struct stream *stream, struct stream_reader *reader, void (*wake)(void *context),
                  void *context);
void stream_leave(struct stream *stream, struct stream_reader *reader);
bool stream_is_watched(const struct stream *stream);
// The reader goes on with the next key frame, which is asked for. If the camera sends none within
// 400 ms of that, the reader gets a slate. If slates play already, it gets the next of them, within
// 500 ms.
void stream_resume(struct stream *stream, struct stream_reader *reader, enum demand_reason reason);
// A reader has lost a picture, or a receiver has joined its group: it needs a key frame, which is
// asked for as soon as `reason` allows, unless one has come by then.
void stream_want_key_frame(struct stream *stream, enum demand_reason reason);
// A viewer came (1) or went (-1), for status. Readers cannot tell it, as those of sessions of RTSP
// that do not play are readers too.
void stream_count_viewer(struct stream *stream, enum viewer_kind kind, int change);
unsigned stream_viewers(const struct stream *stream, enum viewer_kind kind);
// The group that it is sent to, for status: "239.255.4.1:5004"; "": none. Copied, borrowed.
void stream_set_group(struct stream *stream, const char *group);
const char *stream_group(const struct stream *stream);
// A reader begins to send `unit`: the time since its capture goes into the histograms.
void stream_note_sent(struct stream *stream, const struct unit *unit);

// How its access units become packets.
const struct payloader_ops *stream_payloader(const struct stream *stream);
// The parameter sets of the newest key frame, which may be a slate. Borrowed.
const struct parameter_sets *stream_parameter_sets(const struct stream *stream);
// How often they have changed; 1 with the first.
unsigned stream_description_version(const struct stream *stream);
// The parameter sets are there: DESCRIBE can be answered.
bool stream_is_described(const struct stream *stream);

// The counts up to now.
void stream_count(const struct stream *stream, struct stream_statistics *ret_statistics);

// Notices when frames that should keep coming have stopped. All times are CLOCK_MONOTONIC.
struct freshness {
    int64_t last_ns;            // of the last frame, or of the start
    int64_t interval_ns;        // between the last two frames; 0: unknown
    int64_t interval_before_ns; // between the two before
    bool starting;              // no frame since the start
    int64_t patience_ns;        // of the camera process; 0: unknown
};

// Frames are expected from now on.
void freshness_start(struct freshness *freshness, int64_t now_ns);
// A frame came.
void freshness_note(struct freshness *freshness, int64_t now_ns);
// How long the next frame may still take; 0 or less when it is overdue. Frames may be 700 ms apart,
// those of a slower camera three times as far as the last two, at most 60 s. One interval of 1.5 s
// or more does not make a slow camera, two in a row do. They may be 200 ms farther apart than the
// camera process has patience, too: it knows its camera.
int64_t freshness_left_ns(const struct freshness *freshness, int64_t now_ns);
