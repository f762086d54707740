// All that the parts of the page know. `chosen` and `compare` are paths, "front/edges".
export const state = {
  session: {}, status: null, schema: null, config: null, chosen: "", compare: "",
  pictures: new Map(), numbers: new Map(), history: [], events: [], tab: "picture", askedMs: performance.now(),
};

export const camera = () => state.chosen.split("/")[0];
export const view = () => state.chosen.split("/")[1];
export const statusOf = path => state.status?.cameras.find(each => each.name === path.split("/")[0]);
export const cameraStatus = () => statusOf(state.chosen);
export const mountStatus = path => state.status?.mounts.find(each => `${each.camera}/${each.view}` === path);

// For who hears the page instead of seeing it.
export function say(sentence) {
  document.getElementById("said").textContent = sentence;
}
