// Kernels, blocks and pictures of several launches, on a driver of this test's own: it takes or
// refuses launches as told, builds and replays graphs, and writes down what it was asked for.
#include "tests/unit/unit.h"

#include "kernels/gpu/gpu_chain.c"
#include "kernels/gpu/gpu_kernel.c"

#define REFUSED 701
#define FAULTY 700
#define LAUNCHES_MAX 16

// The parameters of this test's kernel.
struct parameters {
    struct gpu_job job;
    uint32_t number;
};

static struct {
    struct gpu_info info;
    struct gpu_blocks blocks;
    struct cuda_driver driver;
    int results[LAUNCHES_MAX]; // of launches to come
    struct {
        struct gpu_grid grid;
        struct config_block block;
        struct parameters parameters;
    } launches[LAUNCHES_MAX];
    unsigned count;
    // Of graphs: results to come, what was called, and the number that the last node was given.
    int create, add, instantiate, set, replay;
    unsigned created, added, instantiated, sets, replays, graphs, execs, updated;
    unsigned nodes[2];
} fake;

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
    (void)gpu;
    *ret_kernel = NULL;
    return strcmp(name, "gradient_planar_l2_full") == 0 ? 0
                                                        : error_set(error, -ENOENT, "no kernel");
}

int gpu_block_check(const struct gpu *gpu, struct CUfunc_st *kernel, struct config_block block,
                    struct error *error)
{
    (void)gpu;
    (void)kernel;
    return block.x * block.y <= 1024 ? 0 : error_set(error, -EINVAL, "at most 1024 threads");
}

static int launch(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  struct CUstream_st *stream, void **parameters, void **extra)
{
    unsigned i = fake.count++;

    (void)function;
    (void)shared_bytes;
    (void)stream;
    assert_true(i < LAUNCHES_MAX);
    assert_int_equal(block_z, 1);
    assert_null(extra);
    fake.launches[i].grid = (struct gpu_grid){grid_x, grid_y, grid_z};
    fake.launches[i].block = (struct config_block){(int)block_x, (int)block_y, 0};
    fake.launches[i].parameters = *(const struct parameters *)parameters[0];
    return fake.results[i];
}

// A multiprocessor of 2048 threads in at most 32 blocks.
static int occupancy(int *blocks, struct CUfunc_st *function, int threads, size_t shared_bytes)
{
    (void)function;
    (void)shared_bytes;
    *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
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
    if (after_count > 0)
        assert_ptr_equal(*after, &fake.nodes[0]);
    assert_non_null(made->parameters);
    *node = (struct CUgraphNode_st *)&fake.nodes[fake.added++ % 2];
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

static int make(struct gpu_kernel *kernel)
{
    int r = gpu_kernel_init(kernel, NULL, CONFIG_KERNEL_GRADIENT, "gradient_planar_l2_full",
                            (struct gpu_tile){8, 4}, 1920, NULL);

    if (r == 0)
        gpu_kernel_join(kernel);
    return r;
}

static int setup(void **state)
{
    static struct gpu_kernel kernel;

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
    *state = &kernel;
    return make(&kernel);
}

static int run(struct gpu_kernel *kernel, struct error *error)
{
    struct parameters parameters = {{.width = 1920, .height = 1080}, 4711};

    return gpu_kernel_launch(kernel, &parameters.job, error);
}

static void set_rows(int x, int y, int rows)
{
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {
        [CONFIG_KERNEL_GRADIENT] = {x, y, rows}};

    gpu_set_blocks(NULL, blocks);
}

static void set(int x, int y)
{
    set_rows(x, y, 0);
}

static void assert_no_complaint(void)
{
    struct error text;

    assert_false(gpu_take_complaint(NULL, &text));
}

static void assert_launched(unsigned i, int x, int y)
{
    assert_true(i < fake.count);
    assert_int_equal(fake.launches[i].block.x, x);
    assert_int_equal(fake.launches[i].block.y, y);
    assert_int_equal(fake.launches[i].parameters.number, 4711);
}

TEST(test_a_launch_covers_the_picture_in_the_gpus_own_block, setup)
{
    struct gpu_kernel integrated;

    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 128, 1);
    assert_int_equal(fake.launches[0].grid.x, 2); // 240 tiles
    assert_int_equal(fake.launches[0].grid.y, 270);
    assert_int_equal(fake.launches[0].grid.z, 1);
    fake.info.integrated = true;
    assert_int_equal(make(&integrated), 0);
    assert_int_equal(run(&integrated, NULL), 0);
    assert_launched(1, 32, 8);
    gpu_kernel_leave(&integrated);
    assert_int_equal(gpu_kernel_init(&integrated, NULL, CONFIG_KERNEL_GRADIENT, "gradient_no",
                                     (struct gpu_tile){8, 4}, 1920, NULL),
                     -ENOENT);
}

