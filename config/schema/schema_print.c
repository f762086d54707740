// Strings and numbers as they stand in a file, and in a message.
#include "config/redact.h"
#include "config/schema/schema_value.h"

#include <glib.h>
#include <string.h>

#define EXCERPT_LENGTH_MAX 64

static void print_quoted(FILE *file, const char *string, size_t limit)
{
    fputc('"', file);
    for (size_t i = 0; string[i]; i++) {
        unsigned char byte = (unsigned char)string[i];

        // Cut between characters: 10xxxxxx continues one in UTF-8.
        if (i >= limit && (byte & 0xc0) != 0x80) {
            fputs("…", file);
            break;
        }
        if (byte == '"' || byte == '\\')
            fprintf(file, "\\%c", byte);
        else if (byte < ' ' || byte == 0x7f)
            fprintf(file, "\\x%02x", byte);
        else
            fputc(byte, file);
    }
    fputc('"', file);
}

void schema_print_quoted(FILE *file, const char *string)
{
    print_quoted(file, string, SIZE_MAX);
}

void schema_print_excerpt(FILE *file, const char *string)
{
    char copy[64 * EXCERPT_LENGTH_MAX]; // half a secret cannot be told from anything else

    snprintf(copy, sizeof copy, "%s", string);
    redact(copy);
    print_quoted(file, copy, EXCERPT_LENGTH_MAX);
}

struct number_text {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
};

static struct number_text format_number(double number)
{
    struct number_text buffer;

    g_ascii_formatd(buffer.text, sizeof buffer.text, "%.15g", number);
    if (g_ascii_strtod(buffer.text, NULL) != number)
        g_ascii_formatd(buffer.text, sizeof buffer.text, "%.17g", number);
    return buffer;
}

void schema_print_number(FILE *file, double number)
{
    fputs(format_number(number).text, file);
}

void schema_print_fraction(FILE *file, double number)
{
    struct number_text buffer = format_number(number);
    bool digits_only = buffer.text[strspn(buffer.text, "-0123456789")] == '\0';

    fprintf(file, "%s%s", buffer.text, digits_only ? ".0" : "");
}
