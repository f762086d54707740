// A vector of pixels is walked down several rows. Across a row the even and the odd pixels are
// words apart, derived and smoothed; down the rows these are smoothed and derived. Sobel adds up
// boxes instead. Each row of a strip asks for its place in the rows of the next call: no prefetcher
// of a CPU follows strips, and pictures of a camera are in no cache.
#include "kernels/gradient/magnitude.h"

#include "kernels/stage/compose.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"
#include "kernels/stage/vec.h"

#ifdef VEC_BYTES
// Columns beyond a vector that an operator may look at.
#define RADIUS_MAX 2

// Where a vector of pixels lies in its rows: `left` pixels are there from x on. `edge`: some of
// those that are looked at may lie outside the rows.
struct place {
    size_t x, left;
    bool edge;
};

// gx and gy of even and odd pixels as vec_apart() makes them; of boxes p and q.
struct pixel_slopes {
    vec_words x[2], y[2];
};

// Intermediate values of a row's magnitudes: L2's sums of squares or L1's words, of even and odd
// pixels.
struct numbers {
    vec_sums sums[2];
    vec_pair words;
};

// One row, derived and smoothed across: even and odd pixels.
struct row_part {
    vec_words derived[2], smoothed[2];
};

// Sums of pixels x - 1 and x, x and x + 1, x + 1 and x + 2 for even x: of a row, or of two.
struct boxes {
    vec_words left, middle, right;
};

// A row, and the boxes of it and the row before it.
struct known {
    struct boxes row, boxes;
};

// The pixels of a row; beyond its end the last one.
VEC vec_bytes pixels(const uint8_t *row, struct place place)
{
    uint8_t some[VEC_BYTES];

    if (!place.edge || place.left >= VEC_BYTES)
        return vec_load(row + place.x);
    memset(some, row[place.x + place.left - 1], sizeof some);
    memcpy(some, row + place.x, place.left);
    return vec_load(some);
}

// The pixels `by` columns further left or right; `nearer` is what lies one column less far.
VEC vec_bytes pixels_left(const uint8_t *row, struct place place, vec_bytes nearer, size_t by)
{
    if (!place.edge || (place.x > 0 && place.left >= VEC_BYTES))
        return vec_load(row + place.x - by);
    return vec_before(row[place.x > 0 ? place.x - by : 0], nearer);
}

VEC vec_bytes pixels_right(const uint8_t *row, struct place place, vec_bytes nearer, size_t by)
{
    if (!place.edge || place.left >= VEC_BYTES + by)
        return vec_load(row + place.x + by);
    return vec_behind(nearer, row[place.x + place.left - 1]);
}

VEC struct boxes sum_pairs(const uint8_t *row, struct place place, int8_t weight)
{
    vec_bytes here = pixels(row, place);

    return (struct boxes){vec_pairs(pixels_left(row, place, here, 1), weight),
                          vec_pairs(here, weight),
                          vec_pairs(pixels_right(row, place, here, 1), weight)};
}

VEC struct boxes add_boxes(struct boxes a, struct boxes b)
{
    return (struct boxes){a.left + b.left, a.middle + b.middle, a.right + b.right};
}

VEC struct pixel_slopes slopes_of_boxes(struct known *known, struct boxes row)
{
    struct boxes above = known->boxes, below = add_boxes(known->row, row);

    *known = (struct known){row, below};
    return (struct pixel_slopes){
        {vec_apart(below.middle, above.left), vec_apart(below.right, above.middle)},
        {vec_apart(above.middle, below.left), vec_apart(above.right, below.middle)}};
}

// An operator's weights (gradient.h) on five neighbours, of which most look at three: what derives,
// on either side, and what smooths.
VEC vec_words ahead(enum config_operator op, const vec_words *n)
{
    return op == CONFIG_OPERATOR_SOBEL5 ? n[4] + 2 * n[3] : n[3];
}

VEC vec_words behind(enum config_operator op, const vec_words *n)
{
    return op == CONFIG_OPERATOR_SOBEL5 ? n[0] + 2 * n[1] : n[1];
}

VEC vec_words smooth(enum config_operator op, const vec_words *n)
{
    vec_words sides = n[1] + n[3];

    return op == CONFIG_OPERATOR_SOBEL5   ? n[0] + n[4] + 4 * sides + 6 * n[2]
           : op == CONFIG_OPERATOR_SCHARR ? 3 * sides + 10 * n[2]
                                          : sides + n[2];
}