TEST(test_the_gpus_own_block_is_as_wide_as_fits_the_picture, setup)
{
    static const struct {
        uint32_t width;
        int x, y;
    } cases[] = {{7680, 64, 2}, {3840, 32, 4},  {1920, 128, 1}, {1280, 32, 4},
                 {1025, 32, 4}, {1024, 128, 1}, {512, 64, 2},   {1, 32, 4}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct gpu_kernel kernel;

        assert_int_equal(gpu_kernel_init(&kernel, NULL, CONFIG_KERNEL_GRADIENT,
                                         "gradient_planar_l2_full", (struct gpu_tile){8, 4},
                                         cases[i].width, NULL),
                         0);
        assert_int_equal(kernel.block.x, cases[i].x);
        assert_int_equal(kernel.block.y, cases[i].y);
        assert_int_equal(kernel.block.rows, 4);
    }
}

TEST(test_a_refusal_that_no_other_block_cures_is_an_error, setup)
{
    struct error error = {0};

    fake.results[0] = REFUSED;
    assert_int_equal(run(*state, &error), -EINVAL);
    assert_int_equal(fake.count, 1);
    assert_non_null(strstr(error.text, "gradient"));
    set(32, 32);
    fake.results[1] = fake.results[2] = REFUSED;
    assert_int_equal(run(*state, &error), -EINVAL);
    assert_int_equal(fake.count, 3);
}

TEST(test_a_lost_context_is_no_refusal, setup)
{
    set(32, 32);
    fake.results[0] = FAULTY;
    assert_int_equal(run(*state, NULL), -EIO);
    assert_int_equal(fake.count, 1);
    assert_no_complaint();
}

static int setup_rows(void **state)
{
    int r = setup(state);

    ((struct gpu_kernel *)*state)->rows_vary = true;
    return r;
}

// The kernel is told the rows, and the grid is made for them.
static void assert_rows(unsigned i, unsigned rows, unsigned grid_x, unsigned grid_y)
{
    assert_true(i < fake.count);
    assert_int_equal(fake.launches[i].parameters.job.rows, rows);
    assert_int_equal(fake.launches[i].grid.x, grid_x);
    assert_int_equal(fake.launches[i].grid.y, grid_y);
}

TEST(test_rows_a_thread_change_with_the_next_launch_and_go_back_to_the_gpus_own, setup_rows)
{
    set_rows(32, 8, 16);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(0, 0, 2);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(0, 0, 0);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 32, 8);
    assert_rows(0, 16, 8, 9); // 240 tiles in blocks of 32, 68 tiles of 16 rows in blocks of 8
    assert_launched(1, 128, 1);
    assert_rows(1, 2, 2, 540);
    assert_launched(2, 128, 1);
    assert_rows(2, 4, 2, 270);
    assert_no_complaint();
}

TEST(test_a_kernel_without_the_choice_keeps_its_rows, setup)
{
    set_rows(128, 1, 16);
    assert_int_equal(run(*state, NULL), 0);
    assert_rows(0, 4, 2, 270);
}

TEST(test_rows_are_rolled_back_together_with_the_block, setup_rows)
{
    struct error why = {0};

    set_rows(64, 4, 2);
    assert_int_equal(run(*state, NULL), 0);
    set_rows(32, 32, 8);
    fake.results[1] = REFUSED;
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(1, 32, 32);
    assert_rows(1, 8, 8, 5);
    assert_launched(2, 64, 4);
    assert_rows(2, 2, 4, 135);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_non_null(strstr(why.text, "kernels.gradient.block = [32, 32] with rows = 8, back to "
                                     "[64, 4] with rows = 2: the launch was refused: "));
    set_rows(64, 4, 32);
    fake.results[3] = REFUSED;
    assert_int_equal(run(*state, NULL), 0);
    assert_rows(3, 32, 4, 9);
    assert_rows(4, 2, 4, 135);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_non_null(strstr(why.text, "kernels.gradient.rows = 32, back to 2: "));
}

