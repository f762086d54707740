#include "daemon/camera/encoder_lives.h"

void encoder_lives_begin(struct encoder_lives *lives, const struct link_access_unit *life,
                         int64_t pts_ns)
{
    if (lives->count == ENCODER_LIVES_MAX) {
        lives->first = (lives->first + 1) % ENCODER_LIVES_MAX;
        lives->count--;
    }
    unsigned slot = (lives->first + lives->count++) % ENCODER_LIVES_MAX;
    lives->lives[slot] = *life;
    lives->pts_ns[slot] = pts_ns;
}

bool encoder_lives_end(struct encoder_lives *lives, int64_t pts_ns,
                       struct link_access_unit *ret_life)
{
    bool found = false;

    while (lives->count && lives->pts_ns[lives->first] <= pts_ns) {
        found = lives->pts_ns[lives->first] == pts_ns;
        *ret_life = lives->lives[lives->first];
        lives->first = (lives->first + 1) % ENCODER_LIVES_MAX;
        lives->count--;
    }
    return found;
}
