// Time of a view of gray pictures by one thread, and by several, beside a memcpy of the picture in
// the same run, medians. And of several threads at once that each make a picture alone: what
// processors have to give that are one core's, or another machine's as well.
//
//   bench_view [--runs N] [--threads N] [--stream] [--cold]
//              [--view VIEW] [--set KEY=VALUE]… [PICTURE.pgm]…
//
// The view is edges unless --view, which stands before --set, names another. Without a picture:
// 1080p of noise. Several of one size take turns, as the frames of a clip.
// --stream: into the encoder's NV12, where the view's exact picture is made without.
// --cold: frames out of memory, as a camera's are; without, the caches hold them if they can.
// Prints one line: the size; microseconds of the copy of a frame, of the view by one thread, by N,
// and by the slowest of N that make one each; pixels of the last picture's plane 0 that are not 0.
// Never fails by time.
#include "daemon/common/pnm.h"
#include "kernels/graph/view.h"
#include "tests/bench/bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX 2000
#define PICTURES_MAX 8
#define COLD_BYTES (512UL << 20) // more than the caches of today's processors hold
#define FRAMES_MAX 256
#define TURNS 4 // the copy, the view by one thread, by all, by each

struct options {
    unsigned runs, threads;
    enum view_output output;
    bool cold;
    const char *pictures[PICTURES_MAX];
    unsigned picture_count;
    struct config_view *view;
};

// A view that a thread has for itself.
struct maker {
    struct view *view;
    struct frame *input, *output;
    pthread_barrier_t *start;
    int64_t ns;
    int r;
    struct error error;
};

// The same view by all threads of a pool, and by one each.
struct bench {
    struct frame *inputs[FRAMES_MAX];
    unsigned input_count, turns; // frames of all rounds, of each
    struct frame *copy;
    struct pool *pool;
    struct view *shared;
    struct maker makers[POOL_THREADS_MAX]; // so many as the pool has threads
};

static int make_noise(struct error *error, struct frame **ret_frame)
{
    int r = picture_frame_new("GREY", 1920, 1080, frame_allocator_host(), error, ret_frame);
    uint32_t noise = 1;

    for (size_t i = 0; r == 0 && i < (*ret_frame)->layout.size; i++) {
        noise = noise * 1664525 + 1013904223;
        (*ret_frame)->data[i] = (uint8_t)(noise >> 24);
    }
    return r;
}

static size_t count_set(const struct frame *frame)
{
    size_t count = 0;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        const uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        for (uint32_t x = 0; x < frame->layout.width; x++)
            count += row[x] != 0;
    }
    return count;
}

static int read_picture(const struct options *options, unsigned index, struct error *error,
                        struct frame **ret_frame)
{
    if (options->picture_count == 0)
        return make_noise(error, ret_frame);
    return pnm_read(options->pictures[index], options->pictures[index], frame_allocator_host(),
                    error, ret_frame);
}

// Rounds of frames of `size` bytes, a frame for each that takes turns, until the first are out of
// every cache again: a multiple of `pictures`.
static unsigned cold_rounds(size_t size, unsigned pictures)
{
    size_t most = FRAMES_MAX / (TURNS * pictures), times = COLD_BYTES / (size * TURNS * pictures);

    times = times < most ? times : most;
    return (unsigned)(times > 0 ? times : 1) * pictures;
}

// One frame a round, or, out of memory, one for each that takes turns.
static int read_inputs(const struct options *options, struct bench *bench, struct error *error)
{
    unsigned pictures = options->picture_count ? options->picture_count : 1;
    int r = 0;

    bench->turns = options->cold ? TURNS : 1;
    bench->input_count = pictures;
    for (unsigned i = 0; i < bench->input_count && r == 0; i++) {
        unsigned picture = i / bench->turns % pictures;

        r = read_picture(options, picture, error, &bench->inputs[i]);
        if (r == 0 && !frame_layout_equal(&bench->inputs[0]->layout, &bench->inputs[i]->layout))
            r = error_set(error, -EINVAL, "%s has another size", options->pictures[picture]);
        if (r == 0 && i == 0 && options->cold)
            bench->input_count = TURNS * cold_rounds(bench->inputs[0]->layout.size, pictures);
    }
    return r;
}

