#include "daemon/ctl/table.h"

#include <glib.h>
#include <stdarg.h>
#include <string.h>

struct table {
    size_t columns;
    GPtrArray *cells; // char *, row by row
};

struct table *table_new(const char *const *titles, size_t columns)
{
    struct table *table = g_new(struct table, 1);

    table->columns = columns;
    table->cells = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < columns; i++)
        table_add(table, "%s", titles[i]);
    return table;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    g_ptr_array_unref(table->cells);
    g_free(table);
}

void table_add(struct table *table, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_ptr_array_add(table->cells, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

// Width in characters, as on a terminal; cells that are no UTF-8 count bytes.
static size_t cell_width(const char *cell)
{
    return g_utf8_validate(cell, -1, NULL) ? (size_t)g_utf8_strlen(cell, -1) : strlen(cell);
}

bool table_has_rows(const struct table *table)
{
    return table->cells->len > table->columns;
}

void table_print(const struct table *table, FILE *file)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0};

    for (size_t i = 0; i < table->cells->len; i++) {
        size_t *width = &widths[i % table->columns];

        *width = MAX(*width, cell_width(table->cells->pdata[i]));
    }
    for (size_t i = 0; i < table->cells->len; i++) {
        const char *cell = table->cells->pdata[i];
        size_t column = i % table->columns;

        if (column + 1 == table->columns) {
            fprintf(file, "%s\n", cell);
        } else if (column + 2 == table->columns && !((char *)table->cells->pdata[i + 1])[0]) {
            fputs(cell, file); // the line ends here
        } else {
            fprintf(file, "%s%*s", cell, (int)(widths[column] - cell_width(cell) + 2), "");
        }
    }
}