VEC struct row_part part_of(enum config_operator op, const uint8_t *row, struct place place)
{
    vec_bytes here = pixels(row, place), left = pixels_left(row, place, here, 1);
    vec_bytes right = pixels_right(row, place, here, 1);
    vec_words columns[6] = {[1] = vec_even(left), vec_odd(left), vec_even(right), vec_odd(right)};
    struct row_part part;

    if (op == CONFIG_OPERATOR_SOBEL5) {
        columns[0] = vec_even(pixels_left(row, place, left, 2));
        columns[5] = vec_odd(pixels_right(row, place, right, 2));
    }
    for (unsigned i = 0; i < 2; i++) {
        part.derived[i] = ahead(op, columns + i) - behind(op, columns + i);
        part.smoothed[i] = smooth(op, columns + i);
    }
    return part;
}

// The slopes of a row; `parts` begins with the uppermost row that it looks at.
VEC struct pixel_slopes slopes_of_parts(enum config_operator op, const struct row_part *parts)
{
    unsigned radius = op == CONFIG_OPERATOR_SOBEL5 ? 2 : 1;
    struct pixel_slopes slopes;

    for (unsigned i = 0; i < 2; i++) {
        vec_words derived[5], smoothed[5];

        for (unsigned y = 0; y <= 2 * radius; y++) {
            derived[y + 2 - radius] = parts[y].derived[i];
            smoothed[y + 2 - radius] = parts[y].smoothed[i];
        }
        slopes.x[i] = vec_apart(smooth(op, derived), (vec_words){0});
        slopes.y[i] = vec_apart(ahead(op, smoothed), behind(op, smoothed));
    }
    return slopes;
}

VEC struct numbers numbers_of(enum config_norm norm, enum config_operator op, struct pixel_slopes s)
{
    bool boxes = op == CONFIG_OPERATOR_SOBEL;
    struct numbers n;

    if (norm == CONFIG_NORM_L2) {
        n.sums[0] = vec_squares(s.x[0], s.y[0]);
        n.sums[1] = vec_squares(s.x[1], s.y[1]);
    } else if (boxes) {
        n.words = (vec_pair){vec_larger(s.x[0], s.y[0]), vec_larger(s.x[1], s.y[1])};
    } else {
        n.words = (vec_pair){vec_total(s.x[0], s.y[0]), vec_total(s.x[1], s.y[1])};
    }
    if (norm == CONFIG_NORM_L2 && boxes) {
        n.sums[0] = vec_twice(n.sums[0]);
        n.sums[1] = vec_twice(n.sums[1]);
    }
    return n;
}

// `limited`: compose.h.
VEC void write_row(enum config_norm norm, struct numbers numbers, struct place place, bool limited,
                   uint8_t *output)
{
    bool l2 = norm == CONFIG_NORM_L2;
    vec_pair words = l2 ? vec_roots(numbers.sums[0], numbers.sums[1]) : numbers.words;
    vec_bytes row;

    if (limited) {
        words.first = vec_scale(words.first, COMPOSE_FACTOR);
        words.second = vec_scale(words.second, COMPOSE_FACTOR);
    }
    row = l2 ? vec_pack(words) : vec_weave(words);
    if (limited)
        row = vec_least(row, (vec_bytes){0} + COMPOSE_REACH) + COMPOSE_BLACK;
    if (!place.edge || place.left >= VEC_BYTES)
        vec_store(output + place.x, row);
    else
        memcpy(output + place.x, &row, place.left);
}

// A row's numbers are made before the roots of the row above are, so that neither waits for the
// other.
VEC void walk_boxes(enum config_norm norm, const uint8_t *const *rows, unsigned count,
                    struct place place, bool limited, uint8_t *const *outputs)
{
    const int8_t weight = norm == CONFIG_NORM_L2 ? 1 : 2; // L1 is twice the larger of p and q
    struct boxes row = sum_pairs(rows[1], place, weight);
    struct known known = {row, add_boxes(sum_pairs(rows[0], place, weight), row)};
    struct pixel_slopes slopes = slopes_of_boxes(&known, sum_pairs(rows[2], place, weight));
    struct numbers numbers = numbers_of(norm, CONFIG_OPERATOR_SOBEL, slopes);

    simd_read_below(rows, count, 0, place.x);
    for (unsigned i = 1; i < count; i++) {
        struct numbers next;

        slopes = slopes_of_boxes(&known, sum_pairs(rows[i + 2], place, weight));
        next = numbers_of(norm, CONFIG_OPERATOR_SOBEL, slopes);
        simd_read_below(rows, count, i, place.x);
        write_row(norm, numbers, place, limited, outputs[i - 1]);
        numbers = next;
    }
    write_row(norm, numbers, place, limited, outputs[count - 1]);
}

