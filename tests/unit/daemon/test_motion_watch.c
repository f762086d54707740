// The motion watch: masks from disk, those that cannot be read, frames that change.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/view_pictures.h"

#include "daemon/camera/motion_watch.h"

#include <unistd.h>

static char path[] = "/tmp/edged-test-mask-XXXXXX";

static unsigned told;
static struct link_event last;

static void tell(void *context, const struct link_event *event)
{
    assert_ptr_equal(context, &told);
    told++;
    last = *event;
}

static void write_mask(const char *text, size_t size)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

// Gray of 100; in odd frames with a block of 200, whose rim makes it 18 x 18 cells.
static struct frame *new_picture(uint32_t width, uint32_t height, unsigned number)
{
    struct frame *frame = new_frame("GREY", width, height, 0);

    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        memset(row, 100, width);
        if (number % 2 && y >= 10 && y < 20)
            memset(row + 10, 200, 10);
    }
    frame->pts_ns = number * 100 * NS_PER_MS;
    return frame;
}

static void see(struct motion_watch *motion_watch, uint32_t width, uint32_t height, unsigned number)
{
    struct frame *frame = new_picture(width, height, number);

    if (motion_watch_wants(motion_watch, frame->pts_ns)) {
        assert_int_equal(motion_watch_begin(motion_watch, NULL, NULL, frame, NULL), 0);
        assert_int_equal(motion_watch_measure(motion_watch, frame, NULL), 0);
    }
    frame_unref(frame);
}

static char name[] = "masked", other_name[] = "all", no_mask[] = "";

static struct config_region region_with(char *mask)
{
    return (struct config_region){.name = mask == no_mask ? other_name : name,
                                  .mask = mask,
                                  .threshold = 25,
                                  .start = 10,
                                  .end = 5,
                                  .cooldown_s = 60};
}

#define BLOCK (18 * 18)       // cells that move
#define BLOCK_ABOVE (18 * 14) // of them those above the middle, or left of the second quarter
#define CELLS (80 * 40)

static float share_of(const struct motion_watch *motion_watch, size_t index)
{
    return motion_watch_region(motion_watch, index)->share;
}

TEST(test_a_mask_says_where_the_region_is)
{
    struct config_region regions[] = {region_with(path), region_with(no_mask)};
    struct config_camera camera = {
        .name = name, .armed = true, .regions = regions, .region_count = 2};
    struct motion_watch *motion_watch;

    // White on the right and in the first of the four columns.
    write_mask("P5\n4 1\n255\n\xff\x00\xff\xff", 15);
    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    assert_int_equal(told, 0);
    see(motion_watch, 80, 40, 1);
    assert_true(share_of(motion_watch, 0) == (float)(BLOCK_ABOVE / (CELLS * 0.75)));
    assert_true(share_of(motion_watch, 1) == (float)BLOCK / CELLS);
    assert_int_equal(told, 2);
    assert_string_equal(last.region.name, "all");
    assert_int_equal(motion_watch_region(motion_watch, 0)->box.width, 10);
    assert_null(motion_watch_region(motion_watch, 2));
    motion_watch_free(motion_watch);
}

TEST(test_a_mask_that_cannot_be_read_costs_its_region_alone)
{
    static const char *const broken[] = {"P5 4 1 255 \xff", "not a picture", "\x89PNG\r\n\x1a\n...",
                                         ""};
    struct config_region regions[] = {region_with(path), region_with(no_mask)};
    struct config_camera camera = {
        .name = name, .armed = true, .regions = regions, .region_count = 2};

    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        char text[4096] = "";
        struct motion_watch *motion_watch;

        write_mask(broken[i], strlen(broken[i]));
        assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
        told = 0;
        catch_stderr();
        see(motion_watch, 80, 40, 0);
        see(motion_watch, 80, 40, 1);
        rewind(caught);
        assert_true(fread(text, 1, sizeof text - 1, caught) > 0);
        release_stderr();
        const char *end = strchr(skip_libgcrypt(text), '\n');
        assert_true(end && !end[1]); // one line
        assert_non_null(strstr(text, "region \"masked\": cannot read its mask: "));
        assert_non_null(strstr(text, ", no events of it until it is mended and edged reloaded"));
        assert_true(share_of(motion_watch, 0) == 0);
        assert_true(share_of(motion_watch, 1) == (float)BLOCK / CELLS);
        assert_int_equal(told, 1);

        write_mask("P5 1 1 255 \xff", 12);
        motion_watch_set_camera(motion_watch, &camera); // a reload, of the same settings
        see(motion_watch, 80, 40, 3);
        assert_true(share_of(motion_watch, 0) == (float)BLOCK / CELLS);
        assert_int_equal(told, 2);
        motion_watch_free(motion_watch);
    }
}

