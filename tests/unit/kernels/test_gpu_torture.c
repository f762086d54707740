// Each call of the driver fails in turn, from opening the GPU to the last release.
#include "tests/unit/kernels/gpu_view_bed.h"

#define FRAMES 3

enum outcome { OUTCOME_GPU, OUTCOME_OTHER_MEMORY, OUTCOME_REFUSED, OUTCOME_LOST, OUTCOME_COUNT };

// A life as a camera process lives it: what fails before the first frame is the CPU's from the
// start, what fails later loses the GPU to the process.
static enum outcome live(const struct gpu_view_case *c)
{
    struct gpu_view_bed bed;
    struct error error = {0};
    enum outcome outcome = OUTCOME_GPU;
    int r = gpu_view_bed_init(&bed, c, &error);

    if (r < 0)
        outcome = OUTCOME_REFUSED;
    else if (gpu_memory_kind(bed.memory) != c->memory)
        outcome = OUTCOME_OTHER_MEMORY;
    for (uint32_t seed = 0; seed < FRAMES && r == 0; seed++) {
        error.text[0] = '\0';
        r = gpu_view_bed_run(&bed, seed, &error);
        if (r < 0) {
            outcome = OUTCOME_LOST;
            gpu_lose(bed.gpu);
        }
    }
    assert_true(r == 0 || error.text[0] != '\0');
    gpu_view_bed_finish(&bed);
    // A lost GPU's process ends without releasing anything.
    if (outcome != OUTCOME_LOST)
        assert_int_equal(fake_gpu_leaks(), 0);
    return outcome;
}

static void fail_in_turn(enum config_view_kind kind, enum config_memory memory, int result)
{
    struct gpu_view_case c = {.options = "board=orin-nano",
                              .memory = memory,
                              .format = "YUYV",
                              .kind = kind,
                              .gain = 1.5,
                              .low = 300,
                              .high = 700,
                              .thresholds = CONFIG_THRESHOLDS_MEDIAN,
                              .threshold = CONFIG_THRESHOLD_OTSU,
                              .morphology = CONFIG_MORPHOLOGY_OPEN,
                              .times = 2,
                              .left = "camera",
                              .right = "direction",
                              .range = FRAME_RANGE_FULL,
                              .width = 64,
                              .height = 48};
    unsigned counts[OUTCOME_COUNT] = {0};
    uint64_t calls;

    assert_int_equal(live(&c), OUTCOME_GPU);
    calls = fake_gpu_calls();
    for (uint64_t nth = 1; nth <= calls; nth++) {
        char options[64];

        snprintf(options, sizeof options, "board=orin-nano,fail=*:%llu:%d", (unsigned long long)nth,
                 result);
        c.options = options;
        counts[live(&c)]++;
    }
    assert_true(counts[OUTCOME_REFUSED] > 0 && counts[OUTCOME_OTHER_MEMORY] > 0);
    assert_true(counts[OUTCOME_LOST] > 0 && counts[OUTCOME_GPU] > 0);
}

TEST(test_edges_in_registered_memory)
{
    fail_in_turn(CONFIG_VIEW_EDGES, CONFIG_MEMORY_REGISTERED, 999);
}

TEST(test_edges_in_pinned_memory)
{
    fail_in_turn(CONFIG_VIEW_EDGES, CONFIG_MEMORY_PINNED, 2);
}

TEST(test_edges_in_managed_memory)
{
    fail_in_turn(CONFIG_VIEW_EDGES, CONFIG_MEMORY_MANAGED, 1);
}

TEST(test_camera_in_managed_memory)
{
    fail_in_turn(CONFIG_VIEW_CAMERA, CONFIG_MEMORY_MANAGED, 719);
}

// Each of its pictures is several launches: the first launches them, the others replay a graph.
TEST(test_canny_in_registered_memory)
{
    fail_in_turn(CONFIG_VIEW_CANNY, CONFIG_MEMORY_REGISTERED, 999);
}

// Planes between four kernels, thresholds, and a histogram.
TEST(test_binary_in_pinned_memory)
{
    fail_in_turn(CONFIG_VIEW_BINARY, CONFIG_MEMORY_PINNED, 2);
}

// Two views, of which one is converted from a plane.
TEST(test_split_in_registered_memory)
{
    fail_in_turn(CONFIG_VIEW_SPLIT, CONFIG_MEMORY_REGISTERED, 999);
}

TEST(test_device_with_less_and_less_memory)
{
    struct gpu_view_case c = {.memory = CONFIG_MEMORY_MANAGED,
                              .format = "YUYV",
                              .kind = CONFIG_VIEW_EDGES,
                              .gain = 1,
                              .left = "camera",
                              .right = "direction",
                              .range = FRAME_RANGE_FULL,
                              .width = 64,
                              .height = 48};
    unsigned counts[OUTCOME_COUNT] = {0};

    for (unsigned pages = 0; pages < 16; pages++) {
        char options[64];

        snprintf(options, sizeof options, "board=thor,memory=%u", pages * 4096);
        c.options = options;
        counts[live(&c)]++;
    }
    // No page for the self-tests; for them, but not for that of memory; for that, but not for
    // thresholds and 4 frames; for all.
    assert_true(counts[OUTCOME_OTHER_MEMORY] > 0 && counts[OUTCOME_REFUSED] > 0);
    assert_true(counts[OUTCOME_LOST] == 0 && counts[OUTCOME_GPU] > 0);
}

RUN_TESTS(NULL, fake_gpu_end)
