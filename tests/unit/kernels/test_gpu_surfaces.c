// Surfaces of a Jetson's NVMM, as its two releases have them (tests/fakes/nvmm): CPU and GPU agree
// on every view, the CPU leaves them alone while pictures flow, and whatever fails has a name.
#include "kernels/gpu/gpu_surfaces.h"

#include "capture/nvmm/nvbufsurface.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/view.h"
#include "tests/unit/fake_gpu.h"
#include "tests/unit/fake_nvmm.h"

#include <errno.h>

#define FRAMES 3

static const char *const releases[] = {"jetpack=5", "jetpack=6"};

struct bed {
    struct gpu *gpu;
    struct gpu_surfaces *surfaces;
    struct error error;
};

static void bed_finish(struct bed *bed)
{
    gpu_surfaces_free(bed->surfaces);
    gpu_free(bed->gpu);
}

static int bed_init(struct bed *bed, const char *driver, const char *options)
{
    *bed = (struct bed){0};
    fake_gpu_play(driver);
    fake_nvmm_play(options);
    assert_int_equal(gpu_new(&bed->error, &bed->gpu), 0);
    return gpu_surfaces_new(bed->gpu, &bed->error, &bed->surfaces);
}

static void assert_nothing_left(void)
{
    assert_int_equal(fake_nvmm_left(), 0);
    assert_int_equal(fake_gpu_leaks(), 0);
}

static void open_without_library(const void *context)
{
    struct gpu_surfaces *surfaces;
    struct gpu *gpu;
    struct error error = {0};

    (void)context;
    fake_gpu_play("board=agx-orin");
    if (gpu_new(&error, &gpu) < 0 || gpu_surfaces_new(gpu, &error, &surfaces) != -ENODEV)
        _exit(1);
    fputs(error.text, stderr);
    gpu_free(gpu);
    fake_gpu_end(NULL);
    _exit(0);
}

// First: what this process has loaded its children have too.
TEST(test_without_the_library_its_name_is_said)
{
    char text[1024];

    assert_int_equal(fake_gpu_run_child(open_without_library, NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, "libnvbufsurface.so.1.0.0: cannot open shared object file"));
}

struct views {
    struct gpu_memory *memory; // of the camera's frames
    struct frame_pool *camera;
    struct view *view, *reference;
};

static int views_init(struct views *views, struct bed *bed, const struct config_view *settings,
                      bool on_gpu, uint32_t width, uint32_t height)
{
    struct frame_layout layout;
    struct view_setup setup = {.settings = settings,
                               .input = &layout,
                               .frames = FRAMES,
                               .allocator = frame_allocator_host()};

    *views = (struct views){0};
    frame_layout_init(&layout, pixel_format_by_name("YUYV"), width, height, 16);
    assert_int_equal(gpu_memory_new(bed->gpu, CONFIG_MEMORY_AUTO, NULL, &views->memory), 0);
    assert_int_equal(
        frame_pool_new(&layout, 1, gpu_memory_allocator(views->memory), &views->camera), 0);
    assert_int_equal(view_new(&setup, &bed->error, &views->reference), 0);
    setup.gpu = on_gpu ? bed->gpu : NULL;
    setup.allocator = gpu_surfaces_allocator(bed->surfaces);
    return view_new(&setup, &bed->error, &views->view);
}

static void views_finish(struct views *views)
{
    view_free(views->view);
    view_free(views->reference);
    frame_pool_unref(views->camera);
    gpu_memory_free(views->memory);
}

static bool is_equal(const struct frame *surface, const struct frame *expected)
{
    const struct frame_layout *layout = &expected->layout;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        for (uint32_t y = 0; y < layout->planes[i].rows; y++) {
            if (memcmp(frame_plane(surface, i) + y * surface->layout.planes[i].stride,
                       frame_plane(expected, i) + y * layout->planes[i].stride,
                       layout->planes[i].width_bytes) != 0) {
                return false;
            }
        }
    }
    return true;
}

// A picture of the camera through both views. The caller unrefs it.
static int run(struct views *views, uint32_t seed, struct error *error, struct frame **ret_output,
               struct frame **ret_expected)
{
    struct frame *camera = frame_pool_take(views->camera);

    for (size_t i = 0; i < camera->layout.size; i++) {
        seed = seed * 1664525 + 1013904223;
        camera->data[i] = (uint8_t)(seed >> 24);
    }
    assert_int_equal(view_run(views->reference, camera, error, ret_expected), 0);
    int r = view_run(views->view, camera, error, ret_output);
    frame_unref(camera);
    return r;
}

static void check_pictures(struct views *views, unsigned count)
{
    struct frame *outputs[FRAMES] = {0}, *expected[FRAMES] = {0};
    struct error error = {0};
    uint64_t before = fake_nvmm_count("fake_nvmm_cpu_accesses");

    for (unsigned i = 0; i < count; i++)
        assert_int_equal(run(views, i, &error, &outputs[i], &expected[i]), 0);
    if (view_is_on_gpu(views->view))
        assert_int_equal(fake_nvmm_count("fake_nvmm_cpu_accesses"), before);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(frame_begin_cpu_access(outputs[i], &error), 0);
        assert_true(is_equal(outputs[i], expected[i]));
        frame_unref(outputs[i]);
        frame_unref(expected[i]);
    }
}

