#include "tests/fakes/cuda/graph.h"

#include "tests/fakes/cuda/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 64

struct CUgraphNode_st {
    struct CUfunc_st *function;
    struct geometry geometry;
    uint8_t parameters[KERNEL_PARAMETER_BYTES];
};

// Nodes one after the other: edged's graphs are chains.
struct CUgraph_st {
    struct CUgraph_st *next; // in the list of all
    struct CUgraphNode_st nodes[NODES_MAX];
    unsigned count;
};

// Nodes have the places they have in the graph, which may be gone by then.
struct CUgraphExec_st {
    struct CUgraphExec_st *next; // in the list of all
    const struct CUgraph_st *of;
    struct CUgraphNode_st nodes[NODES_MAX];
    unsigned count;
};

static struct CUgraph_st *graphs;
static struct CUgraphExec_st *execs;

static struct CUgraph_st **find_graph(const struct CUgraph_st *graph)
{
    struct CUgraph_st **at = &graphs;

    while (*at && *at != graph)
        at = &(*at)->next;
    return *at ? at : NULL;
}

static struct CUgraphExec_st **find_exec(const struct CUgraphExec_st *exec)
{
    struct CUgraphExec_st **at = &execs;

    while (*at && *at != exec)
        at = &(*at)->next;
    return *at ? at : NULL;
}

unsigned graphs_leaks(void)
{
    unsigned leaks = 0;

    for (const struct CUgraph_st *graph = graphs; graph; graph = graph->next) {
        fprintf(stderr, "fake_cuda: leaked: a graph\n");
        leaks++;
    }
    for (const struct CUgraphExec_st *exec = execs; exec; exec = exec->next) {
        fprintf(stderr, "fake_cuda: leaked: an instantiated graph\n");
        leaks++;
    }
    return leaks;
}

void graphs_forget(void)
{
    while (graphs) {
        struct CUgraph_st *graph = graphs;

        graphs = graph->next;
        free(graph);
    }
    while (execs) {
        struct CUgraphExec_st *exec = execs;

        execs = exec->next;
        free(exec);
    }
}

int cuGraphCreate(struct CUgraph_st **ret_graph, unsigned flags)
{
    int r = call_begin(CALL_cuGraphCreate);
    struct CUgraph_st *graph = r == 0 && flags == 0 ? calloc(1, sizeof *graph) : NULL;

    if (r == 0 && flags != 0) {
        r = RESULT_INVALID_VALUE;
    } else if (graph) {
        graph->next = graphs;
        graphs = graph;
        *ret_graph = graph;
    } else if (r == 0) {
        r = RESULT_OUT_OF_MEMORY;
    }
    return call_end(r);
}

int cuGraphDestroy(struct CUgraph_st *graph)
{
    int r = call_begin(CALL_cuGraphDestroy);
    struct CUgraph_st **at = find_graph(graph);

    if (r == 0 && !at) {
        r = RESULT_INVALID_VALUE;
    } else if ((r == 0 || call_was_told()) && at) {
        *at = graph->next;
        free(graph);
    }
    return call_end(r);
}

static int fill_node(struct CUgraphNode_st *node, const struct cuda_kernel_node *kernel)
{
    struct CUgraphNode_st filled = {
        .function = kernel->function,
        .geometry = {{kernel->grid_x, kernel->grid_y, kernel->grid_z},
                     {kernel->block_x, kernel->block_y, kernel->block_z}},
    };
    int r = kernel->shared_bytes > 0 || kernel->extra
                ? RESULT_INVALID_VALUE
                : module_prepare(kernel->function, &filled.geometry, kernel->parameters,
                                 filled.parameters);

    if (r == 0)
        *node = filled;
    return r;
}

int cuGraphAddKernelNode(struct CUgraphNode_st **ret_node, struct CUgraph_st *graph,
                         struct CUgraphNode_st *const *after, size_t after_count,
                         const struct cuda_kernel_node *kernel)
{
    int r = call_begin(CALL_cuGraphAddKernelNode);

    if (r == 0 &&
        (!find_graph(graph) || graph->count == NODES_MAX || after_count != (graph->count > 0) ||
         (after_count > 0 && *after != &graph->nodes[graph->count - 1]))) {
        r = RESULT_INVALID_VALUE;
    }
    r = r == 0 ? fill_node(&graph->nodes[graph->count], kernel) : r;
    if (r == 0)
        *ret_node = &graph->nodes[graph->count++];
    return call_end(r);
}

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **ret_exec, struct CUgraph_st *graph,
                                unsigned long long flags)
{
    int r = call_begin(CALL_cuGraphInstantiateWithFlags);
    struct CUgraphExec_st *exec = NULL;

    if (r == 0 && (!find_graph(graph) || flags != 0)) {
        r = RESULT_INVALID_VALUE;
    } else if (r == 0) {
        exec = calloc(1, sizeof *exec);
        r = exec ? 0 : RESULT_OUT_OF_MEMORY;
    }
    if (r == 0) {
        exec->of = graph;
        exec->count = graph->count;
        memcpy(exec->nodes, graph->nodes, sizeof exec->nodes);
        exec->next = execs;
        execs = exec;
        *ret_exec = exec;
    }
    return call_end(r);
}

int cuGraphExecKernelNodeSetParams(struct CUgraphExec_st *exec, struct CUgraphNode_st *node,
                                   const struct cuda_kernel_node *kernel)
{
    int r = call_begin(CALL_cuGraphExecKernelNodeSetParams);

    if (r == 0 && (!find_exec(exec) || !find_graph(exec->of) || node < exec->of->nodes ||
                   node >= exec->of->nodes + exec->count)) {
        r = RESULT_INVALID_VALUE;
    }
    return call_end(r == 0 ? fill_node(&exec->nodes[node - exec->of->nodes], kernel) : r);
}

int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuGraphLaunch);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;

    if (r == 0 && (!stream || !find_exec(exec)))
        r = RESULT_INVALID_HANDLE;
    for (unsigned i = 0; r == 0 && i < exec->count; i++) {
        const struct CUgraphNode_st *node = &exec->nodes[i];

        r = module_launch(node->function, &node->geometry, node->parameters, stream);
    }
    return call_end(r);
}

int cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
    int r = call_begin(CALL_cuGraphExecDestroy);
    struct CUgraphExec_st **at = find_exec(exec);

    if (r == 0 && !at) {
        r = RESULT_INVALID_VALUE;
    } else if ((r == 0 || call_was_told()) && at) {
        *at = exec->next;
        free(exec);
    }
    return call_end(r);
}
