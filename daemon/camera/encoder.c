// A queue of jobs, the encoder's thread that feeds the element, and a table of the frames inside
// it.
//
// The thread pushes straight into the element's sink pad, and an encoder without look-ahead answers
// in the same call: no queue and no thread lies between a frame and its access unit. Elements that
// answer later, from threads of their own, find their frame by its running time in `lives`.

#include "daemon/camera/encoder.h"

#include "daemon/video/nal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define STANDING_NS NS_PER_S // a queue that is never empty for so long only adds delay
// Nor is one waited for that had frames waiting each time for so long: longer than a burst.
#define BEHIND_NS (3 * NS_PER_S)
#define TRIAL_UNITS 2
#define TRIAL_SEQUENCE UINT64_MAX
#define TRIAL_FRAMES 30 // that an encoder has for its two key frames
#define LIVES_MAX 32
#define TRIAL_TIMEOUT_S 8 // while other encoders begin as well, on a busy machine

// The frames inside the element, by the running time that they were pushed with: an access unit
// that comes out finds the times of its frame here.
struct lives {
    struct link_access_unit lives[LIVES_MAX]; // ring, oldest at `first`
    int64_t pts_ns[LIVES_MAX];
    unsigned first, count;
};

struct encoder_job {
    struct frame *frame; // owned reference
    struct link_access_unit life;
    bool key_frame;
    int bitrate_kbps;      // from this one on
    int jpeg_quality;      // in the same way
    unsigned size_divisor; // of width and height, in the same way
};

struct encoder {
    struct encoder_settings settings; // what encoder_retune() changes is guarded by the lock
    struct encoder_watches *watches;  // not owned; NULL: nobody watches
    struct encoder_watch watch;
    encoder_output *output;
    void *context;

    struct encoder_pipeline pipeline;
    pthread_t thread;
    bool thread_started;
    int64_t last_pts_ns;   // thread only: what the element got last
    int bitrate_kbps;      // thread only: what the element aims at
    unsigned size_divisor; // thread only
    unsigned since_key;    // thread only: frames since the last forced key frame

    pthread_mutex_t output_lock; // held while a unit is handed out
    bool muted;                  // guarded by it

    pthread_mutex_t lock; // guards all below
    pthread_cond_t changed;
    struct encoder_job jobs[ENCODER_QUEUE_LENGTH];
    unsigned job_count;
    int64_t empty_ns;   // when the queue was last seen empty
    int64_t kept_up_ns; // when nothing waited as encoder_wait_for_room() was called
    struct lives lives; // of the frames inside the element
    struct governor governor;
    unsigned units; // access units handed out
    unsigned tried; // that came out of the trial's frames
    bool stopping, failed;
};

// A frame goes in; when there are too many, the oldest is forgotten.
static void begin_life(struct lives *lives, const struct link_access_unit *life, int64_t pts_ns)
{
    if (lives->count == LIVES_MAX) {
        lives->first = (lives->first + 1) % LIVES_MAX;
        lives->count--;
    }
    unsigned slot = (lives->first + lives->count++) % LIVES_MAX;
    lives->lives[slot] = *life;
    lives->pts_ns[slot] = pts_ns;
}

// Finds the times of the frame that was pushed with `pts_ns`. Those before it were dropped by the
// element. False: there is none.
static bool end_life(struct lives *lives, int64_t pts_ns, struct link_access_unit *ret_life)
{
    bool found = false;

    while (lives->count && lives->pts_ns[lives->first] <= pts_ns) {
        found = lives->pts_ns[lives->first] == pts_ns;
        *ret_life = lives->lives[lives->first];
        lives->first = (lives->first + 1) % LIVES_MAX;
        lives->count--;
    }
    return found;
}

