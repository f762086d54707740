#include "daemon/front/supervise/camera_process.h"

#include "daemon/front/supervise/secret_files.h"

extern char **environ;

// The variables for a camera process, which the unit of the front has and its own has not; the
// array borrows them.
static GPtrArray *list_variables(void)
{
    static const char *const prefixes[] = {"EDGED_", "GST_", "CUDA_", "LIBVA_", "NVIDIA_", "TZ="};
    GPtrArray *variables = g_ptr_array_new();

    for (char **variable = environ; *variable; variable++) {
        for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
            if (g_str_has_prefix(*variable, prefixes[i]))
                g_ptr_array_add(variables, *variable);
        }
    }
    g_ptr_array_add(variables, NULL);
    return variables;
}

static int summon(struct process *process, struct camera_process_plan *plan, char *const *secrets,
                  GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd)
{
    const struct config_camera *camera = &plan->config->cameras[plan->camera];
    const char *paths[CAMERA_FILES_MAX + 1] = {NULL};
    g_autoptr(GPtrArray) variables = list_variables();
    struct camera_start start = {.name = camera->name,
                                 .hidden = (const char *const *)secrets,
                                 .variables = (const char *const *)variables->pdata,
                                 .file_paths = paths};
    struct own_files *files = &plan->files;
    size_t count = 0;

    _Static_assert(CAMERA_FILES_MAX <= CAMERA_START_FILES_MAX, "a start has room for all files");
    own_files_open(files, camera, plan->config_path);
    for (size_t i = 0; i < files->count; i++) {
        if (files->fds[i] >= 0) {
            paths[count] = files->paths[i];
            start.file_fds[count++] = files->fds[i];
        }
    }
    int r = process_summon(process, plan->socket, &start, on_exit, context, error, ret_fd);
    own_files_close(files);
    return r;
}

int camera_process_start(struct process *process, struct camera_process_plan *plan,
                         GChildWatchFunc on_exit, void *context, struct error *error, int *ret_fd)
{
    const struct config_camera *camera = &plan->config->cameras[plan->camera];
    const char *const arguments[] = {"edged-camera", "--link-fd=3", camera->name, NULL};
    g_auto(GStrv) secrets = secret_files_list(plan->config, plan->config_path, camera, NULL);

    return plan->socket ? summon(process, plan, secrets, on_exit, context, error, ret_fd)
                        : process_spawn(process, plan->program, arguments, secrets, on_exit,
                                        context, error, ret_fd);
}

bool camera_process_is_outdated(const struct process *process,
                                const struct camera_process_plan *plan, bool refused,
                                struct error *error)
{
    const struct config_camera *camera = &plan->config->cameras[plan->camera];

    if (process->line_fd < 0)
        return false;
    const char *changed = own_files_find_changed(&plan->files, camera, plan->config_path);
    if (changed && error) {
        error_set(error, 0, "%s was replaced, which only a new process can read", changed);
    } else if (refused && error) {
        error_set(error, 0,
                  "the GPU's devices came after the camera process had started and are refused to "
                  "it");
    }
    return changed || refused;
}
