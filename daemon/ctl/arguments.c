#include "daemon/ctl/arguments.h"

#include <errno.h>
#include <string.h>

#define SIDE_MAX 16384

int backend_parse(const char *text, enum config_backend *ret_backend)
{
    for (enum config_backend i = CONFIG_BACKEND_AUTO; i <= CONFIG_BACKEND_CPU; i++) {
        if (strcmp(text, config_backend_name(i)) == 0) {
            *ret_backend = i;
            return 0;
        }
    }
    return -EINVAL;
}

int memory_parse(const char *text, size_t length, enum config_memory *ret_memory)
{
    for (enum config_memory i = CONFIG_MEMORY_REGISTERED; i < CONFIG_MEMORY_HOST; i++) {
        const char *name = config_memory_name(i);

        if (strlen(name) == length && memcmp(text, name, length) == 0) {
            *ret_memory = i;
            return 0;
        }
    }
    return -EINVAL;
}

// Digits alone, up to `end`, which may be the end of the text.
static int digits_parse(const char *text, char end, int maximum, const char **ret_end)
{
    size_t count = strspn(text, "0123456789");
    long number = count > 0 && count < 10 ? strtol(text, NULL, 10) : -1;

    if (text[count] != end || number < 0 || number > maximum) {
        return -EINVAL;
    }
    *ret_end = text + count;
    return (int)number;
}

int size_parse(const char *text, struct picture_size *ret_size)
{
    const char *end;
    int width = digits_parse(text, 'x', SIDE_MAX, &end);
    int height = width > 0 ? digits_parse(end + 1, '\0', SIDE_MAX, &end) : -EINVAL;

    if (height < 1) {
        return -EINVAL;
    }
    *ret_size = (struct picture_size){width, height};
    return 0;
}

int number_parse(const char *text, int minimum, int maximum, int *ret_number)
{
    const char *end;
    int number = digits_parse(text, '\0', maximum, &end);

    if (number < minimum) {
        return -EINVAL;
    }
    *ret_number = number;
    return 0;
}