TEST(test_frames_of_another_size_are_not_compared)
{
    struct config_region regions[] = {region_with(no_mask)};
    struct config_camera camera = {
        .name = name, .armed = true, .regions = regions, .region_count = 1};
    struct motion_watch *motion_watch;

    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 76, 40, 1);
    assert_true(share_of(motion_watch, 0) == 0);
    see(motion_watch, 76, 40, 2);
    assert_true(share_of(motion_watch, 0) == (float)BLOCK / (76 * 40));
    assert_int_equal(told, 1);
    assert_int_equal(last.region.box.width, 10);
    motion_watch_free(motion_watch);
}

// A camera that is opened again for another reason than a fault has lost nothing.
TEST(test_an_event_goes_on_when_the_camera_is_opened_again)
{
    struct config_region regions[] = {region_with(no_mask)};
    struct config_camera camera = {
        .name = name, .armed = true, .regions = regions, .region_count = 1};
    struct motion_watch *motion_watch;

    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    motion_watch_reset(motion_watch, false);
    assert_int_equal(motion_watch_region(motion_watch, 0)->moving, 1);
    see(motion_watch, 80, 40, 2);
    assert_true(share_of(motion_watch, 0) == 0);
    see(motion_watch, 80, 40, 3);
    assert_int_equal(told, 1);
    assert_int_equal(motion_watch_region(motion_watch, 0)->moving, 1);
    motion_watch_reset(motion_watch, true);
    assert_int_equal(motion_watch_region(motion_watch, 0)->moving, 0);
    assert_int_equal(told, 1);
    motion_watch_free(motion_watch);
}

TEST(test_other_settings_leave_alone_what_stays)
{
    struct config_point top[] = {{0, 0}, {1, 0}, {1, 0.5}, {0, 0.5}};
    struct config_region regions[] = {region_with(path), region_with(no_mask)}, others[3],
                         changed[3];
    struct config_camera camera = {
        .name = name, .armed = true, .regions = regions, .region_count = 1};
    struct config_camera other = {
        .name = name, .armed = true, .regions = others, .region_count = 3};
    struct motion_watch *motion_watch;

    regions[0] = (struct config_region){.name = name,
                                        .polygon = top,
                                        .polygon_count = 4,
                                        .mask = no_mask,
                                        .threshold = 25,
                                        .start = 10,
                                        .end = 5};
    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    assert_int_equal(told, 1);

    // The region keeps its event, and all that are new compare with the picture before as well.
    others[0] = regions[1];
    others[1] = regions[0];
    others[2] = regions[0];
    others[2].name = path;
    motion_watch_set_camera(motion_watch, &other);
    see(motion_watch, 80, 40, 3);
    assert_string_equal(motion_watch_region(motion_watch, 1)->name, name);
    assert_int_equal(motion_watch_region(motion_watch, 1)->moving, 1);
    assert_true(share_of(motion_watch, 0) == (float)BLOCK / CELLS);
    assert_true(share_of(motion_watch, 1) == (float)BLOCK_ABOVE / (CELLS / 2));
    assert_true(share_of(motion_watch, 2) == (float)BLOCK_ABOVE / (CELLS / 2));
    assert_int_equal(told, 3);
    see(motion_watch, 80, 40, 5);
    assert_true(share_of(motion_watch, 0) == (float)BLOCK / CELLS);
    assert_int_equal(told, 3);

    // Other numbers count from the next frame on: a threshold over what moves, and an end.
    memcpy(changed, others, sizeof changed);
    changed[1].threshold = 200;
    struct config_camera newest = other, none = {.name = name};
    newest.regions = changed;
    motion_watch_set_camera(motion_watch, &newest);
    see(motion_watch, 80, 40, 7);
    assert_int_equal(told, 4);
    assert_string_equal(last.region.name, name);
    assert_int_equal(last.kind, LINK_EVENT_MOTION_ENDED);
    motion_watch_set_camera(motion_watch, &none);
    see(motion_watch, 80, 40, 9);
    assert_null(motion_watch_region(motion_watch, 0));
    assert_int_equal(told, 4);
    motion_watch_free(motion_watch);
}

