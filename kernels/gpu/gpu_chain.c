#include "kernels/gpu/gpu_chain.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

// A launch in all its parts.
struct launch {
    struct CUfunc_st *function;
    struct gpu_grid grid;
    unsigned threads_x, threads_y;
    size_t size;
    uint8_t parameters[GPU_CHAIN_PARAMETERS_MAX];
};

struct gpu_chain {
    struct gpu *gpu;                                // not owned
    bool graphs;                                    // are tried
    struct launch launches[GPU_CHAIN_LAUNCHES_MAX]; // of this picture
    unsigned count;
    bool queued; // this picture's launches are, one by one as they are added
    // The graph, if there is one, and what its nodes launch.
    struct CUgraph_st *graph;    // owned
    struct CUgraphExec_st *exec; // owned
    struct CUgraphNode_st *nodes[GPU_CHAIN_LAUNCHES_MAX];
    struct launch built[GPU_CHAIN_LAUNCHES_MAX];
    unsigned built_count;
};

int gpu_chain_new(struct gpu *gpu, bool graphs, struct error *error, struct gpu_chain **ret_chain)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    struct gpu_chain *chain = calloc(1, sizeof *chain);

    if (!chain)
        return error_set(error, -ENOMEM, "no memory for a chain of kernels");
    chain->gpu = gpu;
    chain->graphs = graphs && driver->graph_create && driver->graph_destroy &&
                    driver->graph_add_kernel && driver->graph_instantiate &&
                    driver->graph_set_kernel && driver->graph_launch && driver->graph_exec_destroy;
    *ret_chain = chain;
    return 0;
}

static void drop_graph(struct gpu_chain *chain)
{
    const struct cuda_driver *driver = gpu_driver(chain->gpu);

    if (chain->exec)
        driver->graph_exec_destroy(chain->exec);
    if (chain->graph)
        driver->graph_destroy(chain->graph);
    chain->exec = NULL;
    chain->graph = NULL;
    chain->built_count = 0;
}

void gpu_chain_free(struct gpu_chain *chain)
{
    if (chain) {
        if ((chain->exec || chain->graph) && !gpu_is_lost(chain->gpu)) {
            gpu_enter(chain->gpu, NULL); // if it cannot be, the context may be current already
            drop_graph(chain);
        }
        free(chain);
    }
}

static void give_up(struct gpu_chain *chain, int result, const char *doing)
{
    struct error warning;

    cuda_driver_check(gpu_driver(chain->gpu), result, doing, &warning);
    error_prefix(&warning, 0, "CUDA graphs fail, launching kernels one by one");
    gpu_complain(chain->gpu, &warning);
    chain->graphs = false;
    drop_graph(chain);
}

static struct cuda_kernel_node node_of(const struct launch *launch, void **parameters)
{
    return (struct cuda_kernel_node){
        .function = launch->function,
        .grid_x = launch->grid.x,
        .grid_y = launch->grid.y,
        .grid_z = launch->grid.z,
        .block_x = launch->threads_x,
        .block_y = launch->threads_y,
        .block_z = 1,
        .parameters = parameters,
    };
}

static int queue(const struct gpu_chain *chain, struct launch *launch, struct error *error)
{
    return gpu_launch(chain->gpu, launch->function, launch->grid, launch->threads_x,
                      launch->threads_y, launch->parameters, error);
}

// From now on this picture's launches are queued one by one, those that wait for the graph first.
static int leave_graph(struct gpu_chain *chain, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < chain->count && !chain->queued && r == 0; i++)
        r = queue(chain, &chain->launches[i], error);
    chain->queued = true;
    return r;
}

static int build_graph(struct gpu_chain *chain)
{
    const struct cuda_driver *driver = gpu_driver(chain->gpu);
    int result = driver->graph_create(&chain->graph, 0);

    for (unsigned i = 0; i < chain->count && result == CUDA_SUCCESS; i++) {
        const struct cuda_kernel_node node =
            node_of(&chain->launches[i], (void *[]){chain->launches[i].parameters});

        result = driver->graph_add_kernel(&chain->nodes[i], chain->graph,
                                          i > 0 ? &chain->nodes[i - 1] : NULL, i > 0, &node);
    }
    if (result == CUDA_SUCCESS)
        result = driver->graph_instantiate(&chain->exec, chain->graph, 0);
    if (result == CUDA_SUCCESS) {
        memcpy(chain->built, chain->launches, chain->count * sizeof chain->launches[0]);
        chain->built_count = chain->count;
    }
    return result;
}