static void hand_out(struct encoder *encoder, struct encoder_unit *unit)
{
    encoder_watch_take(&encoder->watch);
    unit->trial = unit->life.sequence == TRIAL_SEQUENCE;
    // The count is written by this thread only.
    bool counts = !unit->trial || (unit->life.key_frame && encoder->units < TRIAL_UNITS);

    pthread_mutex_lock(&encoder->output_lock);
    if (counts && !encoder->muted)
        encoder->output(encoder->context, unit);
    pthread_mutex_unlock(&encoder->output_lock);
    pthread_mutex_lock(&encoder->lock);
    encoder->units += counts;
    encoder->tried += unit->trial;
    pthread_cond_broadcast(&encoder->changed);
    pthread_mutex_unlock(&encoder->lock);
}

static bool is_key_frame(enum config_codec codec, const uint8_t *bytes, size_t size)
{
    return codec == CONFIG_CODEC_MJPEG || nal_is_key_frame(codec, bytes, size);
}

static void take_unit(void *context, int64_t pts_ns, const uint8_t *bytes, size_t size)
{
    struct encoder *encoder = context;
    struct encoder_unit unit = {.bytes = bytes, .size = size};

    pthread_mutex_lock(&encoder->lock);
    bool found = end_life(&encoder->lives, pts_ns, &unit.life);
    pthread_mutex_unlock(&encoder->lock);
    if (found) {
        unit.life.encoded_ns = clock_now_ns();
        unit.life.key_frame = is_key_frame(encoder->settings.codec, bytes, size);
        hand_out(encoder, &unit);
    }
}

// Gives one job to the element; takes over the job's frame.
static GstFlowReturn encode(struct encoder *encoder, struct encoder_job *job)
{
    int64_t pts_ns = job->life.captured_ns;

    if (pts_ns <= encoder->last_pts_ns)
        pts_ns = encoder->last_pts_ns + 1;
    encoder->last_pts_ns = pts_ns;
    int64_t start_ns = clock_now_ns();
    pthread_mutex_lock(&encoder->lock);
    begin_life(&encoder->lives, &job->life, pts_ns);
    pthread_mutex_unlock(&encoder->lock);
    encoder_watch_enter(&encoder->watch);
    if (encoder->size_divisor != job->size_divisor) {
        encoder->size_divisor = job->size_divisor;
        encoder_pipeline_set_size(&encoder->pipeline,
                                  encoder->settings.width / job->size_divisor & ~1U,
                                  encoder->settings.height / job->size_divisor & ~1U);
    }
    if (encoder->bitrate_kbps != job->bitrate_kbps) {
        encoder->bitrate_kbps = job->bitrate_kbps;
        encoder_pipeline_set_bitrate(&encoder->pipeline, job->bitrate_kbps);
    }
    encoder->pipeline.jpeg_quality = job->jpeg_quality;
    GstFlowReturn flow =
        encoder_pipeline_push(&encoder->pipeline, TAKE(job->frame), pts_ns, job->key_frame);
    encoder_watch_leave(&encoder->watch);
    pthread_mutex_lock(&encoder->lock);
    governor_note(&encoder->governor, clock_now_ns() - start_ns);
    pthread_mutex_unlock(&encoder->lock);
    return flow;
}

static bool take_job(struct encoder *encoder, struct encoder_job *ret_job)
{
    pthread_mutex_lock(&encoder->lock);
    while (!encoder->job_count && !encoder->stopping)
        pthread_cond_wait(&encoder->changed, &encoder->lock);
    bool taken = !encoder->stopping;
    if (taken) {
        *ret_job = encoder->jobs[0];
        ret_job->bitrate_kbps = encoder->settings.bitrate_kbps;
        ret_job->jpeg_quality = encoder->settings.jpeg_quality;
        ret_job->size_divisor = governor_level(&encoder->governor)->size_divisor;
        encoder->since_key += governor_level(&encoder->governor)->rate_divisor;
        ret_job->key_frame |= encoder->since_key >= encoder->settings.keyframe_frames;
        encoder->since_key = ret_job->key_frame ? 0 : encoder->since_key;
        encoder->job_count--;
        memmove(encoder->jobs, encoder->jobs + 1, encoder->job_count * sizeof encoder->jobs[0]);
        pthread_cond_broadcast(&encoder->changed);
    }
    pthread_mutex_unlock(&encoder->lock);
    return taken;
}