static int bench_init(struct bench *bench, const struct options *options, struct error *error)
{
    int r = read_inputs(options, bench, error);
    struct view_setup setup = {.settings = options->view,
                               .output = options->output,
                               .frames = 2,
                               .allocator = frame_allocator_host()};

    if (r == 0) {
        setup.input = &bench->inputs[0]->layout;
        r = picture_frame_new("GREY", setup.input->width, setup.input->height, setup.allocator,
                              error, &bench->copy);
    }
    if (r == 0)
        r = pool_new(options->threads, error, &bench->pool);
    for (unsigned i = 0; i < options->threads && r == 0; i++)
        r = view_new(&setup, error, &bench->makers[i].view);
    setup.pool = bench->pool;
    return r < 0 ? r : view_new(&setup, error, &bench->shared);
}

static void bench_finish(struct bench *bench)
{
    for (unsigned i = 0; i < POOL_THREADS_MAX; i++) {
        frame_unref(bench->makers[i].output);
        view_free(bench->makers[i].view);
    }
    view_free(bench->shared);
    pool_free(bench->pool);
    frame_unref(bench->copy);
    for (unsigned i = 0; i < FRAMES_MAX; i++)
        frame_unref(bench->inputs[i]);
}

static int time_view(struct view *view, struct frame *input, struct error *error, int64_t *ret_ns,
                     struct frame **output)
{
    int64_t start = clock_now_ns();
    int r;

    frame_unref(TAKE(*output));
    r = view_run(view, input, error, output);
    *ret_ns = clock_now_ns() - start;
    return r;
}

static void *make_one(void *context)
{
    struct maker *maker = context;

    pthread_barrier_wait(maker->start);
    maker->r = time_view(maker->view, maker->input, &maker->error, &maker->ns, &maker->output);
    return NULL;
}

// Each of `count` threads makes a view of `input`.
static int time_each(struct bench *bench, unsigned count, struct frame *input, struct error *error,
                     int64_t *ret_ns)
{
    pthread_t threads[POOL_THREADS_MAX];
    pthread_barrier_t start;
    int r = 0;

    pthread_barrier_init(&start, NULL, count);
    *ret_ns = 0;
    for (unsigned i = 0; i < count; i++) {
        bench->makers[i].start = &start;
        bench->makers[i].input = input;
        if (pthread_create(&threads[i], NULL, make_one, &bench->makers[i]) != 0) {
            abort(); // others wait for it
        }
    }
    for (unsigned i = 0; i < count; i++) {
        const struct maker *maker = &bench->makers[i];

        pthread_join(threads[i], NULL);
        *ret_ns = maker->ns > *ret_ns ? maker->ns : *ret_ns;
        if (maker->r < 0) {
            *error = maker->error;
            r = maker->r;
        }
    }
    pthread_barrier_destroy(&start);
    return r;
}

// The input of number `turn` (0..TURNS - 1) of a round.
static struct frame *input_of(const struct bench *bench, unsigned round, unsigned turn)
{
    return bench->inputs[(round * bench->turns + turn % bench->turns) % bench->input_count];
}

struct times {
    int64_t copy[RUNS_MAX], one[RUNS_MAX], shared[RUNS_MAX], each[RUNS_MAX];
};

// Copies and views take turns, so that all see the same machine.
static int measure_round(const struct options *options, struct bench *bench, unsigned round,
                         struct times *times, struct frame **shared_output, struct error *error)
{
    const struct frame *copied = input_of(bench, round, 0);
    struct maker *first = &bench->makers[0];
    int64_t start = clock_now_ns();
    int r;

