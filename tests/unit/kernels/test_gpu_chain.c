// Pictures of several launches as graphs, on a driver of this test's own: it builds, replays and
// refuses as told and writes down what it was asked for.
#include "tests/unit/unit.h"

#include "kernels/gpu/gpu_chain.c"

#include <errno.h>

#define REFUSED 701
#define FAULTY 700

struct parameters {
    struct gpu_job job;
    uint32_t number;
};

static struct {
    struct gpu_info info;
    struct gpu_blocks blocks;
    struct cuda_driver driver;
    // Results to come.
    int create, add, instantiate, set, replay, launch;
    unsigned refused_threads; // launches of so many in x end in REFUSED
    // What was called.
    unsigned created, added, instantiated, sets, replays, launches, graphs, execs;
    unsigned numbers[16]; // that launches have been given
    unsigned updated;     // the number that the last node was given
} fake;

static struct gpu_kernel kernel;

const struct gpu_info *gpu_info(const struct gpu *gpu)
{
    (void)gpu;
    return &fake.info;
}

struct gpu_blocks *gpu_blocks(struct gpu *gpu)
{
    (void)gpu;
    return &fake.blocks;
}

const struct cuda_driver *gpu_driver(const struct gpu *gpu)
{
    (void)gpu;
    return &fake.driver;
}

struct CUstream_st *gpu_stream(const struct gpu *gpu)
{
    (void)gpu;
    return NULL;
}

bool gpu_is_lost(const struct gpu *gpu)
{
    (void)gpu;
    return false;
}

int gpu_enter(const struct gpu *gpu, struct error *error)
{
    (void)gpu, (void)error;
    return 0;
}

int gpu_kernel(const struct gpu *gpu, const char *name, struct error *error,
               struct CUfunc_st **ret_kernel)
{
    (void)gpu, (void)name, (void)error;
    *ret_kernel = NULL;
    return 0;
}

int gpu_block_check(const struct gpu *gpu, struct CUfunc_st *function, struct config_block block,
                    struct error *error)
{
    (void)gpu, (void)function;
    (void)block, (void)error;
    return 0;
}

static int launch(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  struct CUstream_st *stream, void **parameters, void **extra)
{
    const struct parameters *p = parameters[0];

    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)extra;
    if (block_x == fake.refused_threads) {
        return REFUSED;
    }
    assert_true(fake.launches < 16);
    fake.numbers[fake.launches++] = p->number;
    return fake.launch;
}

static int occupancy(int *blocks, struct CUfunc_st *function, int threads, size_t shared_bytes)
{
    (void)function, (void)shared_bytes;
    *blocks = 2048 / threads;
    return CUDA_SUCCESS;
}

static int error_name(int result, const char **name)
{
    *name = result == REFUSED ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : "CUDA_ERROR_ILLEGAL_ADDRESS";
    return CUDA_SUCCESS;
}

static int error_string(int result, const char **text)
{
    *text = result == REFUSED ? "too many resources" : "an illegal memory access";
    return CUDA_SUCCESS;
}

static int graph_create(struct CUgraph_st **graph, unsigned flags)
{
    (void)flags;
    fake.created++;
    if (fake.create == CUDA_SUCCESS) {
        *graph = (struct CUgraph_st *)&fake;
        fake.graphs++;
    }
    return fake.create;
}

static int graph_destroy(struct CUgraph_st *graph)
{
    assert_ptr_equal(graph, &fake);
    fake.graphs--;
    return CUDA_SUCCESS;
}

static int graph_add_kernel(struct CUgraphNode_st **node, struct CUgraph_st *graph,
                            struct CUgraphNode_st *const *after, size_t after_count,
                            const struct cuda_kernel_node *made)
{
    (void)graph;
    assert_int_equal(after_count, fake.added % 2); // each picture here has two
    if (after_count > 0) {
        assert_ptr_equal(*after, &fake.numbers[0]);
    }
    assert_non_null(made->parameters);
    *node = (struct CUgraphNode_st *)&fake.numbers[fake.added++ % 2];
    return fake.add;
}

