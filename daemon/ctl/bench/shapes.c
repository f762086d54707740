#include "daemon/ctl/bench/shapes.h"

static const struct config_block quick_shapes[] = {
    {32, 1, 0}, {64, 1, 0}, {128, 1, 0}, {256, 1, 0}, {512, 1, 0}, {32, 2, 0},
    {32, 4, 0}, {32, 8, 0}, {64, 4, 0},  {128, 2, 0}, {16, 16, 0}, {32, 16, 0},
};
static const struct config_block more_shapes[] = {
    {32, 1, 0},  {96, 1, 0},  {96, 2, 0},  {96, 4, 0},  {160, 1, 0}, {192, 1, 0}, {192, 2, 0},
    {192, 4, 0}, {384, 1, 0}, {384, 2, 0}, {768, 1, 0}, {2, 128, 0}, {1, 256, 0}, {1, 1024, 0},
};

struct list {
    struct config_block *shapes;
    size_t count;
    unsigned threads_max;
    int rows;
};

bool shape_same_threads(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y;
}

bool shape_equal(struct config_block a, struct config_block b)
{
    return shape_same_threads(a, b) && a.rows == b.rows;
}

static void add(struct list *list, struct config_block shape)
{
    if (shape.x < 1 || shape.y < 1 || (unsigned)shape.x * (unsigned)shape.y > list->threads_max ||
        list->count == SHAPES_MAX) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (shape_same_threads(list->shapes[i], shape)) {
            return;
        }
    }
    shape.rows = list->rows;
    list->shapes[list->count++] = shape;
}

static void add_all(struct list *list, const struct config_block *shapes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(list, shapes[i]);
    }
}

size_t shapes_list(unsigned threads_max, bool quick, struct config_block first,
                   struct config_block second, struct config_block *ret_shapes)
{
    struct list list = {ret_shapes, 0, threads_max, first.rows};

    add(&list, first);
    add(&list, second);
    if (quick) {
        add_all(&list, quick_shapes, ARRAY_LENGTH(quick_shapes));
        return list.count;
    }
    for (int threads = 64; threads <= CONFIG_BLOCK_THREADS_MAX; threads *= 2) {
        for (int x = threads; x >= 4; x /= 2) {
            add(&list, (struct config_block){x, threads / x, 0});
        }
    }
    add_all(&list, more_shapes, ARRAY_LENGTH(more_shapes));
    return list.count;
}

size_t shapes_list_rows(const struct config_block *shapes, size_t count, int own_rows,
                        struct config_block *ret_shapes)
{
    size_t listed = 0;

    for (size_t i = 0; i < count; i++) {
        const int rows[SHAPES_ROWS_MAX] = {shapes[i].rows, own_rows, 2, 4, 8, 16, 32};

        for (size_t j = 0; j < ARRAY_LENGTH(rows); j++) {
            struct config_block shape = {shapes[i].x, shapes[i].y, rows[j]};
            size_t k = 0;

            while (k < listed && !shape_equal(ret_shapes[k], shape)) {
                k++;
            }
            if (k == listed) {
                ret_shapes[listed++] = shape;
            }
        }
    }
    return listed;
}
