// The real camera process on a driver of which each call fails in turn. Whatever fails: pictures
// come, from the GPU or the CPU, or the process says that its GPU is lost, upon which the front
// starts the next; it ends when it is told to, and leaves nothing behind. With the memory of a
// Jetson's encoder, and with those of its camera, it is the calls of libnvbufsurface that fail, and
// those by which CUDA takes surfaces, which cost it not even the GPU.
#include "tests/unit/fake_gpu.h"
#include "tests/unit/fake_path.h"
#include "tests/unit/stopwatch.h"

#include "daemon/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <gst/gst.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define UNITS 3
#define OPTIONS_MAX 256

static const char settings[] =
    "memory = \"%s\";"
    "cameras = ( { name = \"p\"; source = \"%s\"; width = 160; height = 120; fps = 60;"
    " views = ( { name = \"edges\"; view = \"edges\"; gain = 1.5; }%s ); } );";
static const char second_view[] = ", { name = \"gray\"; view = \"gray\"; }";
static char registry[64]; // of GStreamer's elements, a Jetson's among them

struct kind {
    const char *memory, *source;
    const char *fails; // CUDA's function, "*": any; NULL: any of libnvbufsurface
    int result;        // CUresult
    unsigned every;    // of so many calls one is tried, from the first on; 0: of all
    uint64_t last;     // call; 0: until one is not reached any more
};

enum outcome { OUTCOME_GPU, OUTCOME_CPU, OUTCOME_LOST, OUTCOME_BAD };

struct life {
    uint64_t nth; // the call that fails; 0: none
    const struct kind *kind;
    uint64_t calls; // that were made, when the process ended by itself
    struct link *link;
    pid_t pid;
    int status; // of waitpid()
    unsigned units;
    bool lost, fatal;
    struct link_telemetry telemetry;
    char report[64], log_path[64], log[16384]; // what it wrote to stderr
    char problem[256];
};

static bool uses_surfaces(const struct life *life)
{
    return strcmp(life->kind->memory, "nvmm") == 0;
}

static void describe_libraries(char *ret_text, size_t size)
{
    char driver[600], surfaces[600];

    fake_path("cuda", driver);
    fake_path("nvmm", surfaces);
    snprintf(ret_text, size, "LD_LIBRARY_PATH=%s:%s", driver, surfaces);
}

// Of both libraries; the one whose calls fail tells how many there were.
static void describe_failures(const struct life *life, char ret_surfaces[OPTIONS_MAX],
                              char ret_driver[OPTIONS_MAX])
{
    const struct kind *kind = life->kind;
    const char *board = uses_surfaces(life) ? "agx-orin" : "orin-nano";

    snprintf(ret_surfaces, OPTIONS_MAX, "EDGED_FAKE_NVMM=jetpack=5");
    snprintf(ret_driver, OPTIONS_MAX, "EDGED_FAKE_CUDA=board=%s", board);
    if (kind->fails) {
        snprintf(ret_driver, OPTIONS_MAX, "EDGED_FAKE_CUDA=board=%s,report=%s,fail=%s:%llu:%d",
                 board, life->report, kind->fails,
                 (unsigned long long)(life->nth ? life->nth : UINT32_MAX), kind->result);
    } else {
        snprintf(ret_surfaces, OPTIONS_MAX, "EDGED_FAKE_NVMM=jetpack=5,report=%s,fail=*:%llu",
                 life->report, (unsigned long long)life->nth);
    }
}