VEC void walk_parts(enum config_norm norm, enum config_operator op, const uint8_t *const *rows,
                    unsigned count, struct place place, bool limited, uint8_t *const *outputs)
{
    unsigned radius = op == CONFIG_OPERATOR_SOBEL5 ? 2 : 1;
    struct row_part parts[STAGE_ROWS_MAX + 2 * RADIUS_MAX];

    for (unsigned i = 0; i < 2 * radius; i++)
        parts[i] = part_of(op, rows[i], place);
    for (unsigned i = 0; i < count; i++) {
        parts[i + 2 * radius] = part_of(op, rows[i + 2 * radius], place);
        simd_read_below(rows, count, i, place.x);
        write_row(norm, numbers_of(norm, op, slopes_of_parts(op, parts + i)), place, limited,
                  outputs[i]);
    }
}

VEC void walk(enum config_norm norm, enum config_operator op, const uint8_t *const *rows,
              unsigned count, struct place place, bool limited, uint8_t *const *outputs)
{
    if (op == CONFIG_OPERATOR_SOBEL)
        walk_boxes(norm, rows, count, place, limited, outputs);
    else
        walk_parts(norm, op, rows, count, place, limited, outputs);
}

VEC void walk_all(enum config_norm norm, enum config_operator op, const uint8_t *const *rows,
                  unsigned count, size_t width, bool limited, uint8_t *const *outputs)
{
    for (size_t x = 0, left = width; x < width; x += VEC_BYTES, left -= VEC_BYTES) {
        if (x == 0 || left < VEC_BYTES + RADIUS_MAX)
            walk(norm, op, rows, count, (struct place){x, left, true}, limited, outputs);
        else
            walk(norm, op, rows, count, (struct place){x, left, false}, limited, outputs);
    }
}

#define DEFINE_ROWS(name, norm, op)                                                                \
    VEC_TARGET static void name(const uint8_t *const *rows, unsigned count, size_t width,          \
                                bool limited, uint8_t *const *outputs)                             \
    {                                                                                              \
        if (limited) {                                                                             \
            walk_all(norm, op, rows, count, width, true, outputs);                                 \
        } else {                                                                                   \
            walk_all(norm, op, rows, count, width, false, outputs);                                \
        }                                                                                          \
    }

DEFINE_ROWS(sobel_l2, CONFIG_NORM_L2, CONFIG_OPERATOR_SOBEL)
DEFINE_ROWS(sobel5_l2, CONFIG_NORM_L2, CONFIG_OPERATOR_SOBEL5)
DEFINE_ROWS(scharr_l2, CONFIG_NORM_L2, CONFIG_OPERATOR_SCHARR)
DEFINE_ROWS(prewitt_l2, CONFIG_NORM_L2, CONFIG_OPERATOR_PREWITT)
DEFINE_ROWS(sobel_l1, CONFIG_NORM_L1, CONFIG_OPERATOR_SOBEL)
DEFINE_ROWS(sobel5_l1, CONFIG_NORM_L1, CONFIG_OPERATOR_SOBEL5)
DEFINE_ROWS(scharr_l1, CONFIG_NORM_L1, CONFIG_OPERATOR_SCHARR)
DEFINE_ROWS(prewitt_l1, CONFIG_NORM_L1, CONFIG_OPERATOR_PREWITT)

magnitude_rows *magnitude_rows_for(enum config_norm norm, enum config_operator op)
{
    static magnitude_rows *const table[2][CONFIG_OPERATOR_COUNT] = {
        [CONFIG_NORM_L2] = {[CONFIG_OPERATOR_SOBEL] = sobel_l2,
                            [CONFIG_OPERATOR_SOBEL5] = sobel5_l2,
                            [CONFIG_OPERATOR_SCHARR] = scharr_l2,
                            [CONFIG_OPERATOR_PREWITT] = prewitt_l2},
        [CONFIG_NORM_L1] = {[CONFIG_OPERATOR_SOBEL] = sobel_l1,
                            [CONFIG_OPERATOR_SOBEL5] = sobel5_l1,
                            [CONFIG_OPERATOR_SCHARR] = scharr_l1,
                            [CONFIG_OPERATOR_PREWITT] = prewitt_l1},
    };

    return vec_supported() ? table[norm][op] : NULL;
}
#else
magnitude_rows *magnitude_rows_for(enum config_norm norm, enum config_operator op)
{
    (void)norm;
    (void)op;
    return NULL;
}
#endif
