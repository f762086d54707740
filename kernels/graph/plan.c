#include "kernels/graph/plan.h"

#include <assert.h>
#include <string.h>

struct plan_step plan_step(enum stage_kind kind, const struct config_view *settings)
{
    struct plan_step step = {.kind = kind};
    struct stage_options *options = &step.options;
    // Among stages of one's own neither the view's operator nor its thresholds have an effect.
    bool custom = settings->view == CONFIG_VIEW_CUSTOM;

    switch (kind) {
    case STAGE_BLUR:
        options->blur = settings->blur;
        break;
    case STAGE_GRADIENT:
    case STAGE_DIRECTION:
        options->op = custom ? CONFIG_OPERATOR_SOBEL : settings->op;
        options->norm = settings->norm;
        options->gain = settings->gain;
        break;
    case STAGE_THRESHOLD:
    case STAGE_DIFFERENCE:
        options->threshold = settings->threshold;
        break;
    case STAGE_ERODE:
    case STAGE_DILATE:
        options->times = settings->view == CONFIG_VIEW_MOTION ? settings->erode : settings->times;
        break;
    case STAGE_MARK:
        options->mark = settings->mark;
        break;
    case STAGE_OVERLAY:
        config_colour_parse(settings->colour, options->colour);
        break;
    case STAGE_CANNY:
        options->thresholds = custom ? CONFIG_THRESHOLDS_FIXED : settings->thresholds;
        if (options->thresholds == CONFIG_THRESHOLDS_FIXED) {
            options->low = settings->low;
            options->high = settings->high;
        }
        break;
    default:
        break;
    }
    return step;
}

int plan_find(const struct plan *plan, enum stage_kind kind)
{
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == kind)
            return (int)i;
    }
    return -1;
}

static void set_mask(struct plan *plan, struct mask_plane *mask)
{
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == STAGE_MASK)
            plan->steps[i].options.mask = mask;
    }
}

int plan_load_mask(struct plan *plan, const struct view_setup *setup, struct error *error,
                   struct mask_plane **ret_mask)
{
    int r;

    *ret_mask = NULL;
    if (plan_find(plan, STAGE_MASK) < 0)
        return 0;
    r = mask_plane_new(setup->settings, setup->input->width, setup->input->height, setup->read_mask,
                       setup->read_context, error, ret_mask);
    if (r == 0)
        set_mask(plan, *ret_mask);
    return r;
}

// A plan that is being made.
struct planning {
    struct plan plan;
    const struct config_view *settings;
    const struct pixel_format *input;
    bool exact;
    bool mask; // what the steps so far make is 0 and 255 alone
};

static void add(struct planning *planning, enum stage_kind kind)
{
    struct plan *plan = &planning->plan;
    bool shapes = kind == STAGE_ERODE || kind == STAGE_DILATE;

    assert(plan->count < PLAN_STEPS_MAX);
    plan->steps[plan->count] = plan_step(kind, planning->settings);
    plan->steps[plan->count].options.shades = shapes && !planning->mask;
    plan->count++;
    if (!shapes && kind != STAGE_MASK)
        planning->mask = kind == STAGE_THRESHOLD || kind == STAGE_CANNY || kind == STAGE_DIFFERENCE;
}

// Adds the mask to a built-in view, behind the last step that makes a single plane.
static void add_mask(struct planning *planning)
{
    if (config_view_is_masked(planning->settings))
        add(planning, STAGE_MASK);
}

static void plan_camera(struct planning *planning)
{
    struct plan *plan = &planning->plan;

    plan->format = "NV12";
    if (planning->exact)
        plan->format = strcmp(planning->input->name, "GREY") == 0 ? "GREY" : "RGB3";
    // The camera's own picture is nothing to write on.
    if (strcmp(plan->format, planning->input->name) != 0 ||
        (!planning->exact && config_view_has_label(planning->settings))) {
        add(planning, STAGE_CONVERT);
    }
}