static int graph_instantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
                             unsigned long long flags)
{
    (void)graph, (void)flags;
    fake.instantiated++;
    if (fake.instantiate == CUDA_SUCCESS) {
        *exec = (struct CUgraphExec_st *)&fake;
        fake.execs++;
    }
    return fake.instantiate;
}

static int graph_set_kernel(struct CUgraphExec_st *exec, struct CUgraphNode_st *node,
                            const struct cuda_kernel_node *made)
{
    (void)exec, (void)node;
    fake.sets++;
    fake.updated = ((const struct parameters *)made->parameters[0])->number;
    return fake.set;
}

static int graph_launch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
    (void)exec, (void)stream;
    fake.replays++;
    return fake.replay;
}

static int graph_exec_destroy(struct CUgraphExec_st *exec)
{
    assert_ptr_equal(exec, &fake);
    fake.execs--;
    return CUDA_SUCCESS;
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.info = (struct gpu_info){.multiprocessor_threads = 2048};
    fake.driver = (struct cuda_driver){.launch = launch,
                                       .occupancy = occupancy,
                                       .error_name = error_name,
                                       .error_string = error_string,
                                       .graph_create = graph_create,
                                       .graph_destroy = graph_destroy,
                                       .graph_add_kernel = graph_add_kernel,
                                       .graph_instantiate = graph_instantiate,
                                       .graph_set_kernel = graph_set_kernel,
                                       .graph_launch = graph_launch,
                                       .graph_exec_destroy = graph_exec_destroy};
    assert_int_equal(gpu_kernel_init(&kernel, NULL, CONFIG_KERNEL_CANNY, "canny_planar",
                                     (struct gpu_tile){4, 6}, 64, NULL),
                     0);
    gpu_kernel_join(&kernel);
    return 0;
}

static struct gpu_chain *make(void)
{
    struct gpu_chain *chain = NULL;

    assert_int_equal(gpu_chain_new(NULL, true, NULL, &chain), 0);
    return chain;
}

static void finish(struct gpu_chain *chain)
{
    gpu_chain_free(chain);
    assert_int_equal(fake.graphs, 0);
    assert_int_equal(fake.execs, 0);
}

// A picture of two launches, with these numbers as parameters.
static int run(struct gpu_chain *chain, unsigned first, unsigned second, struct error *error)
{
    struct parameters parameters[] = {{.job = {.width = 640, .height = 480}, .number = first},
                                      {.number = second}};
    int r;

    gpu_chain_begin(chain);
    r = gpu_chain_add(chain, &kernel, &parameters[0].job, sizeof parameters[0], error);
    r = r < 0 ? r
              : gpu_chain_add_fixed(chain, NULL, (struct gpu_grid){3, 2, 1}, 256, &parameters[1],
                                    sizeof parameters[1], error);
    return r < 0 ? r : gpu_chain_end(chain, error);
}

static void set_block(int x, int y)
{
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {[CONFIG_KERNEL_CANNY] = {x, y, 0}};

    gpu_set_blocks(NULL, blocks);
}

TEST(test_the_first_picture_is_launched_and_all_others_replay_its_graph, setup)
{
    struct gpu_chain *chain = make();

    for (int i = 0; i < 5; i++) {
        assert_int_equal(run(chain, 1, 2, NULL), 0);
    }
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.instantiated, 1);
    assert_int_equal(fake.replays, 4);
    assert_int_equal(fake.sets, 0);
    finish(chain);
}

TEST(test_only_a_node_whose_parameters_changed_is_told, setup)
{
    struct gpu_chain *chain = make();

    run(chain, 1, 2, NULL);
    run(chain, 1, 3, NULL);
    assert_int_equal(fake.sets, 1);
    assert_int_equal(fake.updated, 3);
    run(chain, 1, 3, NULL);
    assert_int_equal(fake.sets, 1);
    assert_int_equal(fake.instantiated, 1);
    finish(chain);
}

