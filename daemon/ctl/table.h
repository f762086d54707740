// A plain text table: left-aligned columns two spaces apart, the last one without padding.
#pragma once

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 8

struct table;

struct table *table_new(size_t columns);
void table_free(struct table *table); // NULL is fine
// Appends a copy of one cell; cells fill rows from left to right.
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints all rows, each on a line of its own.
void table_print(const struct table *table, FILE *file);