// Gray rows, where plane 0 does not hold them as they are.
static void add_gray(struct planning *planning)
{
    if (planning->input->luma_step != 1)
        add(planning, STAGE_GRAY);
}

static void plan_gray(struct planning *planning)
{
    bool exact = planning->exact;

    planning->plan.format = exact ? "GREY" : "NV12";
    planning->plan.computed = planning->input->luma_step == 0;
    if (config_view_is_masked(planning->settings)) {
        add_gray(planning);
        add_mask(planning);
    } else if (!exact || strcmp(planning->input->name, "GREY") != 0) {
        add(planning, STAGE_GRAY);
    }
}

static void add_smooth_gray(struct planning *planning)
{
    add_gray(planning);
    if (planning->settings->blur != 0)
        add(planning, STAGE_BLUR);
}

static void add_gradient(struct planning *planning)
{
    planning->plan.format = planning->exact ? "GREY" : "NV12";
    planning->plan.computed = true;
    add_smooth_gray(planning);
    add(planning, STAGE_GRADIENT);
}

static void plan_edges(struct planning *planning)
{
    add_gradient(planning);
    add_mask(planning);
}

static void add_morphology(struct planning *planning, enum config_morphology morphology)
{
    if (morphology == CONFIG_MORPHOLOGY_ERODE || morphology == CONFIG_MORPHOLOGY_OPEN)
        add(planning, STAGE_ERODE);
    if (morphology > CONFIG_MORPHOLOGY_ERODE)
        add(planning, STAGE_DILATE);
    if (morphology == CONFIG_MORPHOLOGY_CLOSE)
        add(planning, STAGE_ERODE);
}

static void plan_binary(struct planning *planning)
{
    add_gradient(planning);
    add(planning, STAGE_THRESHOLD);
    add_morphology(planning, planning->settings->morphology);
    add_mask(planning);
}

static void plan_overlay(struct planning *planning)
{
    add_gradient(planning);
    add(planning, STAGE_THRESHOLD);
    add_mask(planning);
    add(planning, STAGE_OVERLAY);
    planning->plan.format = planning->exact ? "RGB3" : "NV12";
    planning->plan.computed = false;
}

static void plan_direction(struct planning *planning)
{
    planning->plan.format = planning->exact ? "RGB3" : "NV12";
    planning->plan.computed = true;
    add_gray(planning);
    if (planning->settings->blur != 0)
        add(planning, STAGE_BLUR);
    add(planning, STAGE_DIRECTION);
}

static void plan_canny(struct planning *planning)
{
    planning->plan.format = planning->exact ? "GREY" : "NV12";
    planning->plan.computed = true;
    add_smooth_gray(planning);
    add(planning, STAGE_CANNY);
    add_mask(planning);
}

static void add_difference(struct planning *planning)
{
    add(planning, STAGE_DIFFERENCE);
    if (planning->settings->threshold == CONFIG_THRESHOLD_OTSU)
        add(planning, STAGE_THRESHOLD);
}

static void plan_motion(struct planning *planning)
{
    planning->plan.format = planning->exact ? "RGB3" : "NV12";
    add_gray(planning);
    add_difference(planning);
    if (planning->settings->erode > 0)
        add(planning, STAGE_ERODE);
    add_mask(planning);
    add(planning, STAGE_MARK);
}

// With an option that no key but the stage's own word has.
static void add_own_blur(struct planning *planning, int side)
{
    add(planning, STAGE_BLUR);
    planning->plan.steps[planning->plan.count - 1].options.blur = side;
}

static void add_own_gradient(struct planning *planning, enum config_operator op)
{
    struct stage_options *options;

    add(planning, STAGE_GRADIENT);
    options = &planning->plan.steps[planning->plan.count - 1].options;
    options->op = op;
}