// With this process's environment, but for the driver and what it does.
static int spawn_camera(struct life *life, int fd)
{
    static const char *const kept[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
                                       "TSAN_OPTIONS", "HOME",         "PATH"};
    char libraries[1300], path[600], options[OPTIONS_MAX], texts[ARRAY_LENGTH(kept)][512];
    char surfaces[OPTIONS_MAX], plugins[700], registered[96];
    char *environment[ARRAY_LENGTH(kept) + 6] = {libraries, options, surfaces, plugins, registered};
    char *arguments[] = {"edged-camera", "--link-fd=3", "front", NULL};
    posix_spawn_file_actions_t actions;
    size_t count = uses_surfaces(life) ? 5 : 2;

    describe_libraries(libraries, sizeof libraries);
    fake_path("jetson", path);
    snprintf(plugins, sizeof plugins, "GST_PLUGIN_PATH=%s", path);
    snprintf(registered, sizeof registered, "GST_REGISTRY=%s", registry);
    describe_failures(life, surfaces, options);
    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++) {
        if (getenv(kept[i])) {
            // A process that has lost its GPU ends by _exit(), whatever threads it has.
            snprintf(texts[i], sizeof texts[i], "%s=%s%s", kept[i], getenv(kept[i]),
                     strcmp(kept[i], "TSAN_OPTIONS") == 0 ? ":report_thread_leaks=0" : "");
            environment[count++] = texts[i];
        }
    }
    fake_path("cuda/edged-camera", path);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 3);
    posix_spawn_file_actions_addopen(&actions, 2, life->log_path, O_WRONLY | O_TRUNC, 0);
    int r = posix_spawn(&life->pid, path, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int handle(void *context, struct link_message *message)
{
    struct life *life = context;
    struct link_access_unit unit;

    switch (message->header.type) {
    case LINK_GPU_FAULT:
        life->lost = true;
        break;
    case LINK_FATAL:
        life->fatal = true;
        break;
    case LINK_TELEMETRY:
        memcpy(&life->telemetry, message->payload, sizeof life->telemetry);
        break;
    case LINK_ACCESS_UNIT:
        memcpy(&unit, message->payload, sizeof unit);
        life->units += !unit.slate;
        break;
    default:
        break;
    }
    return 0;
}

static bool is_known(const struct life *life)
{
    return life->lost || life->fatal ||
           (life->units >= UNITS && life->telemetry.state == LINK_CAMERA_LIVE);
}

// Until the process has said how it goes, or something is wrong.
static void watch(struct life *life)
{
    int64_t end_ns = clock_now_ns() + PATIENCE_NS;
    int r = 0;

    while (r == 0 && !is_known(life) && clock_now_ns() < end_ns) {
        struct pollfd readable = {.fd = link_fd(life->link), .events = POLLIN};

        poll(&readable, 1, 100);
        r = link_receive(life->link, handle, life);
    }
    if (!is_known(life)) {
        snprintf(life->problem, sizeof life->problem, "%s after %u frames, state %u, %.150s",
                 r < 0 ? "it ended without a word" : "nothing came", life->units,
                 life->telemetry.state, life->telemetry.error);
    }
}

// Waits for the end of a process whose link is closed.
static int reap(struct life *life)
{
    int fd = (int)syscall(SYS_pidfd_open, life->pid, 0), status = -1;
    struct pollfd ended = {.fd = fd, .events = POLLIN};

    if (poll(&ended, 1, (int)(PATIENCE_NS / NS_PER_MS)) == 0) {
        snprintf(life->problem, sizeof life->problem, "it did not end when it was told to");
        kill(life->pid, SIGABRT);
    }
    waitpid(life->pid, &status, 0);
    close(fd);
    return status;
}

static void read_log(struct life *life)
{
    FILE *log = fopen(life->log_path, "re"), *report = fopen(life->report, "re");
    unsigned long long calls = 0;

    if (log) {
        life->log[fread(life->log, 1, sizeof life->log - 1, log)] = '\0';
        fclose(log);
    }
    if (report) {
        if (fscanf(report, "calls=%llu", &calls) != 1)
            calls = 0;
        fclose(report);
    }
    life->calls = calls;
}

// Whether surfaces go all the way without a copy, or it is told why not: as the camera or an
// encoder is opened, or when a frame failed and the camera was opened without.
static bool tells_copies(const char *log)
{
    static const char *const texts[] = {
        ", 0 copies a frame", "nvmm memory: ", "surfaces cannot be used", "no signal: camera: "};
    bool any = false;

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        any |= strstr(log, texts[i]) != NULL;
    return any;
}

static enum outcome judge(struct life *life, int status)
{
    static const char *const words[] = {"fake_cuda: ", "fake_nvmm: ", "fake_jetson: ", "Sanitizer",
                                        "runtime error"};
    // Status 1 is the end of a lost GPU's process, which may come after the last word was read.
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) <= 1 && (status != 0 || !life->lost);

    for (size_t i = 0; i < ARRAY_LENGTH(words) && !life->problem[0]; i++) {
        if (strstr(life->log, words[i]))
            snprintf(life->problem, sizeof life->problem, "it said \"%s\"", words[i]);
    }
    if (!life->problem[0] && !ended)
        snprintf(life->problem, sizeof life->problem, "it ended with status 0x%x", status);
    if (!life->problem[0] && uses_surfaces(life) && !tells_copies(life->log))
        snprintf(life->problem, sizeof life->problem, "copies without a reason");
    if (!life->problem[0] && life->fatal)
        snprintf(life->problem, sizeof life->problem, "it gave up");
    if (life->problem[0])
        return OUTCOME_BAD;
    if (life->lost)
        return OUTCOME_LOST;
    return strncmp(life->telemetry.backend, "CUDA", 4) == 0 ? OUTCOME_GPU : OUTCOME_CPU;
}

static enum outcome live(struct life *life)
{
    enum outcome outcome = OUTCOME_BAD;
    char text[sizeof settings + sizeof second_view + 64];
    int fds[2];

    snprintf(text, sizeof text, settings, life->kind->memory, life->kind->source,
             uses_surfaces(life) ? "" : second_view);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
        link_new(fds[1], 1 << 20, &life->link) < 0 || spawn_camera(life, fds[0]) != 0) {
        snprintf(life->problem, sizeof life->problem, "it could not be started");
        return outcome;
    }
    close(fds[0]);
    struct link_configuration head = {.number = 1, .views = {0, 1}};
    link_send(life->link, LINK_CONFIGURE, 0,
              (struct iovec[]){{&head, sizeof head}, {text, strlen(text)}}, 2);
    link_send_bytes(life->link, LINK_VIEW_START, 0, NULL, 0);
    if (!uses_surfaces(life))
        link_send_bytes(life->link, LINK_VIEW_START, 1, NULL, 0);
    watch(life);
    link_free(life->link);
    life->status = reap(life);
    read_log(life);
    return judge(life, life->status);
}

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
        if (outcome == OUTCOME_BAD)
            note_problem(torture, life);
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

    for (unsigned i = 0; i < LIVES_AT_ONCE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_lives, &torture), 0);
    for (unsigned i = 0; i < LIVES_AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    print_message("%s memory, %s: %u lives on the GPU, %u on the CPU, %u lost the GPU\n",
                  kind->memory, kind->source, torture.counts[OUTCOME_GPU],
                  torture.counts[OUTCOME_CPU], torture.counts[OUTCOME_LOST]);
    if (torture.problem[0])
        fail_msg("%s", torture.problem);
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