TEST(test_rows_stay_when_a_block_is_illegal, setup_rows)
{
    set_rows(64, 2, 8);
    set_rows(64, 32, 16);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 64, 2);
    assert_rows(0, 8, 4, 68);
}

TEST(test_a_block_changes_with_the_next_launch_and_goes_back_to_the_gpus_own, setup)
{
    set(32, 8);
    assert_int_equal(run(*state, NULL), 0);
    set(0, 0);
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(0, 32, 8);
    assert_launched(1, 128, 1);
    assert_no_complaint();
}

TEST(test_a_first_block_that_is_refused_gives_way_to_the_gpus_own, setup)
{
    struct error why;

    set(32, 32);
    fake.results[0] = 1;
    assert_int_equal(run(*state, NULL), 0);
    assert_launched(1, 128, 1);
    assert_true(gpu_take_complaint(NULL, &why));
}

TEST(test_a_kernel_that_joins_later_has_the_block_of_its_group, setup)
{
    struct gpu_kernel later;

    set(64, 2);
    assert_int_equal(make(&later), 0);
    assert_int_equal(run(&later, NULL), 0);
    assert_launched(0, 64, 2);
    gpu_kernel_leave(&later);
    set(32, 2);
    assert_int_equal(later.block.x, 64);
    assert_no_complaint();
}

TEST(test_a_kernel_that_joins_an_illegal_block_keeps_the_gpus_own, setup)
{
    struct gpu_kernel later;
    struct error text = {0};

    gpu_kernel_leave(*state);
    set(64, 32);
    for (int i = 0; i < 2; i++) { // told once
        assert_int_equal(make(&later), 0);
        assert_int_equal(run(&later, NULL), 0);
        assert_launched((unsigned)i, 128, 1);
        gpu_kernel_leave(&later);
    }
    assert_true(gpu_take_complaint(NULL, &text));
    assert_string_equal(text.text, "kernels.gradient.block = [64, 32]: at most 1024 threads, "
                                   "using the one chosen for this GPU");
    assert_no_complaint();
}

TEST(test_a_kernel_that_joins_after_a_refusal_has_the_block_before, setup)
{
    struct gpu_kernel later;

    set(64, 4);
    assert_int_equal(run(*state, NULL), 0);
    set(32, 32);
    fake.results[1] = REFUSED;
    assert_int_equal(run(*state, NULL), 0);
    assert_int_equal(make(&later), 0);
    assert_int_equal(run(&later, NULL), 0);
    assert_launched(3, 64, 4);
    gpu_kernel_leave(&later);
}

static struct gpu_chain *make_chain(void)
{
    struct gpu_chain *chain = NULL;

    assert_int_equal(gpu_chain_new(NULL, true, NULL, &chain), 0);
    return chain;
}

static void finish_chain(struct gpu_chain *chain)
{
    gpu_chain_free(chain);
    assert_int_equal(fake.graphs, 0);
    assert_int_equal(fake.execs, 0);
}

// A picture of two launches, with these numbers as parameters.
static int run_chain(struct gpu_chain *chain, void **kernel, unsigned first, unsigned second,
                     struct error *error)
{
    struct parameters parameters[] = {{.job = {.width = 640, .height = 480}, .number = first},
                                      {.number = second}};
    int r;

    gpu_chain_begin(chain);
    r = gpu_chain_add(chain, *kernel, &parameters[0].job, sizeof parameters[0], error);
    r = r < 0 ? r
              : gpu_chain_add_fixed(chain, NULL, (struct gpu_grid){3, 2, 1}, 256, &parameters[1],
                                    sizeof parameters[1], error);
    return r < 0 ? r : gpu_chain_end(chain, error);
}

TEST(test_the_first_picture_is_launched_and_all_others_replay_its_graph, setup)
{
    struct gpu_chain *chain = make_chain();

    for (int i = 0; i < 5; i++)
        assert_int_equal(run_chain(chain, state, 1, 2, NULL), 0);
    assert_int_equal(fake.count, 2);
    assert_int_equal(fake.instantiated, 1);
    assert_int_equal(fake.replays, 4);
    assert_int_equal(fake.sets, 0);
    finish_chain(chain);
}

