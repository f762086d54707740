// The second half of Canny in three launches: of candidates and the strong ones among them to a
// picture of edges, `edge` where a candidate is strong or connected to a strong one, each to the
// next by one of its 8 neighbours, `flat` elsewhere. The same picture as hysteresis.c makes.
//
// fill   A warp takes a tile of 32 by 32 pixels, a lane a row of it in the bits of a word, and lets
//        the strong ones spread over the candidates of the tile: along a row by an addition, whose
//        carry runs through a run of candidates, and by another with the bits reversed; from row
//        to row by a step of each round. Open parts that touch the tile's border may yet be
//        reached from outside: each such part gets a name, a place on the border, which stands
//        in `parents` at each of its places there.
// join   Where open parts of neighbouring tiles touch, they become one: `parents` is the forest of
//        a union-find over all names, in which name 0 stands for everything that is an edge.
// write  Open parts whose root is 0 spread over their tile as strong ones did; bits become bytes.
//
// The work is bounded whatever the picture shows. A tile takes as many rounds as a path in it has
// turns between rows, at most 512. A union of two trees makes the root with the larger rank the
// child of the other one, ranks being names in random order, so that trees of k names are
// O(log k) deep on average even where parts are connected in one line, as those of a spiral through
// every tile do; paths are halved as they are walked. No block waits for another: a union that
// loses against another one goes on from what that one left.
//
// Buffers: hysteresis_cuda.h. Marks and edges lie in device memory of edged's own; the output has
// one byte a pixel, rows `output_stride` apart. Nothing outside its pixels is touched.
//
// The floor. Bytes a pixel: marks 1/4 read, edges 1/8 written and read, output 1 written: 50 MB at
// 8K, all but the output within an H200's L2: 9 us and three launches. Operations: 17 a round for a
// word of 32 pixels, 3 rounds in noise; 60 to load, store and describe a word, 5 for 4 bytes of
// output: 5 a pixel in noise, 3.5 where nothing is open: 8K on an H200 5 us.
//
// Alignment. Output of 16 bytes a store where address and stride are multiples of 16 and 16 pixels
// are left of a row, else bytes.
#include "kernels/canny/hysteresis.cuh"