static void *encoder_thread(void *context)
{
    struct encoder *encoder = context;
    struct encoder_job job;

    while (take_job(encoder, &job) && encode(encoder, &job) == GST_FLOW_OK) {
    }
    pthread_mutex_lock(&encoder->lock);
    encoder->failed = true;  // or is stopping, and nobody asks
    encoder->watch.owed = 0; // what has ended does not hang
    pthread_cond_broadcast(&encoder->changed);
    pthread_mutex_unlock(&encoder->lock);
    return NULL;
}

// Takes the oldest `count` jobs out. If one of them asked for a key frame, the next job, which may
// be `coming`, asks for it instead. Returns their frames, which the caller unrefs once it has given
// the lock back.
static void drop_jobs(struct encoder *encoder, unsigned count, struct encoder_job *coming,
                      struct frame **ret_frames)
{
    bool key_frame = false;

    for (unsigned i = 0; i < count; i++) {
        ret_frames[i] = encoder->jobs[i].frame;
        key_frame |= encoder->jobs[i].key_frame;
    }
    encoder->job_count -= count;
    memmove(encoder->jobs, encoder->jobs + count, encoder->job_count * sizeof encoder->jobs[0]);
    struct encoder_job *next = encoder->job_count ? &encoder->jobs[0] : coming;
    next->key_frame |= key_frame;
}

// How many of the waiting jobs have to be dropped to make room for another one.
static unsigned count_surplus(struct encoder *encoder)
{
    int64_t now = clock_now_ns();

    if (!encoder->job_count)
        encoder->empty_ns = now;
    if (now - encoder->empty_ns > STANDING_NS)
        return encoder->job_count;
    return encoder->job_count == ENCODER_QUEUE_LENGTH;
}

int encoder_push(struct encoder *encoder, struct frame *frame, const struct link_access_unit *life,
                 bool key_frame)
{
    struct encoder_job job = {.life = *life, .key_frame = key_frame};
    struct frame *gone[ENCODER_QUEUE_LENGTH];
    unsigned gone_count = 0;

    pthread_mutex_lock(&encoder->lock);
    bool failed = encoder->failed;
    bool too_slow = governor_look(&encoder->governor, encoder->job_count > 0, clock_now_ns());
    bool taken = life->slate || governor_takes(&encoder->governor, key_frame);
    if (!failed && taken) {
        gone_count = too_slow ? encoder->job_count : count_surplus(encoder);
        drop_jobs(encoder, gone_count, &job, gone);
        job.frame = frame_ref(frame);
        encoder->jobs[encoder->job_count++] = job;
        encoder_watch_give(&encoder->watch);
    }
    pthread_mutex_unlock(&encoder->lock);
    pthread_cond_broadcast(&encoder->changed); // without the lock, which its thread wants next
    for (unsigned i = 0; i < gone_count; i++)
        frame_unref(gone[i]);
    return failed ? -EPIPE : (int)gone_count + !taken;
}

void encoder_wait_for_room(struct encoder *encoder, int64_t deadline_ns)
{
    struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
    int64_t now_ns = clock_now_ns();

    pthread_mutex_lock(&encoder->lock);
    if (!encoder->job_count)
        encoder->kept_up_ns = now_ns;
    while (encoder->job_count && !encoder->failed && now_ns - encoder->kept_up_ns < BEHIND_NS &&
           pthread_cond_timedwait(&encoder->changed, &encoder->lock, &until) == 0) {
        continue;
    }
    pthread_mutex_unlock(&encoder->lock);
}

