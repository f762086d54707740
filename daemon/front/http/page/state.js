// All that the parts of the page know. `chosen` and `compare` are paths, "front/edges"; `shown` has the view that each
// camera's tile shows, and `at` the time of what is played of `chosen`, in milliseconds since 1970; null: it is live.
export const state = {
  session: {}, status: null, schema: null, config: null, place: "live", isWall: true, chosen: "", compare: "", at: null,
  shown: new Map(), pictures: new Map(), numbers: new Map(), history: [], events: [], tab: "picture",
  way: "", askedMs: performance.now(), toldMs: 0, isAsking: false, clipsDue: new Set(), soon: null, renewal: null,
};

export const camera = () => state.chosen.split("/")[0];
export const view = () => state.chosen.split("/")[1];
export const statusOf = path => state.status?.cameras.find(each => each.name === path.split("/")[0]);
export const cameraStatus = () => statusOf(state.chosen);
export const mountStatus = path => state.status?.mounts.find(each => `${each.camera}/${each.view}` === path);
export const paths = () => state.status?.mounts.map(mount => `${mount.camera}/${mount.view}`) ?? [];
export const viewsOf = name => paths().filter(path => path.startsWith(`${name}/`));
// The cameras of which this user may watch a view.
export const cameras = () => [...new Set(paths().map(path => path.split("/")[0]))];
// The view of a camera that is recorded, or its first one.
export function recordedPath(name) {
  const mounts = state.status?.mounts.filter(mount => mount.camera === name) ?? [];
  const mount = mounts.find(each => each.recorded !== "off") ?? mounts[0];
  return mount ? `${name}/${mount.view}` : "";
}