TEST(test_another_block_is_launched_and_makes_another_graph, setup)
{
    struct gpu_chain *chain = make();

    run(chain, 1, 2, NULL);
    set_block(64, 2);
    run(chain, 1, 2, NULL);
    assert_int_equal(fake.launches, 4);
    assert_int_equal(fake.instantiated, 2);
    assert_int_equal(fake.graphs, 1);
    run(chain, 1, 2, NULL);
    assert_int_equal(fake.replays, 1);
    finish(chain);
}

TEST(test_a_refused_block_falls_back_and_is_told, setup)
{
    struct gpu_chain *chain = make();
    struct error why = {0};

    run(chain, 1, 2, NULL);
    fake.refused_threads = 512;
    set_block(512, 2);
    assert_int_equal(run(chain, 1, 2, NULL), 0);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_non_null(strstr(why.text, "512"));
    assert_int_equal(fake.launches, 4);
    assert_int_equal(run(chain, 1, 2, NULL), 0);
    assert_int_equal(fake.replays, 1);
    assert_int_equal(fake.blocks.complaint_count, fake.blocks.complaints_taken);
    finish(chain);
}

TEST(test_a_driver_that_lacks_any_graph_function_launches_each_kernel, setup)
{
#define WITHOUT(member)                                                                            \
    {                                                                                              \
        struct gpu_chain *chain;                                                                   \
                                                                                                   \
        setup(NULL);                                                                               \
        fake.driver.member = NULL;                                                                 \
        chain = make();                                                                            \
        run(chain, 1, 2, NULL);                                                                    \
        assert_int_equal(run(chain, 3, 4, NULL), 0);                                               \
        assert_int_equal(fake.launches, 4);                                                        \
        assert_int_equal(fake.numbers[3], 4);                                                      \
        assert_int_equal(fake.created, 0);                                                         \
        assert_int_equal(fake.blocks.complaint_count, fake.blocks.complaints_taken);               \
        finish(chain);                                                                             \
    }
    WITHOUT(graph_create)
    WITHOUT(graph_destroy)
    WITHOUT(graph_add_kernel)
    WITHOUT(graph_instantiate)
    WITHOUT(graph_set_kernel)
    WITHOUT(graph_launch)
    WITHOUT(graph_exec_destroy)
#undef WITHOUT
}

// Two pictures after `*result` is set to fail, with one warning and nothing lost.
static void check_gives_up(struct gpu_chain *chain, int *result, unsigned launches)
{
    struct error text = {0};

    *result = FAULTY;
    assert_int_equal(run(chain, 5, 6, NULL), 0);
    assert_true(gpu_take_complaint(NULL, &text));
    assert_non_null(strstr(text.text, "CUDA graphs fail"));
    assert_non_null(strstr(text.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(run(chain, 7, 8, NULL), 0);
    assert_false(gpu_take_complaint(NULL, &text));
    assert_int_equal(fake.launches, launches + 4);
    assert_int_equal(fake.numbers[launches], 5);
    assert_int_equal(fake.numbers[launches + 3], 8);
    finish(chain);
}

TEST(test_a_graph_that_cannot_be_built_leaves_launches_and_one_warning, setup)
{
    int *const results[] = {&fake.create, &fake.add, &fake.instantiate};

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        setup(NULL);
        check_gives_up(make(), results[i], 0);
    }
}

TEST(test_a_graph_that_cannot_be_replayed_leaves_launches_and_one_warning, setup)
{
    int *const results[] = {&fake.set, &fake.replay};

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        struct gpu_chain *chain;

        setup(NULL);
        chain = make();
        run(chain, 1, 2, NULL);
        check_gives_up(chain, results[i], 2);
    }
}

TEST(test_what_a_launch_says_is_passed_on, setup)
{
    struct gpu_chain *chain = make();
    struct error error = {0};

    fake.launch = FAULTY;
    assert_int_equal(run(chain, 1, 2, &error), -EIO);
    assert_non_null(strstr(error.text, "an illegal memory access"));
    assert_int_equal(fake.created, 0);
    finish(chain);
}

RUN_TESTS(NULL, NULL)