// Pushes the trial's picture once more, as a key frame, and waits for one unit more than `before`,
// for a second at most.
static void try_frame(struct encoder *encoder, struct frame *trial, unsigned before)
{
    struct link_access_unit life = {.slate = 1, .sequence = TRIAL_SEQUENCE};
    struct timespec deadline;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 1;
    life.captured_ns = life.grabbed_ns = life.computed_ns = clock_now_ns();
    encoder_push(encoder, trial, &life, true);
    pthread_mutex_lock(&encoder->lock);
    while (!r && !encoder->failed && encoder->tried == before)
        r = pthread_cond_timedwait(&encoder->changed, &encoder->lock, &deadline);
    pthread_mutex_unlock(&encoder->lock);
}

// Two key frames must come out in time. Consecutive ones, so that their idr_pic_id differs. A
// Jetson's encoder spends an order for a key frame on one of the frames in its queue, so the next
// frame goes in when one has come out.
static int try_encode(struct encoder *encoder, struct frame *trial, struct error *error)
{
    int64_t end_ns = clock_now_ns() + TRIAL_TIMEOUT_S * NS_PER_S;
    bool done = false, failed = false;
    unsigned tried = 0;

    for (unsigned i = 0; i < TRIAL_FRAMES && clock_now_ns() < end_ns && !done && !failed; i++) {
        try_frame(encoder, trial, tried);
        pthread_mutex_lock(&encoder->lock);
        done = encoder->units >= TRIAL_UNITS;
        failed = encoder->failed;
        tried = encoder->tried;
        pthread_mutex_unlock(&encoder->lock);
    }
    if (done)
        return 0;
    bool silent = tried == 0 && !failed;

    encoder_pipeline_error(&encoder->pipeline, error,
                           silent   ? "encodes nothing"
                           : failed ? "stops without a reason"
                                    : "makes no key frame when it is told to");
    return silent ? -ETIMEDOUT : -ENOSYS;
}

// The governor's order, as far as the pipeline can follow: it cannot scale JPEGs nor what a
// Jetson's encoder gets, so there the rate alone can go down.
static enum config_governor order_of(const struct encoder_pipeline *pipeline,
                                     const struct encoder_settings *settings)
{
    bool as_wished = pipeline->size || settings->governor == CONFIG_GOVERNOR_OFF;

    return as_wished ? settings->governor : CONFIG_GOVERNOR_RATE;
}

// Makes an encoder of this element, whose frames go this way, and has it encode `trial`. -ENOSYS,
// -ENOENT (GStreamer has no such element), -ETIMEDOUT (it took the trial and nothing came out),
// -ENOMEM, -EAGAIN, with the reason in `error`.
static int open_encoder(const struct encoder_element *element, const struct encoder_way *way,
                        const struct encoder_settings *settings, struct frame *trial,
                        struct encoder_watches *watches, encoder_output *output, void *context,
                        struct error *error, struct encoder **ret_encoder)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);

    if (!encoder)
        return error_set(error, -ENOMEM, "out of memory");
    encoder->settings = *settings;
    encoder->watch.element = element->id;
    encoder->watches = watches;
    encoder_watches_add(watches, &encoder->watch);
    encoder->output = output;
    encoder->context = context;
    encoder->last_pts_ns = -1;
    encoder->bitrate_kbps = settings->bitrate_kbps;
    encoder->size_divisor = 1;
    pthread_mutex_init(&encoder->lock, NULL);
    pthread_mutex_init(&encoder->output_lock, NULL);
    condition_init(&encoder->changed);

    // A new thread gets the name of the thread that starts it. So this thread takes the element's
    // name while the encoder and the element start theirs.
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_setname_np(pthread_self(), element->name);
    encoder_watch_enter(&encoder->watch);
    int r = encoder_pipeline_init(&encoder->pipeline, element, way, settings, take_unit, encoder,
                                  error);
    encoder_watch_leave(&encoder->watch);
    governor_init(&encoder->governor, order_of(&encoder->pipeline, settings));
    if (!r)
        encoder->thread_started = !pthread_create(&encoder->thread, NULL, encoder_thread, encoder);
    pthread_setname_np(pthread_self(), name);
    if (!r)
        r = encoder->thread_started ? try_encode(encoder, trial, error) : -EAGAIN;
    if (r) {
        encoder_free(encoder);
        return r;
    }
    *ret_encoder = encoder;
    return 0;
}

