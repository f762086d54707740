// The queue of TLS handshakes. A signature by RSA of 4096 bits takes milliseconds, and all that is
// served meanwhile waits: one step runs in an iteration of the main loop, addresses take turns, and
// after a step the queue rests for as long as the step took. So a crowd has half of the loop's time
// at most, and whoever comes from another address waits for one step of each, not for the crowd.
// Main loop only.
#pragma once

#include <glib.h>
#include <stdbool.h>

// Embedded, {0} to begin with. Whoever waits is removed before it ends.
struct handshakes {
    GQueue lines;    // borrowed struct handshake_line, the one whose turn is next first
    GSource *source; // owned; NULL: nobody waits
};

// Those of one address that wait. Embedded, {0} to begin with; outlives those who wait in it.
struct handshake_line {
    GQueue waiting; // borrowed struct handshake, the one that has waited longest first
};

// Embedded in who waits.
struct handshake {
    struct handshake_line *line;
    void (*turn)(void *context); // may add it again, or remove any
    void *context;
    bool waits;
};

// Gives a handshake its turn, once, behind those of its line that wait already. Takes one that
// waits.
void handshakes_add(struct handshakes *handshakes, struct handshake *handshake);
// Takes one that does not wait.
void handshakes_remove(struct handshakes *handshakes, struct handshake *handshake);
