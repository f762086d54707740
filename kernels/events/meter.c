#include "kernels/events/meter.h"

#include "kernels/stage/simd.h"

#include <errno.h>
#include <string.h>

#define LOOK_NS (100 * NS_PER_MS) // from look to look
#define FOLLOW_NS (2 * NS_PER_S)  // in which the reference follows
#define GAP_NS (5 * NS_PER_S)     // without a look, after which the reference is new
#define UNREST_UP_NS (12 * NS_PER_S)
#define UNREST_DOWN_NS (20 * NS_PER_S)
#define WHITE 200 // levels: above them light may have cut off a cell
#define RIM 4     // cells around a group that count with it
#define LEVEL 256 // a level, in the meter's unit

// Regions of equal threshold and erosion have what moves in common.
struct detector {
    int threshold, erode;
    uint64_t *moving; // owned; a bit a cell
};

// The tally of a region: which cells it has.
struct tally {
    size_t detector;
    uint32_t cells;
    uint64_t *mask; // owned; a bit a cell
};

// Counts of a group of cells while it is looked at.
struct group {
    uint32_t cells, certain, structured;
};

struct meter {
    uint32_t width, height; // pixels
    struct cell_grid grid;
    size_t count, words; // cells; words of a row of bits
    // Levels of the cells in 1/256, row after row.
    uint16_t *now, *reference, *unrest; // owned
    bool has_reference, structured;     // the look before found another structure everywhere
    int64_t at_ns, due_ns;              // pts of the look before; from when on to look
    // For a look.
    uint8_t *changed;  // owned; 1: has changed, and no group was looked for there yet
    uint32_t *found;   // owned; the cells of a group
    uint64_t *scratch; // owned; two pictures of bits
    struct detector *detectors;
    size_t detector_count;
    struct tally *tallies;
    size_t tally_count;
    int lowest; // threshold; 0: no region
};

int meter_new(uint32_t width, uint32_t height, struct meter **ret_meter)
{
    struct meter *meter = calloc(1, sizeof *meter);

    if (!meter)
        return -ENOMEM;
    meter->width = width;
    meter->height = height;
    meter->grid = cell_grid_of(width, height);
    meter->count = (size_t)meter->grid.columns * meter->grid.rows;
    meter->words = bits_words(meter->grid.columns);
    meter->now = calloc(meter->count, sizeof *meter->now);
    meter->reference = calloc(meter->count, sizeof *meter->reference);
    meter->unrest = calloc(meter->count, sizeof *meter->unrest);
    meter->changed = calloc(meter->count, sizeof *meter->changed);
    meter->found = calloc(meter->count, sizeof *meter->found);
    meter->scratch = calloc(2 * meter->words * meter->grid.rows, sizeof *meter->scratch);
    if (!meter->now || !meter->reference || !meter->unrest || !meter->changed || !meter->found ||
        !meter->scratch) {
        meter_free(meter);
        return -ENOMEM;
    }
    *ret_meter = meter;
    return 0;
}

static void drop_regions(struct meter *meter)
{
    for (size_t i = 0; i < meter->detector_count; i++)
        free(meter->detectors[i].moving);
    for (size_t i = 0; i < meter->tally_count; i++)
        free(meter->tallies[i].mask);
    free(TAKE(meter->detectors));
    free(TAKE(meter->tallies));
    meter->detector_count = meter->tally_count = 0;
    meter->lowest = 0;
}

void meter_free(struct meter *meter)
{
    if (!meter)
        return;
    drop_regions(meter);
    free(meter->now);
    free(meter->reference);
    free(meter->unrest);
    free(meter->changed);
    free(meter->found);
    free(meter->scratch);
    free(meter);
}

// Regions
// ---------------------------------------------------------------------

static uint64_t *new_bits(const struct meter *meter)
{
    return calloc(meter->words * meter->grid.rows, sizeof(uint64_t));
}