    memcpy(bench->copy->data, copied->data, copied->layout.size);
    __asm__ volatile("" : : "r"(bench->copy->data) : "memory"); // somebody reads the copy
    times->copy[round] = clock_now_ns() - start;
    r = time_view(first->view, input_of(bench, round, 1), error, &times->one[round],
                  &first->output);
    if (r < 0 || options->threads == 1) {
        times->shared[round] = times->each[round] = times->one[round];
        return r;
    }
    r = time_view(bench->shared, input_of(bench, round, 2), error, &times->shared[round],
                  shared_output);
    return r < 0 ? r
                 : time_each(bench, options->threads, input_of(bench, round, 3), error,
                             &times->each[round]);
}

static int measure(const struct options *options, struct bench *bench, struct error *error)
{
    static struct times times;
    struct frame *shared_output = NULL;
    const struct frame_layout *layout = &bench->inputs[0]->layout;
    unsigned runs = options->runs;
    int r = 0;

    for (unsigned i = 0; i < runs && r == 0; i++)
        r = measure_round(options, bench, i, &times, &shared_output, error);
    if (r == 0) {
        printf("%ux%u %.1f %.1f %.1f %.1f %zu\n", layout->width, layout->height,
               median_us(times.copy, runs), median_us(times.one, runs),
               median_us(times.shared, runs), median_us(times.each, runs),
               count_set(bench->makers[0].output));
    }
    frame_unref(shared_output);
    return r;
}

static int apply_setting(struct config_view *view, char *setting, struct error *error)
{
    char *value = strchr(setting, '=');

    if (!value)
        return error_set(error, -EINVAL, "--set %s: expected KEY=VALUE", setting);
    *value++ = '\0';
    return config_view_set(view, setting, value, error);
}

// Options that take a value, and pictures.
static int read_option(struct options *options, char **words, int *at, struct error *error)
{
    const char *word = words[*at];

    if (strncmp(word, "--", 2) != 0) {
        if (options->picture_count == PICTURES_MAX)
            return error_set(error, -EINVAL, "8 pictures at most");
        options->pictures[options->picture_count++] = word;
        return 0;
    }
    if (!words[*at + 1])
        return error_set(error, -EINVAL, "%s: expected a value", word);
    char *value = words[++*at];

    if (strcmp(word, "--set") == 0)
        return apply_setting(options->view, value, error);
    if (strcmp(word, "--runs") == 0) {
        options->runs = (unsigned)strtoul(value, NULL, 10);
    } else if (strcmp(word, "--threads") == 0) {
        options->threads = (unsigned)strtoul(value, NULL, 10);
    } else if (strcmp(word, "--view") == 0) {
        config_view_free(TAKE(options->view));
        return config_view_new(value, error, &options->view);
    } else {
        return error_set(error, -EINVAL, "%s: unknown", word);
    }
    return 0;
}

static int read_options(int argc, char **argv, struct options *options, struct error *error)
{
    int r = config_view_new("edges", error, &options->view);

    for (int i = 1; i < argc && r == 0; i++) {
        if (strcmp(argv[i], "--stream") == 0)
            options->output = VIEW_OUTPUT_STREAM;
        else if (strcmp(argv[i], "--cold") == 0)
            options->cold = true;
        else
            r = read_option(options, argv, &i, error);
    }
    if (r == 0 && (options->runs < 1 || options->runs > RUNS_MAX))
        r = error_set(error, -EINVAL, "--runs takes 1 to %d", RUNS_MAX);
    if (r == 0 && (options->threads < 1 || options->threads > POOL_THREADS_MAX))
        r = error_set(error, -EINVAL, "--threads takes 1 to %d", POOL_THREADS_MAX);
    return r;
}

int main(int argc, char **argv)
{
    struct options options = {.runs = 101, .threads = 1, .output = VIEW_OUTPUT_EXACT};
    struct bench bench = {0};
    struct error error = {0};
    int r = read_options(argc, argv, &options, &error);

    if (r == 0)
        r = bench_init(&bench, &options, &error);
    if (r == 0)
        r = measure(&options, &bench, &error);
    if (r < 0)
        fprintf(stderr, "bench_view: %s\n", error.text);
    bench_finish(&bench);
    config_view_free(options.view);
    return r < 0;
}
