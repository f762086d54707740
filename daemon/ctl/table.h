// A plain text table: left-aligned columns two spaces apart, the last one without padding.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 16

struct table;

// A table with a first row of `columns` titles, at most TABLE_COLUMNS_MAX.
struct table *table_new(const char *const *titles, size_t columns);
void table_free(struct table *table); // NULL is fine
// Appends a copy of one cell; cells fill rows from left to right.
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Whether there is a row beside the titles.
bool table_has_rows(const struct table *table);
// Prints all rows, each on a line of its own.
void table_print(const struct table *table, FILE *file);