// The detector for the settings, a new one if there is none yet. -ENOMEM.
static int find_detector(struct meter *meter, const struct config_region *settings,
                         size_t *ret_index)
{
    size_t i = 0;

    while (i < meter->detector_count && (meter->detectors[i].threshold != settings->threshold ||
                                         meter->detectors[i].erode != settings->erode)) {
        i++;
    }
    if (i == meter->detector_count) {
        meter->detectors[i] = (struct detector){settings->threshold, settings->erode, NULL};
        meter->detectors[i].moving = new_bits(meter);
        meter->detector_count++;
    }
    *ret_index = i;
    return meter->detectors[i].moving ? 0 : -ENOMEM;
}

// Row `y` of the picture's pixels.
static void draw_row(const struct meter *meter, const struct watched_region *region, uint32_t y,
                     uint64_t *bits)
{
    const struct config_region *settings = region->settings;
    uint32_t width = meter->width, height = meter->height;

    if (region->empty)
        memset(bits, 0, bits_words(width) * sizeof *bits);
    else if (region->picture)
        region_draw_picture(region->picture, width, height, y, bits);
    else if (settings->polygon_count > 0)
        region_draw_polygon(settings->polygon, settings->polygon_count, width, height, y, bits);
    else
        region_draw_all(width, bits);
}

// The pixel in the middle of cell number `index` of a row or column of `size` pixels.
static uint32_t middle_of(const struct meter *meter, uint32_t index, uint32_t size)
{
    uint32_t first = index * meter->grid.side, left = size - first;

    return first + (left < meter->grid.side ? left : meter->grid.side) / 2;
}

static void draw_cells(const struct meter *meter, const struct watched_region *region,
                       struct tally *tally, uint64_t *pixels)
{
    for (uint32_t y = 0; y < meter->grid.rows; y++) {
        uint64_t *row = tally->mask + y * meter->words;

        draw_row(meter, region, middle_of(meter, y, meter->height), pixels);
        for (uint32_t x = 0; x < meter->grid.columns; x++) {
            uint32_t at = middle_of(meter, x, meter->width);
            uint64_t bit = pixels[at / BITS_WORD] >> at % BITS_WORD & 1;

            row[x / BITS_WORD] |= bit << x % BITS_WORD;
            tally->cells += (uint32_t)bit;
        }
    }
}

static int add_region(struct meter *meter, const struct watched_region *region, uint64_t *pixels)
{
    struct tally *tally = &meter->tallies[meter->tally_count++];
    int threshold = region->settings->threshold;

    tally->mask = new_bits(meter);
    if (!tally->mask || find_detector(meter, region->settings, &tally->detector))
        return -ENOMEM;
    draw_cells(meter, region, tally, pixels);
    if (meter->lowest == 0 || threshold < meter->lowest)
        meter->lowest = threshold;
    return 0;
}

int meter_set_regions(struct meter *meter, const struct watched_region *regions, size_t count)
{
    uint64_t *pixels = calloc(bits_words(meter->width), sizeof *pixels);
    int r = 0;

    drop_regions(meter);
    meter->detectors = calloc(count + 1, sizeof *meter->detectors);
    meter->tallies = calloc(count + 1, sizeof *meter->tallies);
    if (!pixels || !meter->detectors || !meter->tallies)
        r = -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++)
        r = add_region(meter, &regions[i], pixels);
    if (r)
        drop_regions(meter);
    free(pixels);
    return r;
}

uint32_t meter_cells(const struct meter *meter, size_t region)
{
    return meter->tallies[region].cells;
}

// Loops over all cells
// ---------------------------------------------------------------------

SIMD_CLONES
static void widen(const uint8_t *restrict means, uint16_t *restrict levels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        levels[i] = (uint16_t)(means[i] * LEVEL);
}

SIMD_INLINE uint16_t distance(uint16_t a, uint16_t b)
{
    return (uint16_t)((a > b ? a : b) - (a > b ? b : a));
}

// Marks the cells that differ by more than `limit` and twice their unrest, or by twice the limit;
// returns how many there are.
SIMD_CLONES
static size_t mark_changed(const uint16_t *restrict now, const uint16_t *restrict reference,
                           const uint16_t *restrict unrest, uint16_t limit, size_t count,
                           uint8_t *restrict changed)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint16_t off = distance(now[i], reference[i]);
        uint16_t over = off > limit ? (uint16_t)(off - limit) : 0;

        changed[i] = over / 2 > unrest[i] || over > limit;
        sum += changed[i];
    }
    return sum;
}

