#include "daemon/camera/snapshots.h"

#include "daemon/camera/jpeg.h"
#include "daemon/common/log.h"
#include "daemon/link/link.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#define NICE 5 // lane and encoders come first
#define LINGER_NS NS_PER_S

struct snapshot_job {
    uint32_t view;
    struct frame *picture; // owned reference
    unsigned scales;       // bits
    int quality;
};

struct snapshots {
    struct link *link;
    const char *camera;
    struct jpeg *jpeg; // the thread's
    bool told;         // thread only: why there is no JPEG
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; // guards all below
    pthread_cond_t changed;
    struct snapshot_job jobs[LINK_VIEWS_MAX]; // that wait, the oldest first
    size_t job_count;
    uint32_t under_way; // the view whose picture is made into JPEGs; 0: none
    unsigned done;      // how many pictures the thread has taken and made
    unsigned seen;      // of these, at the last look
    unsigned looks;     // without one more, though some wait
    bool stopping;
};

static void tell(struct snapshots *snapshots, const char *why)
{
    if (!snapshots->told) {
        log_write(LOG_WARNING, LOG_EVENT_NONE, snapshots->camera, NULL,
                  "a snapshot cannot be sent: %s, going on without it", why);
    }
    snapshots->told = true;
}

static void send_jpeg(struct snapshots *snapshots, const struct snapshot_job *job, unsigned scale)
{
    struct link_jpeg head = {
        .captured_ns = job->picture->pts_ns, .sequence = job->picture->sequence, .scale = scale};
    struct error error = {0};
    const uint8_t *bytes;
    size_t size;
    int r = jpeg_make(snapshots->jpeg, job->picture, scale, job->quality, &error, &bytes, &size);

    if (r == 0) {
        struct iovec pieces[] = {{&head, sizeof head}, {(void *)bytes, size}};

        r = link_send(snapshots->link, LINK_JPEG, job->view, pieces, ARRAY_LENGTH(pieces));
        if (r == -EMSGSIZE) {
            error_set(&error, r, "a JPEG of %zu bytes is too large, allowed are %u", size,
                      LINK_PAYLOAD_MAX);
        }
    }
    if (error.text[0])
        tell(snapshots, error.text);
}

// False: the thread is to end.
static bool take_job(struct snapshots *snapshots, struct snapshot_job *ret_job)
{
    pthread_mutex_lock(&snapshots->lock);
    snapshots->under_way = 0;
    snapshots->done++;
    while (!snapshots->job_count && !snapshots->stopping)
        pthread_cond_wait(&snapshots->changed, &snapshots->lock);
    bool taken = !snapshots->stopping;
    if (taken) {
        *ret_job = snapshots->jobs[0];
        snapshots->under_way = ret_job->view;
        snapshots->job_count--;
        memmove(snapshots->jobs, snapshots->jobs + 1,
                snapshots->job_count * sizeof snapshots->jobs[0]);
    }
    pthread_mutex_unlock(&snapshots->lock);
    return taken;
}

static void *snapshots_thread(void *context)
{
    struct snapshots *snapshots = context;
    struct snapshot_job job;

    pthread_setname_np(pthread_self(), "snapshots");
    setpriority(PRIO_PROCESS, 0, NICE); // of this thread alone, as Linux has it
    while (take_job(snapshots, &job)) {
        // The small ones come first: one that the link has to keep is in the way of the others.
        for (unsigned scale = LINK_SCALES; scale-- > 0;) {
            if (job.scales >> scale & 1)
                send_jpeg(snapshots, &job, scale);
        }
        frame_unref(job.picture);
    }
    return NULL;
}

int snapshots_new(struct link *link, const char *camera, struct snapshots **ret_snapshots)
{
    struct snapshots *snapshots = calloc(1, sizeof *snapshots);

    if (!snapshots)
        return -ENOMEM;
    snapshots->link = link;
    snapshots->camera = camera;
    pthread_mutex_init(&snapshots->lock, NULL);
    pthread_cond_init(&snapshots->changed, NULL);
    int r = jpeg_new(&snapshots->jpeg);
    if (!r) {
        r = -pthread_create(&snapshots->thread, NULL, snapshots_thread, snapshots);
        snapshots->started = !r;
    }
    if (r) {
        snapshots_free(snapshots);
        return r;
    }
    *ret_snapshots = snapshots;
    return 0;
}

