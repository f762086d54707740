// Turns of those who wait to go on with a handshake, one in a turn of the main loop: a signature by
// RSA of 4096 bits takes milliseconds, and all that is served meanwhile waits. So a crowd that
// comes at once costs a viewer one signature between two of its packets, not fifty. Main loop only.
#pragma once

#include <glib.h>
#include <stdbool.h>

// Embedded, {0} to begin with. Whoever waits is removed before it ends.
struct handshakes {
    GQueue waiting; // borrowed struct handshake, the one that has waited longest first
    guint source;   // GLib source id; 0: nobody waits
};

// Embedded in who waits.
struct handshake {
    void (*turn)(void *context); // may add it again, or remove any
    void *context;
    bool waits;
};

// Gives a handshake its turn, once, behind those that wait already. Takes one that waits.
void handshakes_add(struct handshakes *handshakes, struct handshake *handshake);
// Takes one that does not wait.
void handshakes_remove(struct handshakes *handshakes, struct handshake *handshake);