// The search: element by element, of each the ways into it, best first. An element that hung
// before, or was silent on trial, comes last: it may have been the machine that was slow.

// The arguments of encoder_new(), and what it finds.
struct search {
    const struct encoder_settings *settings;
    struct frame *trial;
    struct encoder_watches *watches;
    encoder_output *output;
    void *context;
    unsigned last;                 // elements to be tried last, a bit for each
    struct encoder_trials *trials; // those that failed
};

// Keeps why an element is passed over; `code` is -ENOENT where GStreamer has none.
static void add_trial(struct search *search, const struct encoder_element *element, const char *how,
                      int code, int64_t took_ns, const char *reason)
{
    struct encoder_trials *trials = search->trials;
    struct link_trial *trial = &trials->list[trials->count];

    assert(trials->count < LINK_TRIALS_MAX);
    trials->count++;
    *trial = (struct link_trial){.element = element->id,
                                 .missing = code == -ENOENT,
                                 .took_ms = (uint32_t)((took_ns + NS_PER_MS - 1) / NS_PER_MS)};
    snprintf(trial->encoder, sizeof trial->encoder, "%s%s", element->name, how);
    snprintf(trial->reason, sizeof trial->reason, "%s", *reason ? reason : strerror(-code));
}

// Tries the ways into an element, best first.
static int search_ways(struct search *search, const struct encoder_element *element,
                       struct encoder **ret_encoder)
{
    bool silent = false;

    for (size_t i = 0; i < ENCODER_WAYS_MAX && element->ways[i].fragment; i++) {
        const struct encoder_way *way = &element->ways[i];
        struct error reason = {0};

        if (way->surfaces && !search->settings->surfaces)
            continue;
        int64_t start_ns = clock_now_ns();
        int r = open_encoder(element, way, search->settings, search->trial, search->watches,
                             search->output, search->context, &reason, ret_encoder);
        if (r == 0)
            return 0;
        silent |= r == -ETIMEDOUT;
        add_trial(search, element, way->how, r, clock_now_ns() - start_ns, reason.text);
    }
    if (silent && search->watches) // the next view need not wait for it as well
        search->watches->passed_over |= 1U << element->id;
    return -ENOSYS;
}

// The elements that are tried last, or the others.
static int search_elements(struct search *search, bool last, struct encoder **ret_encoder)
{
    const struct encoder_settings *settings = search->settings;
    bool any = settings->element == CONFIG_ENCODER_AUTO;
    const struct encoder_element *element;

    for (size_t i = 0; (element = encoder_element_at(i)); i++) {
        if (config_encoder_codec(element->id) != settings->codec ||
            (!any && settings->element != element->id) ||
            (search->last >> element->id & 1) != last) {
            continue;
        }
        if (settings->failed >> element->id & 1)
            add_trial(search, element, "", 0, 0, "it failed twice while it encoded");
        else if (any && settings->without >> element->id & 1)
            add_trial(search, element, "", 0, 0, "this board has no such hardware");
        else if (search_ways(search, element, ret_encoder) == 0)
            return 0;
    }
    return -ENOSYS;
}

static int say_none(const struct encoder_trials *trials, struct error *error)
{
    error_set(error, -ENOSYS, "no encoder works");
    for (unsigned i = 0; i < trials->count; i++) {
        const struct error before = *error;

        error_set(error, -ENOSYS, "%s; %s: %s", before.text, trials->list[i].encoder,
                  trials->list[i].reason);
    }
    return -ENOSYS;
}

