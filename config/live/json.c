// A configuration, and the table of its keys, as JSON.
#include "config/live/live.h"
#include "config/redact.h"
#include "config/schema/schema_value.h"

#include <glib.h>
#include <string.h>

void config_print_json_string(FILE *file, const char *string)
{
    g_autofree char *valid = g_utf8_make_valid(string, -1);

    fputc('"', file);
    for (const char *at = valid; *at; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte == '"' || byte == '\\')
            fprintf(file, "\\%c", byte);
        else if (byte < ' ' || byte == 0x7f)
            fprintf(file, "\\u%04x", byte);
        else
            fputc(byte, file);
    }
    fputc('"', file);
}

// Without its secrets; *** stands for each, and no patch with *** is taken.
static void print_redacted(FILE *file, const char *string)
{
    g_autofree char *copy = g_strdup(string);

    redact(copy);
    config_print_json_string(file, copy);
}

static void print_controls(FILE *file, const struct schema_key *key, const void *object)
{
    size_t count;
    const struct config_control *controls = (void *)schema_get_list(key, object, &count);

    fputc('{', file);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", file);
        config_print_json_string(file, controls[i].name);
        fprintf(file, ":%d", controls[i].value);
    }
    fputc('}', file);
}

// Prints words and numbers as libconfig does: JSON writes them alike, except for the brackets of
// lists.
static void print_value(FILE *file, const struct schema_key *key, const void *object)
{
    _cleanup_(cleanup_free) char *text = NULL;
    FILE *stream;
    size_t size;

    if (key->type == SCHEMA_STRING) {
        print_redacted(file, *(char *const *)((const char *)object + key->offset));
        return;
    }
    if (key->type == SCHEMA_CONTROLS) {
        print_controls(file, key, object);
        return;
    }
    stream = open_memstream(&text, &size);
    if (!stream) {
        fputs("null", file);
        return;
    }
    schema_print_value(stream, key, object);
    fclose(stream);
    for (const char *at = text; *at; at++)
        fputc(*at == '(' ? '[' : *at == ')' ? ']' : *at, file);
}

static void print_group(FILE *file, const struct schema_group *group, const void *object,
                        enum config_role role);

static void print_list(FILE *file, const struct schema_key *key, const void *object,
                       enum config_role role)
{
    size_t count;
    const char *elements = schema_get_list(key, object, &count), *separator = "";

    fputc('{', file);
    for (size_t i = 0; i < count; i++) {
        const char *element = elements + i * key->group->size;

        if (config_element_role(key->group, element) > role)
            continue;
        fputs(separator, file);
        config_print_json_string(file, schema_name_of(element));
        fputs(":{", file);
        print_group(file, key->group, element, role);
        fputc('}', file);
        separator = ",";
    }
    fputc('}', file);
}

static void print_key(FILE *file, const struct schema_key *key, const void *object,
                      enum config_role role)
{
    if (key->type == SCHEMA_GROUP) {
        fputc('{', file);
        print_group(file, key->group, object, role);
        fputc('}', file);
    } else if (key->type == SCHEMA_LIST) {
        print_list(file, key, object, role);
    } else if (schema_is_unset(key, object)) {
        fputs("null", file);
    } else {
        print_value(file, key, object);
    }
}

static void print_group(FILE *file, const struct schema_group *group, const void *object,
                        enum config_role role)
{
    const char *separator = "";

    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];

        if (!schema_has_effect(group, key, object) || schema_is_name(group, key) ||
            (!key->group && schema_is_unset(key, object))) {
            continue; // the name is that of the member
        }
        fprintf(file, "%s\"%s\":", separator, key->name);
        print_key(file, key, object, role);
        separator = ",";
    }
}

void config_print_json(FILE *file, const struct config *config, enum config_role role)
{
    fputc('{', file);
    print_group(file, &schema_root, config, role);
    fputc('}', file);
}

char *config_json_at(const struct config *config, const char *path)
{
    struct config_place place;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    if (config_find(config, path, NULL, &place) < 0 || !place.object) {
        fputs("null", file);
    } else if (place.element) {
        fputc('{', file);
        print_group(file, place.key->group, place.object, CONFIG_ROLE_ADMIN);
        fputc('}', file);
    } else {
        print_key(file, place.key, place.object, CONFIG_ROLE_ADMIN);
    }
    fclose(file);
    return text;
}

// The table as JSON Schema
// ---------------------------------------------------------------------

const char *config_cost_word(enum config_cost cost)
{
    static const char *const words[] = {
        [CONFIG_COST_NONE] = "none",     [CONFIG_COST_FRAME] = "frame", [CONFIG_COST_VIEW] = "view",
        [CONFIG_COST_CAMERA] = "camera", [CONFIG_COST_START] = "front",
    };

    return words[cost];
}

static void print_range(FILE *file, const struct schema_key *key)
{
    fputs(",\"minimum\":", file);
    schema_print_number(file, key->minimum);
    fputs(",\"maximum\":", file);
    schema_print_number(file, key->maximum);
}

