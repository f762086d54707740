// The real camera process on a driver of which each call fails in turn. Whatever fails: pictures
// come, from the GPU or the CPU, or the process says that its GPU is lost, upon which the front
// starts the next; it ends when it is told to, and leaves nothing behind. With the memory of a
// Jetson's encoder, and with those of its camera, it is the calls of libnvbufsurface that fail, and
// those by which CUDA takes surfaces, which cost it not even the GPU.
#include "tests/unit/daemon/camera_life.h"

#define LIVES_AT_ONCE 4
#define SURFACE_CALLS 60
// One of so many calls is tried: a sanitizer makes each life ten times as long.
#if defined __SANITIZE_ADDRESS__
#define EVERY 25
#else
#define EVERY 1
#endif

struct torture {
    const struct kind *kind;
    atomic_bool done;
    atomic_uint counts[OUTCOME_BAD + 1];
    pthread_mutex_t lock; // guards both below
    uint64_t next;        // call
    char problem[20000];  // the first
};

static void note_problem(struct torture *torture, const struct life *life)
{
    pthread_mutex_lock(&torture->lock);
    if (!torture->problem[0]) {
        snprintf(torture->problem, sizeof torture->problem, "call %llu: %s, wait status 0x%x\n%s",
                 (unsigned long long)life->nth, life->problem, life->status, life->log);
    }
    pthread_mutex_unlock(&torture->lock);
}

static void make_file(char path[64])
{
    snprintf(path, 64, "/tmp/edged-torture-XXXXXX");
    close(mkstemp(path));
}

// Surfaces are made and ended by the same calls over and over: from SURFACE_CALLS on one of three
// is enough. The seed says which of those that are not all tried.
static bool is_tried(const struct torture *torture, uint64_t nth)
{
    bool again = !torture->kind->fails && nth >= SURFACE_CALLS;
    unsigned every = EVERY * (again ? 3 : 1) * MAX(torture->kind->every, 1);

    return nth % every == random_seed() % every;
}

static uint64_t take_call(struct torture *torture)
{
    uint64_t nth;

    pthread_mutex_lock(&torture->lock);
    do {
        nth = torture->next++;
    } while (!is_tried(torture, nth));
    pthread_mutex_unlock(&torture->lock);
    return nth;
}

// The calls one after the other, until one is not reached any more.
static void *run_lives(void *context)
{
    struct torture *torture = context;

    while (!torture->done) {
        struct life *life = calloc(1, sizeof *life);
        enum outcome outcome;

        life->nth = take_call(torture);
        life->kind = torture->kind;
        make_file(life->report);
        make_file(life->log_path);
        outcome = live(life);
        torture->counts[outcome]++;
        if (outcome == OUTCOME_BAD) {
            note_problem(torture, life);
        }
        if (outcome == OUTCOME_BAD || (outcome == OUTCOME_GPU && life->calls < life->nth) ||
            (torture->kind->last && life->nth >= torture->kind->last)) {
            torture->done = true;
        }
        unlink(life->report);
        unlink(life->log_path);
        free(life);
    }
    return NULL;
}

static void fail_in_turn(const struct kind *kind)
{
    struct torture torture = {.kind = kind, .next = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    bool costs_gpu = kind->fails && strcmp(kind->fails, "*") == 0;
    pthread_t threads[LIVES_AT_ONCE];

    for (unsigned i = 0; i < LIVES_AT_ONCE; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_lives, &torture), 0);
    }
    for (unsigned i = 0; i < LIVES_AT_ONCE; i++) {
        pthread_join(threads[i], NULL);
    }
    print_message("%s memory, %s: %u lives on the GPU, %u on the CPU, %u lost the GPU\n",
                  kind->memory, kind->source, torture.counts[OUTCOME_GPU],
                  torture.counts[OUTCOME_CPU], torture.counts[OUTCOME_LOST]);
    if (torture.problem[0]) {
        fail_msg("%s", torture.problem);
    }
    assert_true(torture.counts[OUTCOME_GPU] > 0);
    assert_int_equal(torture.counts[OUTCOME_CPU] > 0, costs_gpu);
    assert_int_equal(torture.counts[OUTCOME_LOST] > 0, costs_gpu);
}

TEST(test_camera_process_with_registered_memory)
{
    fail_in_turn(
        &(struct kind){.memory = "registered", .source = "pattern", .fails = "*", .result = 999});
}

TEST(test_camera_process_with_managed_memory)
{
    fail_in_turn(
        &(struct kind){.memory = "managed", .source = "pattern", .fails = "*", .result = 2});
}

TEST(test_camera_process_with_surfaces_for_its_encoder)
{
    fail_in_turn(&(struct kind){.memory = "nvmm", .source = "pattern"});
}

TEST(test_camera_process_with_surfaces_of_its_camera)
{
    fail_in_turn(&(struct kind){.memory = "nvmm", .source = "argus", .every = 3});
}

TEST(test_camera_process_with_surfaces_that_cuda_does_not_take)
{
    static const char *const functions[] = {"cuGraphicsEGLRegisterImage",
                                            "cuGraphicsResourceGetMappedEglFrame",
                                            "cuGraphicsUnregisterResource"};

    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        fail_in_turn(&(struct kind){
            .memory = "nvmm", .source = "argus", .fails = functions[i], .result = 999, .last = 8});
    }
}

int main(void)
{
    char plugins[600];

    // Written here, where no library that is played stands in the way of other plugins'.
    snprintf(registry, sizeof registry, "/tmp/edged-torture-%d.registry", getpid());
    fake_path("jetson", plugins);
    setenv("GST_PLUGIN_PATH", plugins, 1);
    setenv("GST_REGISTRY", registry, 1);
    gst_init(NULL, NULL);
    gst_deinit();
    signal(SIGPIPE, SIG_IGN);
    int failed = run_unit_tests(NULL, NULL);
    unlink(registry);
    return failed;
}