static void add_stage(struct planning *planning, enum config_stage stage)
{
    switch (stage) {
    case CONFIG_STAGE_BLUR3:
    case CONFIG_STAGE_BLUR5:
        add_own_blur(planning, stage == CONFIG_STAGE_BLUR3 ? 3 : 5);
        break;
    case CONFIG_STAGE_SOBEL:
    case CONFIG_STAGE_SOBEL5:
    case CONFIG_STAGE_SCHARR:
    case CONFIG_STAGE_PREWITT:
        add_own_gradient(planning, CONFIG_OPERATOR_SOBEL + (stage - CONFIG_STAGE_SOBEL));
        break;
    case CONFIG_STAGE_THRESHOLD:
        add(planning, STAGE_THRESHOLD);
        break;
    case CONFIG_STAGE_CANNY:
        add(planning, STAGE_CANNY);
        break;
    case CONFIG_STAGE_DIFFERENCE:
        add_difference(planning);
        break;
    case CONFIG_STAGE_ERODE:
    case CONFIG_STAGE_DILATE:
    case CONFIG_STAGE_OPEN:
    case CONFIG_STAGE_CLOSE:
        add_morphology(planning, CONFIG_MORPHOLOGY_ERODE + (stage - CONFIG_STAGE_ERODE));
        break;
    case CONFIG_STAGE_MASK:
        add(planning, STAGE_MASK);
        break;
    case CONFIG_STAGE_MARK:
    case CONFIG_STAGE_OVERLAY:
        planning->plan.computed = false;
        planning->plan.format = planning->exact ? "RGB3" : "NV12";
        add(planning, stage == CONFIG_STAGE_MARK ? STAGE_MARK : STAGE_OVERLAY);
        break;
    case CONFIG_STAGE_DIRECTION:
        planning->plan.format = planning->exact ? "RGB3" : "NV12";
        add(planning, STAGE_DIRECTION);
        break;
    case CONFIG_STAGE_GRAY: // comes first, by itself
    case CONFIG_STAGE_COUNT:
        break;
    }
}

static void plan_custom(struct planning *planning)
{
    const struct config_words *stages = &planning->settings->stages;

    if (stages->count == 1 && stages->list[0] == CONFIG_STAGE_GRAY) {
        plan_gray(planning);
        return;
    }
    planning->plan.format = planning->exact ? "GREY" : "NV12";
    planning->plan.computed = true;
    add_gray(planning);
    for (size_t i = 0; i < stages->count; i++)
        add_stage(planning, (enum config_stage)stages->list[i]);
}

// Each side has a plan of its own (split.h).
static void plan_split(struct planning *planning)
{
    planning->plan.format = planning->exact ? "RGB3" : "NV12";
}

// The last step that maps its picture to a range itself.
static bool ends_in_direction(const struct plan *plan)
{
    return plan->count > 0 && plan->steps[plan->count - 1].kind == STAGE_DIRECTION;
}

struct plan plan_make(const struct config_view *settings, const struct pixel_format *input,
                      enum view_output output)
{
    static void (*const makers[])(struct planning *) = {
        [CONFIG_VIEW_CAMERA] = plan_camera,   [CONFIG_VIEW_GRAY] = plan_gray,
        [CONFIG_VIEW_EDGES] = plan_edges,     [CONFIG_VIEW_BINARY] = plan_binary,
        [CONFIG_VIEW_CANNY] = plan_canny,     [CONFIG_VIEW_MOTION] = plan_motion,
        [CONFIG_VIEW_OVERLAY] = plan_overlay, [CONFIG_VIEW_DIRECTION] = plan_direction,
        [CONFIG_VIEW_SPLIT] = plan_split,     [CONFIG_VIEW_CUSTOM] = plan_custom,
    };
    struct planning planning = {
        .settings = settings, .input = input, .exact = output == VIEW_OUTPUT_EXACT};

    makers[settings->view](&planning);
    if (planning.plan.computed && !planning.exact && !ends_in_direction(&planning.plan))
        add(&planning, STAGE_COMPOSE);
    return planning.plan;
}