SIMD_CLONES
static size_t count_far(const uint16_t *restrict now, const uint16_t *restrict reference,
                        uint16_t limit, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += distance(now[i], reference[i]) > limit;
    return sum;
}

// By `weight` of 1 << 16 of what is missing; upwards and downwards by their own.
SIMD_CLONES
static void follow(const uint16_t *restrict now, uint16_t *restrict reference,
                   uint16_t *restrict unrest, const int32_t *weights, size_t count)
{
    int32_t weight = weights[0], up = weights[1], down = weights[2];

    for (size_t i = 0; i < count; i++) {
        int32_t off = now[i] - reference[i];
        int32_t more = (off < 0 ? -off : off) - unrest[i];

        reference[i] = (uint16_t)(reference[i] + (off * weight >> 8));
        unrest[i] = (uint16_t)(unrest[i] + ((int64_t)more * (more > 0 ? up : down) >> 16));
    }
}

// One cell
// ---------------------------------------------------------------------

// Whether it leaves the range that the cells around it have in the reference.
static bool is_certain(const struct meter *meter, uint32_t x, uint32_t y, int limit)
{
    uint32_t columns = meter->grid.columns, rows = meter->grid.rows;
    int now = meter->now[y * columns + x], low = 256 * LEVEL, high = 0;

    for (uint32_t v = y ? y - 1 : 0; v <= y + 1 && v < rows; v++) {
        for (uint32_t u = x ? x - 1 : 0; u <= x + 1 && u < columns; u++) {
            int level = meter->reference[v * columns + u];

            low = level < low ? level : low;
            high = level > high ? level : high;
        }
    }
    return now > high + limit || now < low - limit;
}

// Whether the end of the range explains that cell `dim` is darker beside `bright` than before:
// light has cut it off at white, or did so with the other before.
static bool is_cut_off(const struct meter *meter, size_t dim, size_t bright)
{
    const uint16_t *now = meter->now, *before = meter->reference;

    return (now[dim] > WHITE * LEVEL && now[dim] >= before[dim]) ||
           (before[bright] > WHITE * LEVEL && before[bright] >= now[bright]);
}

// Whether the step between two cells is another one than in the reference, in any light.
static bool steps_differ(const struct meter *meter, size_t a, size_t b, int limit)
{
    int now = meter->now[b] - meter->now[a], before = meter->reference[b] - meter->reference[a];
    int64_t light = meter->now[a] + meter->now[b];
    int64_t light_before = meter->reference[a] + meter->reference[b] + 1;
    int steady = now - before, lit = now - (int)(before * light / light_before);

    if (steady > limit && lit > limit)
        return !is_cut_off(meter, a, b);
    return steady < -limit && lit < -limit && !is_cut_off(meter, b, a);
}

static bool is_structured(const struct meter *meter, uint32_t x, uint32_t y, int limit)
{
    uint32_t columns = meter->grid.columns;
    size_t at = (size_t)y * columns + x;

    return (x > 0 && steps_differ(meter, at, at - 1, limit)) ||
           (x + 1 < columns && steps_differ(meter, at, at + 1, limit)) ||
           (y > 0 && steps_differ(meter, at, at - columns, limit)) ||
           (y + 1 < meter->grid.rows && steps_differ(meter, at, at + columns, limit));
}

// Groups
// ---------------------------------------------------------------------

static size_t take_neighbours(const struct meter *meter, uint32_t x, uint32_t y, size_t count)
{
    uint32_t columns = meter->grid.columns, rows = meter->grid.rows;

    for (uint32_t v = y ? y - 1 : 0; v <= y + 1 && v < rows; v++) {
        for (uint32_t u = x ? x - 1 : 0; u <= x + 1 && u < columns; u++) {
            size_t at = (size_t)v * columns + u;

            if (meter->changed[at]) {
                meter->changed[at] = 0;
                meter->found[count++] = (uint32_t)at;
            }
        }
    }
    return count;
}

