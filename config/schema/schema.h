// The schema: the one table of every key, its type, unit, range, default and help.
//
// Parser, validation, formatter, the commented edged.conf and edged.conf(5) all walk it. Groups
// nest as they do in the file. A value lives at `offset` in the struct of its group; the keys of a
// plain group ("rtsp") live in the struct around it.
#pragma once

#include "config/config.h"

enum schema_type {
    SCHEMA_STRING,   // char *, owned by the struct
    SCHEMA_INTEGER,  // int
    SCHEMA_NUMBER,   // double; integers are accepted
    SCHEMA_BOOLEAN,  // bool
    SCHEMA_WORD,     // an enum; words[value]
    SCHEMA_WORDS,    // a struct config_words of words[value], at least one if it is set
    SCHEMA_NAMES,    // a struct config_names, each as the rule says
    SCHEMA_BLOCK,    // x and y of a struct config_block; not set: {0, 0}
    SCHEMA_GROUP,    // keys of their own, in the same struct
    SCHEMA_LIST,     // pointer to elements at `offset`, size_t at `count_offset`
    SCHEMA_CONTROLS, // a group of free names: struct config_control as in SCHEMA_LIST
    SCHEMA_POINT,    // struct config_point
    SCHEMA_POINTS,   // a list of [x, y] in 0..1: struct config_point as in SCHEMA_LIST; or none
};

// One value of a selector, in a set of them.
#define SCHEMA_BIT(value) (1U << (value))

// Parts of the picture that a change of a key may show to people who could not see them before.
enum schema_reveals {
    SCHEMA_REVEALS_NOTHING,
    SCHEMA_REVEALS_PRIVATE, // what cameras.privacy hides: it changes the part, or moves the picture
    SCHEMA_REVEALS_PICTURE, // the camera's own picture, in a view that did not show it
};

// A rule for a string's form.
struct schema_rule {
    bool (*accepts)(const char *string);
    const char *allowed; // ends the sentence "allowed: …"
};

struct schema_key {
    const char *name;
    enum schema_type type;
    bool even;               // INTEGER: no odd ones
    const char *unit;        // "pixels"; NULL: none
    double minimum, maximum; // INTEGER, NUMBER, each of a BLOCK or POINT, elements of a LIST
                             // or POINTS, included
    const int *choices;      // INTEGER: the only ones allowed, the largest last; NULL: all
    const char *word;        // INTEGER: a word beside numbers, and what it stands for; NULL: none
    int word_value;
    const char *const *words; // WORD, WORDS: by enum value, NULL at the end
    // WORDS: whether they may stand in this order, with "got …, allowed …: …" in `error`; NULL: in
    // any.
    int (*check)(const struct config_words *words, struct error *error);
    const struct schema_rule *rule;
    const char *default_text;         // as config_view_set() takes it; NULL: `default_note`
    const char *default_note;         // a default that depends, in words
    const char *help;                 // one sentence
    enum config_cost cost;            // of a change; NONE: as the group's
    bool remote;                      // may be changed over the network; of a LIST: come and go
    enum schema_reveals reveals;      // of a key that is `remote`: who may change it
    bool aside;                       // makes no difference to what is seen in a frame
    bool front;                       // of no camera: its process is not told
    size_t offset, count_offset;      // bytes into the struct
    const struct schema_group *group; // GROUP, LIST: the keys inside
    unsigned used_by;                 // bit set of selector values this key is for; 0: all
    bool strict;                      // not for the others: an error there, not a warning
    unsigned needed_by;               // the same: must not be empty there
    unsigned implies;                 // the selector's value where only this key stands; 0: none
};

struct schema_group {
    const char *title; // heading in the documents
    const char *help;
    const struct schema_key *keys;
    size_t key_count;
    enum config_cost cost;             // of a change in a key that names none itself
    size_t size;                       // bytes of the struct; 0 for plain groups
    const struct schema_key *selector; // the WORD that used_by and needed_by speak of, or NULL
};

// Of cameras and views: what may stand in a path.
extern const struct schema_rule schema_name_rule;

extern const struct schema_group schema_root;
extern const struct schema_group schema_camera;
extern const struct schema_group schema_view;
extern const struct schema_group schema_label;
extern const struct schema_group schema_region;
extern const struct schema_group schema_privacy;
extern const struct schema_group schema_kernels;
extern const struct schema_group schema_rtsp;
extern const struct schema_group schema_control;
extern const struct schema_group schema_http;
extern const struct schema_group schema_mqtt;
extern const struct schema_group schema_onvif;
extern const struct schema_group schema_storage;
extern const struct schema_group schema_record;

// The key of that name, or NULL.
const struct schema_key *schema_find_key(const struct schema_group *group, const char *name);
// The cost of a change of a key of the group.
enum config_cost schema_cost(const struct schema_group *group, const struct schema_key *key);
// The selector's value in `object`; 0 without a selector.
unsigned schema_selected(const struct schema_group *group, const void *object);
// Whether a key has an effect beside the selector's value in `object`.
bool schema_has_effect(const struct schema_group *group, const struct schema_key *key,
                       const void *object);
// Writes the words of the selector whose bits are set: `"v4l2", "auto"`.
void schema_print_selected(FILE *file, const struct schema_group *group, unsigned bits);