void snapshots_free(struct snapshots *snapshots)
{
    if (!snapshots)
        return;
    pthread_mutex_lock(&snapshots->lock);
    snapshots->stopping = true;
    pthread_cond_signal(&snapshots->changed);
    pthread_mutex_unlock(&snapshots->lock);
    if (snapshots->started)
        pthread_join(snapshots->thread, NULL);
    for (size_t i = 0; i < snapshots->job_count; i++)
        frame_unref(snapshots->jobs[i].picture);
    jpeg_free(snapshots->jpeg);
    pthread_cond_destroy(&snapshots->changed);
    pthread_mutex_destroy(&snapshots->lock);
    free(snapshots);
}

unsigned snapshots_look(struct snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->lock);
    bool waits = snapshots->under_way || snapshots->job_count;
    unsigned looks = waits && snapshots->done == snapshots->seen ? snapshots->looks + 1 : 0;
    snapshots->looks = looks;
    snapshots->seen = snapshots->done;
    pthread_mutex_unlock(&snapshots->lock);
    return looks;
}

static struct snapshot_job *find_job(struct snapshots *snapshots, uint32_t view)
{
    for (size_t i = 0; i < snapshots->job_count; i++) {
        if (snapshots->jobs[i].view == view)
            return &snapshots->jobs[i];
    }
    return NULL;
}

// False: a picture of this view is under way.
static bool add_job(struct snapshots *snapshots, struct snapshot_job job)
{
    struct frame *gone = frame_ref(job.picture);

    pthread_mutex_lock(&snapshots->lock);
    struct snapshot_job *waiting = find_job(snapshots, job.view);
    bool taken =
        snapshots->under_way != job.view && (waiting || snapshots->job_count < LINK_VIEWS_MAX);
    if (taken && waiting) {
        gone = waiting->picture;
        job.scales |= waiting->scales;
        *waiting = job;
    } else if (taken) {
        snapshots->jobs[snapshots->job_count++] = job;
        gone = NULL;
    }
    pthread_cond_signal(&snapshots->changed);
    pthread_mutex_unlock(&snapshots->lock);
    frame_unref(gone);
    return taken;
}

// Wishes
// ---------------------------------------------------------------------

void snapshot_wishes_add(struct snapshot_wishes *wishes, unsigned scale)
{
    wishes->wanted |= 1U << scale;
}

static bool remembers(const struct config_view *view)
{
    bool any = config_view_remembers(view);
    struct config_view side;
    struct error error;

    for (unsigned i = 0; view->view == CONFIG_VIEW_SPLIT && i < 2 && !any; i++)
        any = config_split_side(view, i, &side, &error) == 0 && config_view_remembers(&side);
    return any;
}

bool snapshot_wishes_begin(struct snapshot_wishes *wishes, const struct config_view *view,
                           bool goes_on)
{
    unsigned wanted = wishes->wanted;

    if (wanted)
        wishes->until_ns = clock_now_ns() + LINGER_NS;
    else if (wishes->until_ns && clock_now_ns() >= wishes->until_ns)
        wishes->until_ns = 0;
    wishes->served = wanted && (goes_on || !remembers(view)) ? wanted : 0;
    return wishes->until_ns;
}

bool snapshot_wishes_compute(const struct snapshot_wishes *wishes, const struct config_view *view)
{
    return wishes->served || (wishes->until_ns && remembers(view));
}

void snapshot_wishes_serve(struct snapshot_wishes *wishes, struct snapshots *snapshots,
                           uint32_t view, struct frame *picture, int quality)
{
    const struct snapshot_job job = {view, picture, wishes->served, quality};

    // Before the thread has the job: it may send a small JPEG, and another one be asked for, before
    // this function goes on.
    wishes->wanted &= ~wishes->served;
    if (wishes->served && !add_job(snapshots, job))
        wishes->wanted |= wishes->served;
}
