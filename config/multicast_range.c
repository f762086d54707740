#include "config/multicast_range.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST UINT32_C(0xe0000100)
#define MOST UINT32_C(0xefffffff)

static bool read_address(const char *text, size_t length, uint32_t *ret_address)
{
    char copy[INET_ADDRSTRLEN];
    struct in_addr address;

    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET, copy, &address) != 1)
        return false;
    *ret_address = ntohl(address.s_addr);
    return true;
}

// The last address of the network that begins at `first`.
static bool read_prefix(const char *text, uint32_t first, uint32_t *ret_last)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long bits = strtoul(text, NULL, 10);

    if (digits == 0 || digits > 2 || text[digits] != '\0' || bits < 4 || bits > 32)
        return false;
    uint32_t rest = bits == 32 ? 0 : UINT32_MAX >> bits;
    *ret_last = first | rest;
    return (first & rest) == 0;
}

int multicast_range_parse(const char *text, struct multicast_range *ret_range)
{
    size_t length = strcspn(text, "/-");
    const char *end = text + length;
    uint32_t first, last;

    if (!*text) {
        *ret_range = (struct multicast_range){0};
        return 0;
    }
    if (!read_address(text, length, &first))
        return -EINVAL;
    last = first;
    if ((*end == '/' && !read_prefix(end + 1, first, &last)) ||
        (*end == '-' && !read_address(end + 1, strlen(end + 1), &last)) || first < LEAST ||
        last > MOST || first > last) {
        return -EINVAL;
    }
    *ret_range = (struct multicast_range){first, last - first + 1};
    return 0;
}