static void print_integer_type(FILE *file, const struct schema_key *key)
{
    fputs(key->word ? "\"anyOf\":[{" : "", file);
    fputs("\"type\":\"integer\"", file);
    if (key->choices) {
        for (const int *choice = key->choices;; choice++) {
            fprintf(file, "%s%d", choice == key->choices ? ",\"enum\":[" : ",", *choice);
            if (*choice >= key->maximum)
                break;
        }
        fputc(']', file);
    } else {
        print_range(file, key);
        fputs(key->even ? ",\"multipleOf\":2" : "", file);
    }
    if (key->word)
        fprintf(file, "},{\"const\":\"%s\"}]", key->word);
}

static void print_words(FILE *file, const struct schema_key *key, unsigned bits)
{
    const char *separator = "";

    fputc('[', file);
    for (unsigned i = 0; key->words[i]; i++) {
        if (bits & SCHEMA_BIT(i)) {
            fprintf(file, "%s\"%s\"", separator, key->words[i]);
            separator = ",";
        }
    }
    fputc(']', file);
}

// Members of the object that describes values of the key.
static void print_type(FILE *file, const struct schema_key *key)
{
    static const char pair[] = "{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":"
                               "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}}";

    switch (key->type) {
    case SCHEMA_INTEGER:
        print_integer_type(file, key);
        break;
    case SCHEMA_NUMBER:
        fputs("\"type\":\"number\"", file);
        print_range(file, key);
        break;
    case SCHEMA_BOOLEAN:
        fputs("\"type\":\"boolean\"", file);
        break;
    case SCHEMA_WORD:
        fputs("\"enum\":", file);
        print_words(file, key, ~0U);
        break;
    case SCHEMA_WORDS:
        fprintf(file, "\"type\":\"array\",\"minItems\":1,\"maxItems\":%d,\"items\":{\"enum\":",
                CONFIG_WORDS_MAX);
        print_words(file, key, ~0U);
        fputc('}', file);
        break;
    case SCHEMA_NAMES:
        fprintf(file, "\"type\":\"array\",\"maxItems\":%d,\"items\":{\"type\":\"string\"}",
                CONFIG_NAMES_MAX);
        break;
    case SCHEMA_BLOCK:
        fputs("\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":\"integer\"",
              file);
        print_range(file, key);
        fputc('}', file);
        break;
    case SCHEMA_POINTS:
        fprintf(file, "\"type\":\"array\",\"minItems\":%.0f,\"maxItems\":%.0f,\"items\":%s",
                key->minimum, key->maximum, pair);
        break;
    case SCHEMA_CONTROLS:
        fputs("\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}", file);
        break;
    default:
        fputs("\"type\":\"string\"", file);
    }
}

static void print_default(FILE *file, const struct schema_key *key)
{
    bool text = key->type == SCHEMA_STRING || key->type == SCHEMA_WORD;

    if (key->default_note) {
        fputs(",\"x-default\":", file);
        config_print_json_string(file, key->default_note);
    } else if (key->default_text) {
        fprintf(file, ",\"default\":%s", key->type == SCHEMA_WORDS ? "[" : "");
        if (text || key->type == SCHEMA_WORDS)
            config_print_json_string(file, key->default_text);
        else
            fputs(key->default_text, file);
        fputs(key->type == SCHEMA_WORDS ? "]" : "", file);
    }
}

static void schema_group_json(FILE *file, const struct schema_group *group);

static void schema_key_json(FILE *file, const struct schema_group *group,
                            const struct schema_key *key)
{
    fprintf(file, "\"%s\":{\"description\":", key->name);
    config_print_json_string(file, key->help);
    fputc(',', file);
    if (key->type == SCHEMA_GROUP) {
        schema_group_json(file, key->group);
    } else if (key->type == SCHEMA_LIST) {
        fprintf(file, "\"type\":\"object\",\"maxProperties\":%.0f,\"additionalProperties\":{",
                key->maximum);
        schema_group_json(file, key->group);
        fputc('}', file);
    } else {
        print_type(file, key);
        print_default(file, key);
    }
    if (key->type != SCHEMA_GROUP) {
        fprintf(file, ",\"x-cost\":\"%s\",\"x-remote\":%s",
                config_cost_word(schema_cost(group, key)), key->remote ? "true" : "false");
    }
    if (key->reveals) {
        fprintf(file, ",\"x-reveals\":\"%s\"",
                key->reveals == SCHEMA_REVEALS_PRIVATE ? "private" : "picture");
    }
    if (key->unit)
        fprintf(file, ",\"x-unit\":\"%s\"", key->unit);
    if (key->used_by) {
        fprintf(file, ",\"x-used-by\":{\"%s\":", group->selector->name);
        print_words(file, group->selector, key->used_by);
        fputc('}', file);
    }
    fputc('}', file);
}

static void schema_group_json(FILE *file, const struct schema_group *group)
{
    const char *separator = "";

    fputs("\"type\":\"object\",\"additionalProperties\":false,\"properties\":{", file);
    for (size_t i = 0; i < group->key_count; i++) {
        if (!schema_is_name(group, &group->keys[i])) {
            fputs(separator, file);
            schema_key_json(file, group, &group->keys[i]);
            separator = ",";
        }
    }
    fputc('}', file);
}

void config_print_schema(FILE *file)
{
    fputs("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
          "\"title\":\"The configuration of edged\",",
          file);
    schema_group_json(file, &schema_root);
    fputc('}', file);
}