int encoder_new(const struct encoder_settings *settings, struct frame *trial,
                struct encoder_watches *watches, encoder_output *output, void *context,
                struct encoder_trials *ret_trials, struct error *error,
                struct encoder **ret_encoder)
{
    struct search search = {.settings = settings,
                            .trial = trial,
                            .watches = watches,
                            .output = output,
                            .context = context,
                            .last = watches ? watches->passed_over : 0,
                            .trials = ret_trials};

    *ret_trials = (struct encoder_trials){0};
    if (search_elements(&search, false, ret_encoder) == 0 ||
        search_elements(&search, true, ret_encoder) == 0) {
        return 0;
    }
    return say_none(ret_trials, error);
}

void encoder_free(struct encoder *encoder)
{
    if (!encoder)
        return;
    pthread_mutex_lock(&encoder->lock);
    encoder->stopping = true;
    pthread_cond_broadcast(&encoder->changed);
    pthread_mutex_unlock(&encoder->lock);
    encoder_watch_enter(&encoder->watch);
    encoder_pipeline_stop(&encoder->pipeline);
    if (encoder->thread_started)
        pthread_join(encoder->thread, NULL);
    encoder_pipeline_finish(&encoder->pipeline);
    encoder_watches_remove(encoder->watches, &encoder->watch);
    for (unsigned i = 0; i < encoder->job_count; i++)
        frame_unref(encoder->jobs[i].frame);
    pthread_cond_destroy(&encoder->changed);
    pthread_mutex_destroy(&encoder->output_lock);
    pthread_mutex_destroy(&encoder->lock);
    free(encoder);
}

void encoder_mute(struct encoder *encoder)
{
    if (encoder) {
        pthread_mutex_lock(&encoder->output_lock);
        encoder->muted = true;
        pthread_mutex_unlock(&encoder->output_lock);
    }
}

bool encoder_can_retune(const struct encoder *encoder)
{
    return encoder->pipeline.element->id != CONFIG_ENCODER_X265 ||
           gst_registry_check_feature_version(gst_registry_get(), "x265enc", 1, 18, 0);
}

void encoder_retune(struct encoder *encoder, const struct encoder_settings *settings)
{
    pthread_mutex_lock(&encoder->lock);
    encoder->settings.bitrate_kbps = settings->bitrate_kbps;
    encoder->settings.jpeg_quality = settings->jpeg_quality;
    encoder->settings.keyframe_frames = settings->keyframe_frames;
    pthread_mutex_unlock(&encoder->lock);
}

const char *encoder_governed(struct encoder *encoder)
{
    pthread_mutex_lock(&encoder->lock);
    const char *text = governor_level(&encoder->governor)->text;
    pthread_mutex_unlock(&encoder->lock);
    return text;
}

enum config_encoder encoder_element(const struct encoder *encoder)
{
    return encoder->pipeline.element->id;
}

void encoder_take_error(struct encoder *encoder, struct error *error)
{
    encoder_pipeline_error(&encoder->pipeline, error, "it does not say why");
}

const char *encoder_name(const struct encoder *encoder)
{
    return encoder->pipeline.element->name;
}

const char *encoder_how(const struct encoder *encoder)
{
    return encoder->pipeline.way->how;
}

void encoder_count_copies(struct encoder *encoder, struct copies *copies)
{
    const struct encoder_way *way = encoder->pipeline.way;

    pthread_mutex_lock(&encoder->lock);
    bool scales = governor_level(&encoder->governor)->size_divisor > 1;
    pthread_mutex_unlock(&encoder->lock);
    for (unsigned kind = 0; kind < COPY_KIND_COUNT; kind++) {
        bool converts = kind == COPY_ENCODER_CONVERT && (scales || encoder->pipeline.packs);

        for (unsigned count = converts ? 1 : way->copies[kind]; count > 0; count--)
            copies_count(copies, kind);
    }
}

const struct encoder_settings *encoder_get_settings(const struct encoder *encoder)
{
    return &encoder->settings;
}