static int replay_graph(struct gpu_chain *chain)
{
    const struct cuda_driver *driver = gpu_driver(chain->gpu);

    for (unsigned i = 0; i < chain->count; i++) {
        struct launch *launch = &chain->launches[i], *built = &chain->built[i];

        if (memcmp(launch->parameters, built->parameters, launch->size) != 0) {
            const struct cuda_kernel_node node = node_of(launch, (void *[]){launch->parameters});
            int result = driver->graph_set_kernel(chain->exec, chain->nodes[i], &node);

            if (result != CUDA_SUCCESS)
                return result;
            memcpy(built->parameters, launch->parameters, launch->size);
        }
    }
    return driver->graph_launch(chain->exec, gpu_stream(chain->gpu));
}

void gpu_chain_begin(struct gpu_chain *chain)
{
    chain->count = 0;
    chain->queued = !chain->exec;
}

// The next place, with what does not depend on the picture's size.
static struct launch *next_launch(struct gpu_chain *chain, struct CUfunc_st *function, size_t size)
{
    struct launch *launch = &chain->launches[chain->count];

    assert(chain->count < GPU_CHAIN_LAUNCHES_MAX && size <= GPU_CHAIN_PARAMETERS_MAX);
    launch->function = function;
    launch->size = size;
    return launch;
}

// Whether this launch is the graph's next one, all launches before it being the graph's, too.
static bool is_next(const struct gpu_chain *chain, const struct launch *launch)
{
    const struct launch *built = &chain->built[chain->count];

    return !chain->queued && chain->count < chain->built_count &&
           launch->function == built->function && launch->grid.x == built->grid.x &&
           launch->grid.y == built->grid.y && launch->grid.z == built->grid.z &&
           launch->threads_x == built->threads_x && launch->threads_y == built->threads_y &&
           launch->size == built->size;
}

static bool arrange(struct launch *launch, const struct gpu_kernel *kernel, struct gpu_job *job)
{
    bool taken = gpu_kernel_arrange(kernel, job, &launch->grid);

    launch->threads_x = (unsigned)kernel->block.x;
    launch->threads_y = (unsigned)kernel->block.y;
    memcpy(launch->parameters, job, launch->size); // with the rows
    return taken;
}

int gpu_chain_add(struct gpu_chain *chain, struct gpu_kernel *kernel, struct gpu_job *job,
                  size_t size, struct error *error)
{
    struct launch *launch = next_launch(chain, kernel->function, size);
    bool taken = arrange(launch, kernel, job);
    int r = 0;

    if (!taken || !is_next(chain, launch)) {
        r = leave_graph(chain, error);
        r = r < 0 ? r : gpu_kernel_launch(kernel, job, error);
        arrange(launch, kernel, job); // it may have another block now
    }
    chain->count++;
    return r;
}

int gpu_chain_add_fixed(struct gpu_chain *chain, struct CUfunc_st *function, struct gpu_grid grid,
                        unsigned threads, void *parameters, size_t size, struct error *error)
{
    struct launch *launch = next_launch(chain, function, size);
    int r = 0;

    launch->grid = grid;
    launch->threads_x = threads;
    launch->threads_y = 1;
    memcpy(launch->parameters, parameters, size);
    if (!is_next(chain, launch)) {
        r = leave_graph(chain, error);
        r = r < 0 ? r : queue(chain, launch, error);
    }
    chain->count++;
    return r;
}

int gpu_chain_end(struct gpu_chain *chain, struct error *error)
{
    int result, r;

    if (!chain->queued && chain->count == chain->built_count) {
        result = replay_graph(chain);
        if (result == CUDA_SUCCESS)
            return 0;
        give_up(chain, result, "launching");
    }
    r = leave_graph(chain, error);
    if (r == 0 && chain->graphs && chain->count > 1) {
        drop_graph(chain);
        result = build_graph(chain);
        if (result != CUDA_SUCCESS)
            give_up(chain, result, "building");
    }
    return r;
}
