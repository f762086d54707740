// The report of `edgectl doctor` as a page of Markdown, for machines that nobody here has: what
// machine it is, then a table of the checks. It goes to standard output as it is made.
#pragma once

// The title, the table of the machine, and the head of the table of the checks.
void doctor_page_begin(void);
// A row of the second; the texts may have any characters.
void doctor_page_add_row(const char *verdict, const char *subject, const char *text);