TEST(test_only_a_node_whose_parameters_changed_is_told, setup)
{
    struct gpu_chain *chain = make_chain();

    run_chain(chain, state, 1, 2, NULL);
    run_chain(chain, state, 1, 3, NULL);
    assert_int_equal(fake.sets, 1);
    assert_int_equal(fake.updated, 3);
    run_chain(chain, state, 1, 3, NULL);
    assert_int_equal(fake.sets, 1);
    assert_int_equal(fake.instantiated, 1);
    finish_chain(chain);
}

TEST(test_another_block_is_launched_and_makes_another_graph, setup)
{
    struct gpu_chain *chain = make_chain();

    run_chain(chain, state, 1, 2, NULL);
    set(64, 2);
    run_chain(chain, state, 1, 2, NULL);
    assert_int_equal(fake.count, 4);
    assert_int_equal(fake.instantiated, 2);
    assert_int_equal(fake.graphs, 1);
    run_chain(chain, state, 1, 2, NULL);
    assert_int_equal(fake.replays, 1);
    finish_chain(chain);
}

TEST(test_a_refused_block_falls_back_and_is_told, setup)
{
    struct gpu_chain *chain = make_chain();
    struct error why = {0};

    run_chain(chain, state, 1, 2, NULL);
    fake.results[2] = REFUSED;
    set(512, 2);
    assert_int_equal(run_chain(chain, state, 1, 2, NULL), 0);
    assert_true(gpu_take_complaint(NULL, &why));
    assert_string_equal(why.text,
                        "kernels.gradient.block = [512, 2], back to [128, 1]: the launch was "
                        "refused: too many resources (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)");
    assert_int_equal(fake.count, 5);
    assert_int_equal(run_chain(chain, state, 1, 2, NULL), 0);
    assert_int_equal(fake.replays, 1);
    assert_int_equal(fake.blocks.complaint_count, fake.blocks.complaints_taken);
    finish_chain(chain);
}

TEST(test_a_driver_that_lacks_any_graph_function_launches_each_kernel, setup)
{
#define WITHOUT(member)                                                                            \
    {                                                                                              \
        struct gpu_chain *chain;                                                                   \
                                                                                                   \
        setup(state);                                                                              \
        fake.driver.member = NULL;                                                                 \
        chain = make_chain();                                                                      \
        run_chain(chain, state, 1, 2, NULL);                                                       \
        assert_int_equal(run_chain(chain, state, 3, 4, NULL), 0);                                  \
        assert_int_equal(fake.count, 4);                                                           \
        assert_int_equal(fake.launches[3].parameters.number, 4);                                   \
        assert_int_equal(fake.created, 0);                                                         \
        assert_int_equal(fake.blocks.complaint_count, fake.blocks.complaints_taken);               \
        finish_chain(chain);                                                                       \
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
static void check_gives_up(struct gpu_chain *chain, void **state, int *result, unsigned launches)
{
    struct error text = {0};

    *result = FAULTY;
    assert_int_equal(run_chain(chain, state, 5, 6, NULL), 0);
    assert_true(gpu_take_complaint(NULL, &text));
    assert_non_null(strstr(text.text, "CUDA graphs fail"));
    assert_non_null(strstr(text.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(run_chain(chain, state, 7, 8, NULL), 0);
    assert_false(gpu_take_complaint(NULL, &text));
    assert_int_equal(fake.count, launches + 4);
    assert_int_equal(fake.launches[launches].parameters.number, 5);
    assert_int_equal(fake.launches[launches + 3].parameters.number, 8);
    finish_chain(chain);
}

TEST(test_a_graph_that_cannot_be_built_leaves_launches_and_one_warning, setup)
{
    int *const results[] = {&fake.create, &fake.add, &fake.instantiate};

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        setup(state);
        check_gives_up(make_chain(), state, results[i], 0);
    }
}

TEST(test_a_graph_that_cannot_be_replayed_leaves_launches_and_one_warning, setup)
{
    int *const results[] = {&fake.set, &fake.replay};

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        struct gpu_chain *chain;

        setup(state);
        chain = make_chain();
        run_chain(chain, state, 1, 2, NULL);
        check_gives_up(chain, state, results[i], 2);
    }
}

TEST(test_what_a_launch_says_is_passed_on, setup)
{
    struct gpu_chain *chain = make_chain();
    struct error error = {0};

    fake.results[0] = FAULTY;
    assert_int_equal(run_chain(chain, state, 1, 2, &error), -EIO);
    assert_non_null(strstr(error.text, "an illegal memory access"));
    assert_int_equal(fake.created, 0);
    finish_chain(chain);
}

RUN_TESTS(NULL, NULL)