namespace {

// Names for the open parts on the border of tile number `tile`.
__device__ void name_parts(const hysteresis_cuda &p, uint32_t tile, uint32_t open)
{
    uint32_t *parents = reinterpret_cast<uint32_t *>(p.parents);
    uint32_t lane = threadIdx.x % TILE;
    uint32_t left = open & (lane == 0 || lane == TILE - 1 ? ALL : 1u << (TILE - 1) | 1);
    uint32_t lanes;

    while ((lanes = __ballot_sync(ALL, left != 0)) != 0) {
        uint32_t first = __ffs(lanes) - 1, x = __ffs(__shfl_sync(ALL, left, first)) - 1;
        uint32_t part = fill(lane == first ? 1u << x : 0, open);
        uint32_t top = __shfl_sync(ALL, part, 0), bottom = __shfl_sync(ALL, part, TILE - 1);
        uint32_t name = name_of(tile, x, first);

        if (top >> lane & 1)
            parents[name_of(tile, lane, 0)] = name;
        if (bottom >> lane & 1)
            parents[name_of(tile, lane, TILE - 1)] = name;
        if (part & 1 && lane > 0 && lane < TILE - 1)
            parents[name_of(tile, 0, lane)] = name;
        if (part >> (TILE - 1) && lane > 0 && lane < TILE - 1)
            parents[name_of(tile, TILE - 1, lane)] = name;
        left &= ~part;
    }
}

// The tile's rows at its sides.
__device__ __forceinline__ uint4 sides_of(uint32_t row)
{
    return make_uint4(__shfl_sync(ALL, row, 0), __shfl_sync(ALL, row, TILE - 1),
                      __ballot_sync(ALL, row & 1), __ballot_sync(ALL, row >> (TILE - 1)));
}

// Lets strong ones spread over a tile; returns its edges.
__device__ __forceinline__ uint32_t fill_tile(const hysteresis_cuda &p, uint32_t tile,
                                              uint32_t candidates, uint32_t edges)
{
    uint4 open_sides, edge_sides;
    uint32_t open;

    if (__any_sync(ALL, candidates != edges))
        edges = fill(edges, candidates);
    open = candidates & ~edges;
    open_sides = sides_of(open);
    edge_sides = sides_of(edges);
    if (threadIdx.x % TILE == 0) {
        uint4 *border = reinterpret_cast<uint4 *>(p.borders) + 2 * (size_t)tile;

        border[0] = open_sides;
        border[1] = edge_sides;
    }
    if (open_sides.x | open_sides.y | open_sides.z | open_sides.w)
        name_parts(p, tile, open);
    return edges;
}

// The root of a name's tree, 0 where that is an edge. Other threads may be at the same tree: what
// is read is the parent or a later one.
__device__ __forceinline__ uint32_t root_of(volatile uint32_t *parents, uint32_t name)
{
    while (name != 0) {
        uint32_t parent = parents[name], next;

        if (parent == name || parent == 0)
            return parent;
        next = parents[parent];
        if (next == parent)
            return parent;
        parents[name] = next;
        name = next;
    }
    return 0;
}

// Names in random order, 0 first: the factor is odd, so no two are the same.
__device__ __forceinline__ uint32_t rank_of(uint32_t name)
{
    return name * 0x9e3779b1u;
}

__device__ void unite(uint32_t *parents, uint32_t a, uint32_t b)
{
    for (;;) {
        uint32_t child, parent, found;

        a = root_of(parents, a);
        b = root_of(parents, b);
        if (a == b)
            return;
        child = rank_of(a) < rank_of(b) ? b : a;
        parent = child == a ? b : a;
        found = atomicCAS(&parents[child], child, parent);
        if (found == child)
            return;
        a = found;
        b = parent;
    }
}

__device__ __forceinline__ border border_at(const hysteresis_cuda &p, uint32_t tile_x,
                                            uint32_t tile_y)
{
    // Left of 0 is past the picture, too.
    if (tile_x >= p.tiles_x || tile_y >= p.tiles_y)
        return border{};
    return reinterpret_cast<const border *>(p.borders)[(size_t)tile_y * p.tiles_x + tile_x];
}

// The three pixels from x - 1 on, of a row of three tiles, in bits 0 to 2.
__device__ __forceinline__ uint32_t three_at(uint32_t left, uint32_t middle, uint32_t right,
                                             uint32_t x)
{
    uint64_t row = (uint64_t)right << (TILE + 1) | (uint64_t)middle << 1 | left >> (TILE - 1);

    return (uint32_t)(row >> x) & 7;
}

// Pixel `lane` of the top row, where it is open, with the three above it.
__device__ __forceinline__ void join_above(const hysteresis_cuda &p, uint32_t tile_x,
                                           uint32_t tile_y)
{
    uint32_t *parents = reinterpret_cast<uint32_t *>(p.parents);
    uint32_t lane = threadIdx.x % TILE, tile = tile_y * p.tiles_x + tile_x;
    uint32_t name = name_of(tile, lane, 0), above = tile - p.tiles_x;
    border left = border_at(p, tile_x - 1, tile_y - 1), middle = border_at(p, tile_x, tile_y - 1);
    border right = border_at(p, tile_x + 1, tile_y - 1);
    uint32_t open = three_at(left.open[HYSTERESIS_BOTTOM], middle.open[HYSTERESIS_BOTTOM],
                             right.open[HYSTERESIS_BOTTOM], lane);

    if (three_at(left.edges[HYSTERESIS_BOTTOM], middle.edges[HYSTERESIS_BOTTOM],
                 right.edges[HYSTERESIS_BOTTOM], lane)) {
        unite(parents, name, 0);
    }
    // Those beside the middle one touch it.
    if (open & 2) {
        unite(parents, name, name_of(above, lane, TILE - 1));
        return;
    }
    if (open & 1) {
        unite(parents, name,
              lane > 0 ? name_of(above, lane - 1, TILE - 1)
                       : name_of(above - 1, TILE - 1, TILE - 1));
    }
    if (open & 4) {
        unite(parents, name,
              lane < TILE - 1 ? name_of(above, lane + 1, TILE - 1)
                              : name_of(above + 1, 0, TILE - 1));
    }
}

// Pixel `lane` of the bottom row, where it is open, with edges below it.
__device__ __forceinline__ void join_below(const hysteresis_cuda &p, uint32_t tile_x,
                                           uint32_t tile_y)
{
    uint32_t lane = threadIdx.x % TILE;

    if (three_at(border_at(p, tile_x - 1, tile_y + 1).edges[HYSTERESIS_TOP],
                 border_at(p, tile_x, tile_y + 1).edges[HYSTERESIS_TOP],
                 border_at(p, tile_x + 1, tile_y + 1).edges[HYSTERESIS_TOP], lane)) {
        unite(reinterpret_cast<uint32_t *>(p.parents),
              name_of(tile_y * p.tiles_x + tile_x, lane, TILE - 1), 0);
    }
}

// Pixel `lane` of the left column, where it is open, with those of the tile on the left.
__device__ __forceinline__ void join_left(const hysteresis_cuda &p, uint32_t tile_x,
                                          uint32_t tile_y)
{
    uint32_t *parents = reinterpret_cast<uint32_t *>(p.parents);
    uint32_t lane = threadIdx.x % TILE, tile = tile_y * p.tiles_x + tile_x;
    uint32_t name = name_of(tile, 0, lane);
    border left = border_at(p, tile_x - 1, tile_y);
    uint32_t open = three_at(0, left.open[HYSTERESIS_RIGHT], 0, lane);

    if (three_at(0, left.edges[HYSTERESIS_RIGHT], 0, lane))
        unite(parents, name, 0);
    if (open & 2) {
        unite(parents, name, name_of(tile - 1, TILE - 1, lane));
        return;
    }
    if (open & 1)
        unite(parents, name, name_of(tile - 1, TILE - 1, lane - 1));
    if (open & 4)
        unite(parents, name, name_of(tile - 1, TILE - 1, lane + 1));
}

// Pixel `lane` of the right column, where it is open, with edges of the tile on the right.
__device__ __forceinline__ void join_right(const hysteresis_cuda &p, uint32_t tile_x,
                                           uint32_t tile_y)
{
    uint32_t lane = threadIdx.x % TILE;

    if (three_at(0, border_at(p, tile_x + 1, tile_y).edges[HYSTERESIS_LEFT], 0, lane)) {
        unite(reinterpret_cast<uint32_t *>(p.parents),
              name_of(tile_y * p.tiles_x + tile_x, TILE - 1, lane), 0);
    }
}

// Edges of a tile with its open parts that turned out to be edges.
__device__ __forceinline__ uint32_t reach_tile(const hysteresis_cuda &p, uint32_t tile_x,
                                               uint32_t tile_y, uint32_t edges)
{
    uint32_t *parents = reinterpret_cast<uint32_t *>(p.parents);
    uint32_t lane = threadIdx.x % TILE, y = tile_y * TILE + lane;
    uint32_t tile = tile_y * p.tiles_x + tile_x, seed = 0;
    const uint32_t xs[] = {lane, lane, 0, TILE - 1}, ys[] = {0, TILE - 1, lane, lane};
    border own = border_at(p, tile_x, tile_y);

#pragma unroll
    for (int side = 0; side < HYSTERESIS_SIDES; side++) {
        bool reached =
            own.open[side] >> lane & 1 && root_of(parents, name_of(tile, xs[side], ys[side])) == 0;
        uint32_t row = __ballot_sync(ALL, reached);

        if (side == HYSTERESIS_TOP || side == HYSTERESIS_BOTTOM)
            seed |= lane == ys[side] ? row : 0;
        else
            seed |= (uint32_t)reached << xs[side];
    }
    if (__any_sync(ALL, seed != 0)) {
        uint32_t valid = inside(p, tile_x, y);

        edges = fill(edges | seed, valid ? gather(load_marks(p, tile_x, y)) & valid : 0);
    }
    return edges;
}

// Four pixels of the lowest four bits.
__device__ __forceinline__ uint32_t expand(const hysteresis_cuda &p, uint32_t bits)
{
    return ((bits & 15) * 0x00204081 & 0x01010101) * (p.edge - p.flat) + p.flat * 0x01010101;
}

// Sixteen pixels of 16 bits, `count` of them in the picture.
__device__ __forceinline__ void store_pixels(const hysteresis_cuda &p, uint8_t *__restrict__ to,
                                             uint32_t bits, uint32_t count, bool vectors)
{
    if (vectors && count >= 16) {
        *reinterpret_cast<uint4 *>(to) = make_uint4(expand(p, bits), expand(p, bits >> 4),
                                                    expand(p, bits >> 8), expand(p, bits >> 12));
        return;
    }
    for (uint32_t i = 0; i < min(count, 16u); i++)
        to[i] = (uint8_t)(bits >> i & 1 ? p.edge : p.flat);
}

// The tiles of a block, as their warps made them.
__device__ __forceinline__ void write_tiles(const hysteresis_cuda &p,
                                            const uint32_t (&rows)[TILES][PITCH])
{
    bool vectors = (p.output | p.output_stride) % 16 == 0;

#pragma unroll
    for (uint32_t i = 0; i < TILES * TILE * 2 / THREADS; i++) {
        uint32_t at = i * THREADS + threadIdx.x, half = at % (2 * TILES), row = at / (2 * TILES);
        uint32_t x = (blockIdx.x * TILES * 2 + half) * 16, y = blockIdx.y * TILE + row;

        if (x < p.width && y < p.height) {
            store_pixels(p, reinterpret_cast<uint8_t *>(p.output) + (size_t)y * p.output_stride + x,
                         rows[half / 2][row] >> half % 2 * 16, p.width - x, vectors);
        }
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS) hysteresis_fill(hysteresis_cuda p)
{
    __shared__ uint32_t candidates[TILES][PITCH], edges[TILES][PITCH];
    uint32_t column = threadIdx.x % TILES, row = threadIdx.x / TILES;
    uint32_t warp = threadIdx.x / TILE, lane = threadIdx.x % TILE;
    uint32_t tile_x = blockIdx.x * TILES + column, y = blockIdx.y * TILE + row;
    uint32_t valid = inside(p, tile_x, y);
    uint2 marks = valid ? load_marks(p, tile_x, y) : make_uint2(0, 0);

    candidates[column][row] = gather(marks) & valid;
    edges[column][row] = gather(make_uint2(marks.x >> 4, marks.y >> 4)) & valid;
    __syncthreads();
    if (blockIdx.x * TILES + warp < p.tiles_x) {
        edges[warp][lane] = fill_tile(p, blockIdx.y * p.tiles_x + blockIdx.x * TILES + warp,
                                      candidates[warp][lane], edges[warp][lane]);
    }
    __syncthreads();
    if (valid)
        *edges_at(p, tile_x, y) = edges[column][row];
}

extern "C" __global__ void __launch_bounds__(THREADS) hysteresis_join(hysteresis_cuda p)
{
    uint32_t tile = blockIdx.x * TILES + threadIdx.x / TILE, lane = threadIdx.x % TILE;
    uint32_t tile_x = tile % p.tiles_x, tile_y = tile / p.tiles_x;
    border own = border_at(p, tile_x, tile_y);

    if (own.open[HYSTERESIS_TOP] >> lane & 1)
        join_above(p, tile_x, tile_y);
    if (own.open[HYSTERESIS_BOTTOM] >> lane & 1)
        join_below(p, tile_x, tile_y);
    if (own.open[HYSTERESIS_LEFT] >> lane & 1)
        join_left(p, tile_x, tile_y);
    if (own.open[HYSTERESIS_RIGHT] >> lane & 1)
        join_right(p, tile_x, tile_y);
}

extern "C" __global__ void __launch_bounds__(THREADS) hysteresis_write(hysteresis_cuda p)
{
    __shared__ uint32_t edges[TILES][PITCH];
    uint32_t column = threadIdx.x % TILES, row = threadIdx.x / TILES;
    uint32_t warp = threadIdx.x / TILE, lane = threadIdx.x % TILE;
    uint32_t tile_x = blockIdx.x * TILES + column, y = blockIdx.y * TILE + row;

    edges[column][row] = inside(p, tile_x, y) ? *edges_at(p, tile_x, y) : 0;
    __syncthreads();
    if (blockIdx.x * TILES + warp < p.tiles_x)
        edges[warp][lane] = reach_tile(p, blockIdx.x * TILES + warp, blockIdx.y, edges[warp][lane]);
    __syncthreads();
    write_tiles(p, edges);
}
