// The search for the fastest blocks of the camera's kernels: its progress, and what each kernel gained.

import {ask, get, send} from "./api.js";
import {make} from "./dom.js";
import {camera, cameraStatus, state, view} from "./state.js";

const block = ({block: [x, y], rows}) => x ? `${x} × ${y}${rows ? ` × ${rows}` : ""}` : "–";

// The lines of a reply as objects, as they come (application/x-ndjson).
async function* lines(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) {
      return;
    }
    const parts = (kept + value).split("\n");
    kept = parts.pop();
    yield* parts.filter(Boolean).map(part => JSON.parse(part));
  }
}

function row({kernel, before, after, gain, changed}) {
  return make("tr", {}, make("td", {}, kernel), make("td", {}, `${block(before)}: ${before.us.toFixed(1)}`),
    make("td", {}, `${block(after)}: ${after.us.toFixed(1)}`),
    make("td", {class: changed ? "better" : ""}, changed ? `−${(100 * gain).toFixed(0)} %` : "as it was"));
}

// Runs one. `line` says what is tried; it throws what the server says against it.
async function tune(place, line, signal) {
  const bar = make("progress", {max: 1, value: 0, "aria-label": "Progress"});
  const table = make("tbody");
  const asked = {method: "POST", signal, ...send({camera: camera(), view: view(), apply: true})};
  await ask("v1/tune", asked, async reply => {
    place.replaceChildren(bar, make("table", {}, make("thead", {}, make("tr", {},
      ...["kernel", "before, µs", "after, µs", "gain"].map(name => make("th", {scope: "col"}, name)))), table));
    for await (const told of lines(reply)) {
      if (told.type === "progress") {
        bar.value = told.share;
        const {kernel, us, best} = told;
        line.textContent = `${kernel} in ${block(told)}: ${us.toFixed(1)} µs; best ${best.us.toFixed(1)}`;
      } else if (told.type === "kernel") {
        table.append(row(told));
      } else if (told.error) {
        throw new Error(told.error);
      } else {
        bar.value = 1;
        line.textContent = told.applied ? "The faster blocks are in use." : "The blocks in use are the fastest.";
      }
    }
  });
  state.config = await get("v1/config");
}

// The button, and beneath it what a search finds. `done` is called after it.
export function tuner(done) {
  const seen = cameraStatus();
  const onGpu = seen?.backend.startsWith("CUDA");
  const line = make("p", {role: "status", class: "quiet"}, onGpu ? "" : `The CPU computes ${camera()}: ${seen?.gpu}`);
  const place = make("div");
  let stop = null;
  const disabled = !state.session.can_change || !onGpu;
  const button = make("button", {type: "button", class: "main", disabled, onclick: async () => {
    if (stop) {
      stop.abort();
      return;
    }
    stop = new AbortController();
    button.textContent = "Stop";
    line.className = "quiet";
    try {
      await tune(place, line, stop.signal);
      done();
    } catch (fault) {
      line.textContent = stop.signal.aborted ? "Stopped; nothing is changed." : fault.message;
      line.classList.toggle("fault", !stop.signal.aborted);
    }
    button.textContent = "Find the fastest blocks";
    stop = null;
  }}, "Find the fastest blocks");
  return make("div", {}, make("div", {class: "row"}, button), line, place);
}
