#include "tests/fakes/cuda/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, symbol, parameters) [CALL_##symbol] = #symbol,
static const char *const call_names[CALL_COUNT] = {CUDA_DRIVER_FUNCTIONS(NAME)};
#undef NAME

const char *options_call_name(enum call call)
{
    return call_names[call];
}

static bool read_number(const char *text, uint64_t *ret_number)
{
    char *end;

    *ret_number = strtoull(text, &end, 10);
    return end != text && *end == '\0';
}

static bool find_call(const char *symbol, enum call *ret_call)
{
    enum call call = 0;

    while (call < CALL_COUNT && strcmp(call_names[call], symbol) != 0)
        call++;
    *ret_call = call;
    return call < CALL_COUNT;
}

static bool read_wait(const char *value, struct options_fail *ret_wait)
{
    const char *colon = strchr(value, ':');
    char symbol[64] = "";

    snprintf(symbol, sizeof symbol, "%.*s", colon ? (int)(colon - value) : 0, value);
    return find_call(symbol, &ret_wait->call) && read_number(colon + 1, &ret_wait->nth);
}

static bool read_fail(struct options *options, const char *value)
{
    struct options_fail fail = {.call = CALL_COUNT};
    char symbol[64], nth[24], tail;
    size_t last;

    if (sscanf(value, "%63[^:]:%23[0-9+]:%d%c", symbol, nth, &fail.result, &tail) != 3 ||
        options->fail_count == OPTIONS_MAX) {
        return false;
    }
    last = strlen(nth) - 1;
    if (nth[last] == '+') {
        fail.onward = true;
        nth[last] = '\0';
    }
    if (strcmp(symbol, "*") != 0 && !find_call(symbol, &fail.call))
        return false;
    if (!read_number(nth, &fail.nth))
        return false;
    options->fails[options->fail_count++] = fail;
    return true;
}

bool options_read_kernel(const char *key, const char *value, struct options_kernel *ret_kernel)
{
    static const struct {
        const char *key;
        enum options_act act;
    } acts[] = {
        {"hang", ACT_HANG},     {"illegal", ACT_ILLEGAL},     {"slow", ACT_SLOW},
        {"refuse", ACT_REFUSE}, {"registers", ACT_REGISTERS}, {"wrong", ACT_WRONG},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(acts); i++) {
        struct options_kernel kernel = {.act = acts[i].act, .value = 1};
        const char *colon = strchr(value, ':');
        size_t length = colon ? (size_t)(colon - value) : strlen(value);

        if (strcmp(key, acts[i].key) == 0 && length < sizeof kernel.prefix &&
            (!colon || read_number(colon + 1, &kernel.value))) {
            memcpy(kernel.prefix, value, length);
            *ret_kernel = kernel;
            return true;
        }
    }
    return false;
}

static bool read_path(const char *value, char path[256])
{
    return snprintf(path, 256, "%s", value) < 256;
}

static bool read_option(struct options *options, const char *key, const char *value)
{
    uint64_t number;

    if (strcmp(key, "board") == 0) {
        return true; // done already
    }
    if (strcmp(key, "driver") == 0 && read_number(value, &number)) {
        options->driver_version = (int)number;
        return true;
    }
    if (strcmp(key, "memory") == 0 && read_number(value, &number)) {
        options->memory_bytes = number;
        return true;
    }
    if (strcmp(key, "fail") == 0)
        return read_fail(options, value);
    if (strcmp(key, "wait") == 0)
        return read_wait(value, &options->wait);
    if (strcmp(key, "trigger") == 0)
        return read_path(value, options->trigger);
    if (strcmp(key, "report") == 0)
        return read_path(value, options->report);
    if (options->kernel_count < OPTIONS_MAX &&
        options_read_kernel(key, value, &options->kernels[options->kernel_count])) {
        options->kernel_count++;
        return true;
    }
    return false;
}

// The board comes first, wherever it is named: the others change what it says.
static const struct board *read_board(const char *text)
{
    const char *at = strstr(text, "board=");
    char name[32] = "orin-nano";

    if (at)
        sscanf(at, "board=%31[^,]", name);
    return board_find(name);
}

void options_read(const char *text, struct options *ret_options)
{
    struct options options = {.board = read_board(text ? text : "")};
    char copy[2048], *rest = NULL;

    if (!options.board || snprintf(copy, sizeof copy, "%s", text ? text : "") >= (int)sizeof copy) {
        fprintf(stderr, "fake_cuda: no such board, or too long: %s\n", text);
        abort();
    }
    options.driver_version = options.board->driver_version;
    options.memory_bytes = options.board->memory_bytes;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(word, '=');

        if (equals)
            *equals = '\0';
        if (!equals || !read_option(&options, word, equals + 1)) {
            fprintf(stderr, "fake_cuda: option %s=%s is not understood\n", word,
                    equals ? equals + 1 : "");
            abort();
        }
    }
    *ret_options = options;
}
