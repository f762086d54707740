#include "daemon/ctl/shapes.h"

static const struct config_block quick_shapes[] = {
    {32, 1}, {64, 1}, {128, 1}, {256, 1}, {512, 1}, {32, 2},
    {32, 4}, {32, 8}, {64, 4},  {128, 2}, {16, 16}, {32, 16},
};
static const struct config_block more_shapes[] = {
    {32, 1},  {96, 1},  {96, 2},  {96, 4},  {160, 1}, {192, 1}, {192, 2},
    {192, 4}, {384, 1}, {384, 2}, {768, 1}, {2, 128}, {1, 256}, {1, 1024},
};

struct list {
    struct config_block *shapes;
    size_t count;
    unsigned threads_max;
};

bool shape_equal(struct config_block a, struct config_block b)
{
    return a.x == b.x && a.y == b.y;
}

static void add(struct list *list, struct config_block shape)
{
    if (shape.x < 1 || shape.y < 1 || (unsigned)shape.x * (unsigned)shape.y > list->threads_max ||
        list->count == SHAPES_MAX) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (shape_equal(list->shapes[i], shape)) {
            return;
        }
    }
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
    struct list list = {ret_shapes, 0, threads_max};

    add(&list, first);
    add(&list, second);
    if (quick) {
        add_all(&list, quick_shapes, ARRAY_LENGTH(quick_shapes));
        return list.count;
    }
    for (int threads = 64; threads <= CONFIG_BLOCK_THREADS_MAX; threads *= 2) {
        for (int x = threads; x >= 4; x /= 2) {
            add(&list, (struct config_block){x, threads / x});
        }
    }
    add_all(&list, more_shapes, ARRAY_LENGTH(more_shapes));
    return list.count;
}
