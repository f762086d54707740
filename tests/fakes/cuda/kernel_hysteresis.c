// hysteresis.cu: the same tiles, borders and names, a pixel at a time.
#include "kernels/canny/hysteresis_cuda.h"

#include "tests/fakes/cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

#define TILE HYSTERESIS_CUDA_TILE
#define PLACES HYSTERESIS_CUDA_PLACES

// Where the buffers are.
struct hysteresis_at {
    const struct hysteresis_cuda *p;
    const uint8_t *marks;
    uint32_t *edges, *parents;
    struct hysteresis_cuda_border *borders;
    uint8_t *output;
};

// Rows of a tile.
struct tile {
    uint32_t rows[TILE];
};

static bool bit_of(const struct tile *tile, int x, int y)
{
    return x >= 0 && x < TILE && y >= 0 && y < TILE && tile->rows[y] >> x & 1;
}

static bool has_neighbour(const struct tile *tile, int x, int y)
{
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if ((dx || dy) && bit_of(tile, x + dx, y + dy)) {
                return true;
            }
        }
    }
    return false;
}

// All that `seed` reaches through `open`.
static void fill(struct tile *seed, const struct tile *open)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (int i = 0; i < TILE * TILE; i++) {
            int x = i % TILE, y = i / TILE;

            if (bit_of(open, x, y) && !bit_of(seed, x, y) && has_neighbour(seed, x, y)) {
                seed->rows[y] |= 1U << x;
                changed = true;
            }
        }
    }
}

// Bits of candidates (`shift` 0) or of strong ones (4).
static struct tile read_marks(const struct hysteresis_at *at, uint32_t tile_x, uint32_t tile_y,
                              unsigned shift)
{
    const struct hysteresis_cuda *p = at->p;
    struct tile tile = {0};

    for (uint32_t y = tile_y * TILE; y < p->height && y < (tile_y + 1) * TILE; y++) {
        for (uint32_t x = tile_x * TILE; x < p->width && x < (tile_x + 1) * TILE; x++) {
            uint32_t mark = at->marks[(size_t)y * p->marks_stride + x / 4] >> shift;

            tile.rows[y % TILE] |= (mark >> x % 4 & 1) << x % TILE;
        }
    }
    return tile;
}

static uint32_t *edges_of(const struct hysteresis_at *at, uint32_t tile_x, uint32_t y)
{
    return &at->edges[(size_t)y * at->p->tile_stride + tile_x];
}

static uint32_t place_of(int x, int y)
{
    if (y == 0 || y == TILE - 1) {
        return (uint32_t)((y == 0 ? 0 : TILE) + x);
    }
    return (uint32_t)((x == 0 ? 2 : 3) * TILE + y);
}

static bool is_border(int x, int y)
{
    return x == 0 || x == TILE - 1 || y == 0 || y == TILE - 1;
}

static void write_sides(const struct tile *tile, uint32_t sides[HYSTERESIS_SIDES])
{
    memset(sides, 0, HYSTERESIS_SIDES * sizeof *sides);
    sides[HYSTERESIS_TOP] = tile->rows[0];
    sides[HYSTERESIS_BOTTOM] = tile->rows[TILE - 1];
    for (int y = 0; y < TILE; y++) {
        sides[HYSTERESIS_LEFT] |= (uint32_t)bit_of(tile, 0, y) << y;
        sides[HYSTERESIS_RIGHT] |= (uint32_t)bit_of(tile, TILE - 1, y) << y;
    }
}

// A name for each open part at the border.
static void name_parts(const struct hysteresis_at *at, uint32_t number, struct tile open)
{
    uint32_t *names = at->parents + (size_t)(number + 1) * PLACES;

    for (int i = 0; i < TILE * TILE; i++) {
        int x = i % TILE, y = i / TILE;
        struct tile part = {0};

        if (!is_border(x, y) || !bit_of(&open, x, y)) {
            continue;
        }
        part.rows[y] = 1U << x;
        fill(&part, &open);
        for (int k = 0; k < TILE * TILE; k++) {
            if (is_border(k % TILE, k / TILE) && bit_of(&part, k % TILE, k / TILE)) {
                names[place_of(k % TILE, k / TILE)] = (number + 1) * PLACES + place_of(x, y);
            }
        }
        for (int k = 0; k < TILE; k++) {
            open.rows[k] &= ~part.rows[k];
        }
    }
}

static void fill_tile(const struct hysteresis_at *at, uint32_t tile_x, uint32_t tile_y)
{
    uint32_t number = tile_y * at->p->tiles_x + tile_x;
    struct tile open = read_marks(at, tile_x, tile_y, 0), edges = read_marks(at, tile_x, tile_y, 4);

    fill(&edges, &open);
    for (uint32_t y = 0; y < TILE; y++) {
        open.rows[y] &= ~edges.rows[y];
        if (tile_y * TILE + y < at->p->height) {
            *edges_of(at, tile_x, tile_y * TILE + y) = edges.rows[y];
        }
    }
    write_sides(&open, at->borders[number].open);
    write_sides(&edges, at->borders[number].edges);
    name_parts(at, number, open);
}

// Whether a pixel on the border of its tile is set there.
static bool side_bit(const uint32_t sides[HYSTERESIS_SIDES], int x, int y)
{
    if (y == 0 || y == TILE - 1) {
        return sides[y == 0 ? HYSTERESIS_TOP : HYSTERESIS_BOTTOM] >> x & 1;
    }
    return sides[x == 0 ? HYSTERESIS_LEFT : HYSTERESIS_RIGHT] >> y & 1;
}

static uint32_t root_of(const uint32_t *parents, uint32_t name)
{
    while (name != 0 && parents[name] != name) {
        name = parents[name];
    }
    return name;
}

