// Commands of a broker's clients, as a request to edged.
#pragma once

#include "config/base.h"
#include "daemon/mqtt/settings.h"

#define COMMAND_SIZE_MAX 4096u // bytes of a payload

struct command {
    char *page; // owned
    char *json; // owned; the body
    bool is_patch;
};

// Reads "CAMERA/PATH", what stands in a command's topic behind ".../set/", and its payload of
// `size` bytes: a setting's value in the form of setting_text(), or for CAMERA/record the seconds
// of a clip, where 0 ends it. -EINVAL with a sentence that says what is allowed. The caller
// command_finish()es *ret_command.
int command_read(const struct edged_state *edged, const char *topic, const char *payload,
                 size_t size, struct error *error, struct command *ret_command);
void command_finish(struct command *command);