// Takes the changed cells that hang together with cell `at` into `found`.
static struct group take_group(const struct meter *meter, size_t at, int limit)
{
    struct group group = {0};
    size_t count = 1;

    meter->changed[at] = 0;
    meter->found[0] = (uint32_t)at;
    for (size_t i = 0; i < count; i++) {
        uint32_t x = meter->found[i] % meter->grid.columns;
        uint32_t y = meter->found[i] / meter->grid.columns;

        group.certain += is_certain(meter, x, y, limit);
        group.structured += is_structured(meter, x, y, limit / 2);
        count = take_neighbours(meter, x, y, count);
    }
    group.cells = (uint32_t)count;
    return group;
}

static bool is_moving(const struct group *group, const struct detector *detector)
{
    uint32_t least = 4 * (uint32_t)detector->erode * (uint32_t)(detector->erode + 1);

    return group->certain >= least &&
           group->structured * (group->structured + 1) >= 2 * group->cells;
}

static void detect(struct meter *meter, struct detector *detector)
{
    int limit = detector->threshold * LEVEL;
    size_t left = mark_changed(meter->now, meter->reference, meter->unrest, (uint16_t)limit,
                               meter->count, meter->changed);
    const uint8_t *at = meter->changed, *end = at + meter->count;

    memset(detector->moving, 0, meter->words * meter->grid.rows * sizeof *detector->moving);
    while (left > 0 && (at = memchr(at, 1, (size_t)(end - at)))) {
        struct group group = take_group(meter, (size_t)(at - meter->changed), limit);

        left -= group.cells;
        for (size_t i = 0; i < group.cells && is_moving(&group, detector); i++) {
            uint32_t x = meter->found[i] % meter->grid.columns;
            uint32_t y = meter->found[i] / meter->grid.columns;

            detector->moving[y * meter->words + x / BITS_WORD] |= UINT64_C(1) << x % BITS_WORD;
        }
    }
}

// Regions' readings
// ---------------------------------------------------------------------

// Sets what is set within RIM bits of a row of `words`.
static void grow_row(uint64_t *bits, size_t words)
{
    for (unsigned i = 0; i < RIM; i++) {
        uint64_t before = 0;

        for (size_t j = 0; j < words; j++) {
            uint64_t here = bits[j], next = j + 1 < words ? bits[j + 1] : 0;

            bits[j] = here | here << 1 | before >> 63 | here >> 1 | next << 63;
            before = here;
        }
    }
}

// Puts the region's own moving cells, and the same grown by its rim, into the scratch pictures.
// Returns whether any cell moves.
static bool select_moving(const struct meter *meter, const struct tally *tally)
{
    size_t words = meter->words, size = words * meter->grid.rows;
    const uint64_t *moving = meter->detectors[tally->detector].moving;
    uint64_t *own = meter->scratch, any = 0;

    for (size_t i = 0; i < size; i++) {
        own[i] = moving[i] & tally->mask[i];
        any |= own[i];
    }
    for (size_t y = 0; y < meter->grid.rows && any; y++) {
        memcpy(own + size + y * words, own + y * words, words * sizeof *own);
        grow_row(own + size + y * words, words);
    }
    return any;
}

static uint32_t count_grown(const struct meter *meter, const struct tally *tally)
{
    size_t words = meter->words, rows = meter->grid.rows;
    const uint64_t *grown = meter->scratch + words * rows;
    uint32_t count = 0;

    for (size_t y = 0; y < rows; y++) {
        for (size_t i = 0; i < words; i++) {
            uint64_t near = 0;

            for (size_t v = y > RIM ? y - RIM : 0; v <= y + RIM && v < rows; v++)
                near |= grown[v * words + i];
            count += (uint32_t)__builtin_popcountll(near & tally->mask[y * words + i]);
        }
    }
    return count;
}