static void unite(uint32_t *parents, uint32_t a, uint32_t b)
{
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a != b) {
        parents[a > b ? a : b] = a > b ? b : a;
    }
}

// An open pixel of the picture with its neighbour in another tile.
static void join(const struct hysteresis_at *at, int64_t x, int64_t y, int64_t dx, int64_t dy)
{
    const struct hysteresis_cuda *p = at->p;
    int64_t to_x = x + dx, to_y = y + dy;
    size_t from = (size_t)(y / TILE * p->tiles_x + x / TILE), to;
    uint32_t name = (uint32_t)(from + 1) * PLACES + place_of((int)(x % TILE), (int)(y % TILE));

    if (to_x < 0 || to_y < 0 || to_x >= p->width || to_y >= p->height ||
        (to_x / TILE == x / TILE && to_y / TILE == y / TILE)) {
        return;
    }
    to = (size_t)(to_y / TILE * p->tiles_x + to_x / TILE);
    if (side_bit(at->borders[to].edges, (int)(to_x % TILE), (int)(to_y % TILE))) {
        unite(at->parents, name, 0);
    } else if (side_bit(at->borders[to].open, (int)(to_x % TILE), (int)(to_y % TILE))) {
        unite(at->parents, name,
              (uint32_t)(to + 1) * PLACES + place_of((int)(to_x % TILE), (int)(to_y % TILE)));
    }
}

static void join_tile(const struct hysteresis_at *at, uint32_t tile_x, uint32_t tile_y)
{
    const struct hysteresis_cuda_border *own = &at->borders[tile_y * at->p->tiles_x + tile_x];

    for (int i = 0; i < TILE * TILE; i++) {
        int x = i % TILE, y = i / TILE;

        if (is_border(x, y) && side_bit(own->open, x, y)) {
            for (int k = 0; k < 9; k++) {
                join(at, (int64_t)tile_x * TILE + x, (int64_t)tile_y * TILE + y, k % 3 - 1,
                     k / 3 - 1);
            }
        }
    }
}

static void write_tile(const struct hysteresis_at *at, uint32_t tile_x, uint32_t tile_y)
{
    const struct hysteresis_cuda *p = at->p;
    uint32_t number = tile_y * p->tiles_x + tile_x;
    struct tile open = read_marks(at, tile_x, tile_y, 0), edges = {0};

    for (uint32_t y = tile_y * TILE; y < p->height && y < (tile_y + 1) * TILE; y++) {
        edges.rows[y % TILE] = *edges_of(at, tile_x, y);
    }
    for (int i = 0; i < TILE * TILE; i++) {
        int x = i % TILE, y = i / TILE;

        if (is_border(x, y) && side_bit(at->borders[number].open, x, y) &&
            root_of(at->parents, (number + 1) * PLACES + place_of(x, y)) == 0) {
            edges.rows[y] |= 1U << x;
        }
    }
    fill(&edges, &open);
    for (uint32_t y = tile_y * TILE; y < p->height && y < (tile_y + 1) * TILE; y++) {
        for (uint32_t x = tile_x * TILE; x < p->width && x < (tile_x + 1) * TILE; x++) {
            bool edge = bit_of(&edges, (int)(x % TILE), (int)(y % TILE));

            at->output[(size_t)y * p->output_stride + x] = (uint8_t)(edge ? p->edge : p->flat);
        }
    }
}

// Finds what the kernel `name` touches, and nothing else. False: it may not be touched.
static bool find_buffers(const struct launch *launch, const char *name, struct hysteresis_at *at)
{
    const struct hysteresis_cuda *p = at->p;
    size_t tiles = (size_t)p->tiles_x * p->tiles_y;
    bool joins = strcmp(name, "join") == 0, writes = strcmp(name, "write") == 0;

    at->borders = kernel_touch_rows(launch, p->borders, 0, tiles * sizeof *at->borders, 1);
    at->parents =
        kernel_touch_rows(launch, p->parents, 0, (tiles + 1) * PLACES * sizeof *at->parents, 1);
    if (!joins) {
        at->marks =
            kernel_touch_rows(launch, p->marks, p->marks_stride, (size_t)p->tiles_x * 8, p->height);
        at->edges = kernel_touch_rows(launch, p->edges, p->tile_stride * sizeof *at->edges,
                                      p->tiles_x * sizeof *at->edges, p->height);
    }
    if (writes) {
        at->output = kernel_touch_rows(launch, p->output, p->output_stride, p->width, p->height);
    }
    return at->borders && at->parents && (joins || (at->marks && at->edges)) &&
           (!writes || at->output);
}

static int run(const struct launch *launch)
{
    const char *name = strchr(launch->name, '_') + 1;
    struct hysteresis_at at = {.p = (const void *)launch->parameters};
    const struct hysteresis_cuda *p = at.p;
    void (*const does)(const struct hysteresis_at *, uint32_t, uint32_t) =
        strcmp(name, "fill") == 0   ? fill_tile
        : strcmp(name, "join") == 0 ? join_tile
                                    : write_tile;
    bool every = strcmp(name, "join") == 0; // a warp for every tile, in one row of blocks
    uint32_t columns = every ? p->tiles_x * p->tiles_y : p->tiles_x;

    if (!find_buffers(launch, name, &at)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (kernel_covers(launch, 1, 1, columns * TILE, every ? 1 : p->tiles_y)) {
        for (uint32_t y = 0; y < p->tiles_y; y++) {
            for (uint32_t x = 0; x < p->tiles_x; x++) {
                does(&at, x, y);
            }
        }
    }
    return 0;
}

#define NAME(step) "hysteresis_" #step,
static const char *const names[] = {HYSTERESIS_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_hysteresis = {names, {sizeof(struct hysteresis_cuda)}, run};
