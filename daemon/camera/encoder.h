// One encoder, of H.264, H.265 or MJPEG: NV12 frames in, access units out (Annex B, or a JPEG
// each), in order, no B-frames.
//
// The encoder has a thread of its own and a queue that rides out a hiccup without losing a frame.
// When the queue is full the oldest frame is dropped. When it has not been empty for a second it
// only adds delay, and all that wait are dropped for the newest. So frames are dropped before they
// cost anything. GStreamer elements do the encoding; which one is decided by a trial encode,
// because the presence of an element proves nothing.
#pragma once

#include "daemon/camera/encoder_elements.h"
#include "daemon/camera/encoder_watch.h"
#include "daemon/camera/governor.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>

// Frames that may wait: 330 ms at 30 fps.
#define ENCODER_QUEUE_LENGTH 10
// Frames inside an element, at most.
#define ENCODER_FRAMES_INSIDE 2
// How many frames there are for pictures that go to an encoder: those in it, one being computed,
// one being made into snapshots, one to spare.
#define ENCODER_PICTURES (ENCODER_QUEUE_LENGTH + ENCODER_FRAMES_INSIDE + 3)

struct encoder;

// One access unit; borrowed. `life.encoded_ns`, `key_frame` and the rest are filled in.
struct encoder_unit {
    struct link_access_unit life;
    const uint8_t *bytes; // parameter sets in front of every key frame
    size_t size;
    bool trial; // one of the trial's two key frames
};

// The encoders that encoder_new() passed over, in the order in which it would rather have taken
// them.
struct encoder_trials {
    unsigned count;
    struct link_trial list[LINK_TRIALS_MAX];
};

// Called in one of the encoder's threads, in order.
typedef void encoder_output(void *context, const struct encoder_unit *unit);

// Makes the first encoder of the wanted element (auto: those of the codec, in the order of
// encoder_elements.c) that turns `trial` (an NV12 frame of the settings' size) into two key frames
// within 8 s; `output` gets these first, marked as trial. Whatever the result, `ret_trials` has
// those that were passed over for it. -ENOSYS when none encodes: `error` lists each with its
// reason. `watches` outlive the encoder, and say what auto tries last. NULL: nobody watches it.
int encoder_new(const struct encoder_settings *settings, struct frame *trial,
                struct encoder_watches *watches, encoder_output *output, void *context,
                struct encoder_trials *ret_trials, struct error *error,
                struct encoder **ret_encoder);
// Stops; frames still queued are not encoded. No output call after it. Takes NULL.
void encoder_free(struct encoder *encoder);

// Queues a frame (takes a reference of its own), or drops it where the governor says so. `life`
// travels to the access unit. Returns the number of frames that were dropped, this one among them,
// or -EPIPE when the element has failed.
int encoder_push(struct encoder *encoder, struct frame *frame, const struct link_access_unit *life,
                 bool key_frame);

// Waits until no frame waits to be encoded, or CLOCK_MONOTONIC is past `deadline_ns`. An encoder
// that has had some waiting at each call for 3 s does not keep up, and is not waited for: its queue
// drops them.
void encoder_wait_for_room(struct encoder *encoder, int64_t deadline_ns);

// After this there are no output calls, and frames that are not encoded yet are lost. For an
// encoder that another thread is going to free, which may take as long as encoding a frame.
void encoder_mute(struct encoder *encoder); // takes NULL

// Any thread. Whether its element can be given another bit rate: in GStreamer before 1.18 x265enc
// waits for itself then, and has to be made anew.
bool encoder_can_retune(const struct encoder *encoder);
// Any thread. Takes over from `settings` the bit rate, of an encoder that can, the quality of JPEGs
// and the distance of key frames, from the next frame on.
void encoder_retune(struct encoder *encoder, const struct encoder_settings *settings);

enum config_encoder encoder_element(const struct encoder *encoder);
const char *encoder_name(const struct encoder *encoder); // "x264enc"
// Why the element has failed, as GStreamer says.
void encoder_take_error(struct encoder *encoder, struct error *error);
// Any thread. The reduction because the element is too slow, "rate 1/2"; "": none.
const char *encoder_governed(struct encoder *encoder);
// How frames that are surfaces get into the element: " by descriptor", " by transform", or "" where
// it reads them by the CPU.
const char *encoder_how(const struct encoder *encoder);
// Counts what a frame is copied, converted and scaled on its way into the element.
void encoder_count_copies(struct encoder *encoder, struct copies *copies);
const struct encoder_settings *encoder_get_settings(const struct encoder *encoder);