// Pixels around the region's own cells that move, of which there are some.
static void find_box(const struct meter *meter, struct region_reading *reading)
{
    uint32_t left = UINT32_MAX, right = 0, top = UINT32_MAX, bottom = 0, side = meter->grid.side;

    for (uint32_t y = 0; y < meter->grid.rows; y++) {
        for (size_t i = 0; i < meter->words; i++) {
            uint64_t bits = meter->scratch[y * meter->words + i];
            uint32_t first = (uint32_t)(i * BITS_WORD);

            if (bits) {
                uint32_t low = first + (uint32_t)__builtin_ctzll(bits);
                uint32_t high = first + BITS_WORD - (uint32_t)__builtin_clzll(bits);

                left = low < left ? low : left;
                right = high > right ? high : right;
                top = y < top ? y : top;
                bottom = y + 1;
            }
        }
    }
    reading->x = left * side;
    reading->y = top * side;
    reading->width = (right * side < meter->width ? right * side : meter->width) - reading->x;
    reading->height = (bottom * side < meter->height ? bottom * side : meter->height) - reading->y;
}

static struct region_reading read_region(const struct meter *meter, const struct tally *tally)
{
    struct region_reading reading = {.cells = tally->cells};

    if (select_moving(meter, tally)) {
        reading.moving = count_grown(meter, tally);
        find_box(meter, &reading);
    }
    return reading;
}

// Looks
// ---------------------------------------------------------------------

bool meter_is_due(const struct meter *meter, int64_t pts_ns)
{
    return !meter->has_reference || pts_ns >= meter->due_ns || pts_ns <= meter->at_ns;
}

// Whether an eighth of all cells has another structure.
static bool is_another_picture(const struct meter *meter, int limit)
{
    size_t count = 0;

    for (uint32_t y = 0; y < meter->grid.rows; y++) {
        for (uint32_t x = 0; x < meter->grid.columns; x++)
            count += is_structured(meter, x, y, limit);
    }
    return count * 8 >= meter->count;
}

// Whether the light has changed, so that the look tells nothing.
static bool is_other_light(struct meter *meter, bool *ret_whole)
{
    int half = meter->lowest * LEVEL / 2;
    size_t far = count_far(meter->now, meter->reference, (uint16_t)half, meter->count);
    bool structured_before = meter->structured;

    *ret_whole = 5 * far > 2 * meter->count;
    meter->structured = *ret_whole && is_another_picture(meter, half);
    return *ret_whole && !(meter->structured && structured_before);
}

static void renew(struct meter *meter)
{
    memcpy(meter->reference, meter->now, meter->count * sizeof *meter->now);
    meter->has_reference = true;
}

static void follow_now(struct meter *meter, int64_t passed_ns)
{
    int64_t weight = (passed_ns * 256 + FOLLOW_NS / 2) / FOLLOW_NS;
    const int32_t weights[] = {(int32_t)(weight < 256 ? weight : 256),
                               (int32_t)(passed_ns * 65536 / UNREST_UP_NS),
                               (int32_t)(passed_ns * 65536 / UNREST_DOWN_NS)};

    follow(meter->now, meter->reference, meter->unrest, weights, meter->count);
}

bool meter_look(struct meter *meter, int64_t pts_ns, const uint8_t *means,
                struct region_reading *ret_readings)
{
    int64_t passed_ns = pts_ns - meter->at_ns, due_ns = meter->due_ns + LOOK_NS;
    bool follows = meter->has_reference && passed_ns > 0 && passed_ns < GAP_NS, whole = false;

    meter->at_ns = pts_ns;
    meter->due_ns = follows && pts_ns < due_ns ? due_ns : pts_ns + LOOK_NS;
    widen(means, meter->now, meter->count);
    if (!follows || is_other_light(meter, &whole)) {
        renew(meter);
        return false;
    }
    for (size_t i = 0; i < meter->detector_count; i++)
        detect(meter, &meter->detectors[i]);
    for (size_t i = 0; i < meter->tally_count; i++)
        ret_readings[i] = read_region(meter, &meter->tallies[i]);
    if (whole)
        renew(meter);
    else
        follow_now(meter, passed_ns);
    return true;
}