TEST(test_a_region_of_no_cell_is_warned_of)
{
    struct config_point line[] = {{0.5, 0.5}, {0.6, 0.5}, {0.7, 0.5}};
    struct config_region region = region_with(no_mask);
    struct config_camera camera = {
        .name = name, .armed = true, .regions = &region, .region_count = 1};
    struct motion_watch *motion_watch;
    char text[512] = "";

    region.polygon = line;
    region.polygon_count = 3;
    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    catch_stderr();
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    rewind(caught);
    assert_true(fread(text, 1, sizeof text - 1, caught) > 0);
    release_stderr();
    assert_non_null(
        strstr(text, "region \"all\" holds no cell of pictures of 80x40, no events of it"));
    motion_watch_free(motion_watch);
}

TEST(test_a_camera_without_regions_sees_nothing)
{
    struct config_camera camera = {.name = name};
    struct motion_watch *motion_watch;

    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    assert_int_equal(told, 0);
    assert_null(motion_watch_region(motion_watch, 0));
    motion_watch_reset(motion_watch, true);
    motion_watch_free(motion_watch);
    motion_watch_free(NULL);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 || close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

// A look that tells nothing, as in other light, begins no event and does not keep one from its end.
TEST(test_looks_that_tell_nothing_are_stillness_in_an_event)
{
    struct config_region region = region_with(no_mask);
    struct config_camera camera = {
        .name = name, .armed = true, .regions = &region, .region_count = 1};
    struct motion_watch *motion_watch;

    region.cooldown_s = 8;
    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    assert_int_equal(told, 1);
    for (unsigned number = 61; number <= 121; number += 60) // more than five seconds each
        see(motion_watch, 80, 40, number);
    assert_int_equal(told, 1);
    see(motion_watch, 80, 40, 181);
    assert_int_equal(told, 2);
    assert_int_equal(last.kind, LINK_EVENT_MOTION_ENDED);
    motion_watch_free(motion_watch);
}

TEST(test_pictures_that_are_too_large_cost_their_events_and_not_the_gpu)
{
    struct config_region region = region_with(no_mask);
    struct config_camera camera = {
        .name = name, .armed = true, .regions = &region, .region_count = 1};
    struct gpu *gpus[] = {NULL, (struct gpu *)(void *)&camera}; // which is not asked
    struct motion_watch *motion_watch;

    for (size_t i = 0; i < ARRAY_LENGTH(gpus); i++) {
        struct frame *frame = new_picture(8200, 24, 0);
        char text[512] = "";

        assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
        catch_stderr();
        int r = motion_watch_begin(motion_watch, gpus[i], frame_allocator_host(), frame, NULL);
        rewind(caught);
        assert_true(fread(text, 1, sizeof text - 1, caught) > 0);
        release_stderr();
        assert_int_equal(r, 0);
        assert_non_null(strstr(text, "pictures of 8200x24 are too large for motion events, no"));
        assert_false(motion_watch_wants(motion_watch, NS_PER_S));
        motion_watch_free(motion_watch);
        frame_unref(frame);
    }
}

// A camera that is opened again with other pictures goes on with the event; those that cannot be
// measured end it.
TEST(test_pictures_that_cannot_be_measured_end_the_event_under_way)
{
    struct config_region region = region_with(no_mask);
    struct config_camera camera = {
        .name = name, .armed = true, .regions = &region, .region_count = 1};
    struct frame *frame = new_picture(8200, 24, 2);
    struct motion_watch *motion_watch;

    assert_int_equal(motion_watch_new(&camera, tell, &told, &motion_watch), 0);
    told = 0;
    see(motion_watch, 80, 40, 0);
    see(motion_watch, 80, 40, 1);
    assert_true(told == 1 && last.kind == LINK_EVENT_MOTION_STARTED);
    const struct link_event begun = last;
    motion_watch_reset(motion_watch, false);
    assert_int_equal(motion_watch_begin(motion_watch, NULL, frame_allocator_host(), frame, NULL),
                     0);
    assert_true(told == 2 && last.kind == LINK_EVENT_MOTION_ENDED);
    assert_int_equal(last.started_ns, begun.started_ns);
    assert_int_equal(last.at_ns, begun.at_ns); // when it was seen last
    assert_false(motion_watch_region(motion_watch, 0)->moving);
    motion_watch_free(motion_watch);
    frame_unref(frame);
}

RUN_TESTS(make_file, remove_file)