static void check_view(const char *release, const struct config_view *settings, bool on_gpu,
                       uint32_t width, uint32_t height)
{
    struct views views;
    struct bed bed;

    assert_int_equal(bed_init(&bed, "board=agx-orin", release), 0);
    assert_int_equal(views_init(&views, &bed, settings, on_gpu, width, height), 0);
    assert_true(view_makes_surfaces(views.view));
    assert_int_equal(view_is_on_gpu(views.view), on_gpu);
    assert_int_equal(view_output_layout(views.view)->planes[0].stride % 256, 0);
    check_pictures(&views, FRAMES);
    check_pictures(&views, FRAMES); // in the same surfaces again
    views_finish(&views);
    bed_finish(&bed);
    assert_nothing_left();
}

static const struct config_view overlay = {
    .view = CONFIG_VIEW_OVERLAY, .gain = 1.0, .threshold = 60, .colour = (char *)"#ff8010"};
static const struct config_view split = {
    .view = CONFIG_VIEW_SPLIT, .gain = 1.0, .left = (char *)"camera", .right = (char *)"edges"};

TEST(test_pictures_are_those_of_plain_memory_and_cost_the_cpu_nothing)
{
    static const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1.0};
    const struct config_view *const views[] = {&edges, &overlay, &split};
    static const uint32_t sizes[][2] = {{640, 360}, {258, 130}, {33, 7}};

    for (size_t r = 0; r < ARRAY_LENGTH(releases); r++) {
        for (size_t v = 0; v < ARRAY_LENGTH(views); v++) {
            for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
                check_view(releases[r], views[v], true, sizes[i][0], sizes[i][1]);
        }
    }
}

TEST(test_cpu_writes_surfaces_as_well)
{
    for (size_t r = 0; r < ARRAY_LENGTH(releases); r++) {
        check_view(releases[r], &overlay, false, 322, 242);
        check_view(releases[r], &split, false, 322, 242);
    }
}

TEST(test_each_failure_of_the_start_has_a_name)
{
    static const struct {
        const char *driver, *options;
        int result;
        const char *why;
    } cases[] = {
        {"", "layout=other", -EPROTO,
         "a surface of 256x128 is not laid out as expected: its format"},
        {"", "planes=1", -EPROTO, "the GPU sees 1 of the planes of a surface"},
        {"", "blocks", -EPROTO, "the GPU sees a surface in blocks"},
        {"", "fail=NvBufSurfaceAllocate:1", -ENOMEM, "NvBufSurfaceAllocate: no surface of 256x128"},
        {"", "fail=NvBufSurfaceMap:2", -EIO, "NvBufSurfaceMap failed"},
        {"", "fail=NvBufSurfaceMapEglImage:1", -EIO, "NvBufSurfaceMapEglImage failed"},
        {"", "fail=NvBufSurfaceSyncForCpu:1", -EIO, "NvBufSurfaceSyncForCpu failed"},
        {"", "fail=NvBufSurfaceSyncForDevice:1", -EIO, "NvBufSurfaceSyncForDevice failed"},
        {"", "no-sync=cpu", -EIO, "CPU and GPU see different bytes"},
        {"", "no-sync=device", -EIO, "CPU and GPU see different bytes"},
        {"fail=cuGraphicsEGLRegisterImage:1:1", "", -EINVAL,
         "registering a surface: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)"},
        {"fail=cuGraphicsResourceGetMappedEglFrame:1:999", "", -EIO,
         "asking for a surface's planes: unknown error (CUDA_ERROR_UNKNOWN, 999)"},
        {"fail=cuLaunchKernel:1:701", "", -EINVAL,
         "launching the probe: too many resources requested for launch "
         "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed bed;

        assert_int_equal(bed_init(&bed, cases[i].driver, cases[i].options), cases[i].result);
        assert_string_equal(bed.error.text, cases[i].why);
        bed_finish(&bed);
        assert_nothing_left();
    }
}

TEST(test_with_a_display_no_surface_is_for_the_gpu_until_it_is_hidden)
{
    static const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct bed bed;

        setenv(names[i], ":10.0", 1);
        assert_int_equal(bed_init(&bed, "", ""), -EIO);
        assert_string_equal(bed.error.text, "NvBufSurfaceMapEglImage failed");
        bed_finish(&bed);
        nvbufsurface_hide_displays();
        assert_int_equal(bed_init(&bed, "", ""), 0);
        bed_finish(&bed);
        assert_nothing_left();
    }
}

// A life of surfaces, in which call `nth` of the library fails. Returns whether it was made.
static bool live(const char *release, uint64_t nth)
{
    static const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1.0};
    struct frame *output = NULL, *expected = NULL;
    struct views views = {0};
    struct bed bed;
    char options[64];

    snprintf(options, sizeof options, "%s,fail=*:%llu", release, (unsigned long long)nth);
    int r = bed_init(&bed, "board=agx-orin", options);
    if (r == 0)
        r = views_init(&views, &bed, &edges, true, 64, 48);
    if (r == 0)
        r = run(&views, 1, &bed.error, &output, &expected);
    if (r == 0) {
        r = frame_begin_cpu_access(output, &bed.error);
        assert_true(r < 0 || is_equal(output, expected));
    }
    assert_int_equal(r < 0, bed.error.text[0] != '\0');
    frame_unref(output);
    frame_unref(expected);
    views_finish(&views);
    bed_finish(&bed);
    bool made = fake_nvmm_count("fake_nvmm_calls") >= nth;
    assert_nothing_left();
    return made;
}

TEST(test_whichever_call_fails_nothing_is_left_behind)
{
    for (size_t r = 0; r < ARRAY_LENGTH(releases); r++) {
        uint64_t nth = 1;

        while (live(releases[r], nth))
            nth++;
        // A test, three surfaces with two planes mapped and unmapped each, constants, a look.
        assert_true(nth > 40);
    }
}

int main(void)
{
    return run_unit_tests(NULL, fake_gpu_end);
}
