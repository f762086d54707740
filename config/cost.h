// What a change of the configuration costs those who watch. The schema names it for each key, and
// diff.h finds the cost of a whole change.
#pragma once

// From nothing to all.
enum config_cost {
    CONFIG_COST_NONE,   // nothing has changed
    CONFIG_COST_FRAME,  // between two frames: no viewer loses one
    CONFIG_COST_VIEW,   // the view starts anew and its viewers go on at a key frame; others go on
    CONFIG_COST_CAMERA, // the camera process is replaced; its viewers see the slate meanwhile
    CONFIG_COST_START,  // only the next start of edged
};
