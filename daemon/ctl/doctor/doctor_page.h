// The report of `edgectl doctor` as a page of Markdown, for machines that nobody here has: what
// machine it is, then a table of the checks.
#pragma once

#include <stdio.h>

// The title, the table of the machine, and the head of the table of the checks.
void doctor_page_begin(FILE *out);
// A row of the second; the texts may have any characters.
void doctor_page_add_row(FILE *out, const char *verdict, const char *subject, const char *text);
