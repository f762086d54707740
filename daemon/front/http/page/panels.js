// The panels beside the picture: settings of the view, the camera and the kernels, measurements,
// regions and privacy, events.

import {get, make, patch} from "./api.js";
import {Changes, form, nest} from "./forms.js";
import {Shapes} from "./shapes.js";
import {camera, cameraStatus, mountStatus, say, state, view} from "./app.js";

let changes = null;
let shapes = null;

function tell(line, {key, cost, fault, warnings}) {
  line.classList.toggle("fault", Boolean(fault));
  line.textContent = fault ?? [`${key} is changed${cost ? `; cost: ${cost}` : ""}`, ...(warnings ?? [])].join("; ");
  say(line.textContent);
}

function begin() {
  if (changes?.config !== state.config) {
    changes = new Changes(state.config);
  }
}

// A form with undo and keep beneath it.
function settings(tab, path) {
  if (!state.schema || !state.config) {
    tab.append(make("p", {class: "quiet"}, "Settings are shown to operators."));
    return;
  }
  const line = make("p", {role: "status"});
  begin();
  changes.tell = told => {
    tell(line, told);
    undo.disabled = keep.disabled = !changes.done.length;
  };
  const undo = make("button", {type: "button", disabled: !changes.done.length, onclick: () => {
    changes.undo();
    setTimeout(() => redraw(), 300);
  }}, "Undo");
  const keep = make("button", {type: "button", disabled: !changes.done.length, onclick: async () => {
    try {
      await changes.keep();
      line.textContent = "Kept: the changes stay after a restart.";
      undo.disabled = keep.disabled = true;
    } catch (fault) {
      tell(line, {fault: fault.message});
    }
  }}, "Keep after a restart");
  const redraw = () => tab.replaceChildren(form(state.schema, changes, path, state.session.can_change),
    make("div", {class: "row"}, undo, keep), line);
  redraw();
}

// Charts of the last two minutes
// ---------------------------------------------------------------------

const NS = "http://www.w3.org/2000/svg";

function chart(values, limit) {
  const most = Math.max(limit ?? 0, ...values, 1e-6) * 1.1;
  const svg = document.createElementNS(NS, "svg");
  const line = document.createElementNS(NS, "polyline");
  svg.setAttribute("class", "chart");
  svg.setAttribute("viewBox", "0 0 120 1");
  svg.setAttribute("preserveAspectRatio", "none");
  line.setAttribute("points", values.map((value, i) => `${120 - values.length + i},${1 - value / most}`).join(" "));
  svg.append(line);
  if (limit) {
    const mark = document.createElementNS(NS, "line");
    Object.entries({x1: 0, x2: 120, y1: 1 - limit / most, y2: 1 - limit / most}).forEach(([name, value]) => mark.setAttribute(name, value));
    svg.append(mark);
  }
  return svg;
}

function showNumbers(tab) {
  const mount = mountStatus(state.chosen);
  const seen = cameraStatus();
  if (!mount || !seen) {
    return;
  }
  const past = state.history.filter(each => each.path === state.chosen);
  const row = (title, unit, key, limit) => {
    const values = past.map(each => each[key] ?? 0);
    return [make("h2", {}, `${title}: ${(values.at(-1) ?? 0).toFixed(1)} ${unit}`), chart(values, limit)];
  };
  const steps = Object.entries(mount.latency_ms).map(([step, at]) => make("tr", {}, make("td", {}, step.replaceAll("_", " ")),
    ...["p50", "p95", "p99"].map(share => make("td", {}, at[share].toFixed(2)))));
  tab.replaceChildren(
    ...row("Capture to screen", "ms", "p50"), ...row("Computing", "ms", "compute", 1000 / Math.max(seen.fps, 1)),
    ...row("Frames", "a second", "fps"), ...row("Bit rate", "kbit/s", "kbps"),
    make("table", {}, make("thead", {}, make("tr", {}, ...["latency, ms", "p50", "p95", "p99"].map(title => make("th", {scope: "col"}, title)))),
      make("tbody", {}, ...steps)),
    make("p", {class: "quiet"}, `${seen.path}. ${mount.encoder}${mount.governor ? `, gives up ${mount.governor}` : ""}. ` +
      `${seen.frames} frames, ${seen.dropped} dropped, ${mount.viewers} viewers. GPU: ${seen.gpu}.`));
}

// The GPU's blocks
// ---------------------------------------------------------------------

async function tune(tab, line) {
  const bar = make("progress", {max: 1, value: 0});
  const stop = new AbortController();
  const table = make("tbody");
  tab.append(make("div", {class: "row"}, bar, make("button", {type: "button", onclick: () => stop.abort()}, "Stop")),
    make("table", {}, make("thead", {}, make("tr", {}, ...["kernel", "block", "µs"].map(title => make("th", {scope: "col"}, title)))), table));
  const reply = await fetch("/v1/tune", {method: "POST", signal: stop.signal, headers: {"Content-Type": "application/json"},
    body: JSON.stringify({camera: camera(), view: view(), apply: true})});
  if (!reply.ok) {
    throw new Error((await reply.json()).detail);
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) {
      break;
    }
    const lines = (kept + value).split("\n");
    kept = lines.pop();
    for (const told of lines.filter(each => each.includes("{")).map(each => JSON.parse(each.slice(each.indexOf("{"))))) {
      bar.max = told.of ?? bar.max;
      bar.value = told.tried ?? bar.value;
      if (told.kernel) {
        table.prepend(make("tr", {}, make("td", {}, told.kernel), make("td", {}, (told.block ?? []).join(" × ")),
          make("td", {}, `${told.us ?? ""}`)));
      }
      line.textContent = told.message ?? line.textContent;
    }
  }
  state.config = await get("/v1/config");
}

function showKernels(tab) {
  const line = make("p", {role: "status"});
  const fields = make("div");
  const button = make("button", {type: "button", disabled: !state.session.can_change, onclick: async () => {
    button.disabled = true;
    try {
      await tune(tab, line);
    } catch (fault) {
      tell(line, {fault: fault.message});
    }
    button.disabled = false;
  }}, "Find the fastest blocks");
  tab.append(make("div", {class: "row"}, button), line, fields);
  for (const name of Object.keys(state.schema?.properties?.kernels?.properties ?? {})) {
    const part = make("div");
    settings(part, ["kernels", name]);
    fields.append(make("h2", {}, name), part);
  }
}

// Regions and privacy
// ---------------------------------------------------------------------

const LISTS = {region: "regions", privacy: "privacy"};

function listShapes(kind, objects) {
  return Object.entries(objects ?? {}).filter(([, shape]) => shape.polygon).map(([name, shape]) =>
    ({name, kind, polygon: shape.polygon.map(corner => [...corner])}));
}

function showShapes(tab, svg) {
  const config = state.config?.cameras?.[camera()];
  if (!config) {
    tab.append(make("p", {class: "quiet"}, "Regions are shown to operators."));
    return;
  }
  begin();
  const all = [...listShapes("region", config.regions), ...listShapes("privacy", config.privacy)];
  const line = make("p", {role: "status"});
  const list = make("ul", {class: "timeline"});
  const save = async (shape, removed) => {
    try {
      await patch(nest(["cameras", camera(), LISTS[shape.kind], shape.name], removed ? null : {polygon: shape.polygon}));
      changes.note(["cameras", camera(), LISTS[shape.kind], shape.name], removed ? null : {polygon: shape.polygon});
      tell(line, {key: `${shape.kind} ${shape.name}`});
    } catch (fault) {
      tell(line, {fault: fault.message});
    }
  };
  shapes = new Shapes(svg, shape => save(shape));
  const draw = active => {
    shapes.show(all, active, state.session.can_change);
    list.replaceChildren(...all.map(shape => make("li", {class: "row"},
      make("button", {type: "button", "aria-pressed": String(shape === active), onclick: () => draw(shape)},
        shape.kind === "region" ? `region ${shape.name}` : `hidden: ${shape.name}`),
      make("button", {type: "button", disabled: !state.session.can_change, "aria-label": "Remove", onclick: () => {
        all.splice(all.indexOf(shape), 1);
        save(shape, true);
        draw(null);
      }}, "Remove"))));
  };
  const add = kind => {
    let number = 1;
    while (all.some(shape => shape.kind === kind && shape.name === `${kind}${number}`)) {
      number++;
    }
    all.push({name: `${kind}${number}`, kind, polygon: []});
    draw(all.at(-1));
    line.textContent = "Click on the picture for each corner.";
  };
  tab.append(make("div", {class: "row"},
    make("button", {type: "button", disabled: !state.session.can_change, onclick: () => add("region")}, "New region"),
    make("button", {type: "button", disabled: !state.session.can_change, onclick: () => add("privacy")}, "Hide a part")),
  make("p", {class: "quiet"}, "Motion in a region is an event. What privacy hides is black before anything else sees it."), list, line);
  draw(null);
}

function moveShapes() {
  const seen = cameraStatus()?.regions ?? [];
  for (const shape of shapes?.shapes ?? []) {
    shape.moving = shape.kind === "region" && seen.find(region => region.name === shape.name)?.moving;
  }
  if (!(shapes?.held >= 0)) {
    shapes?.draw();
  }
}

function showEvents(tab) {
  tab.append(make("h2", {}, "Motion"), state.events.length
    ? make("ol", {class: "timeline"}, ...state.events.map(event => make("li", {}, `${event.time ?? ""} ${event.camera}/${event.region} ${event.event ?? event.kind ?? ""}`)))
    : make("p", {class: "quiet"}, "None since this page was opened."));
}

export const panels = {
  picture: {title: "View", show: tab => settings(tab, ["cameras", camera(), "views", view()])},
  camera: {title: "Camera", show: tab => settings(tab, ["cameras", camera()])},
  kernels: {title: "GPU", show: showKernels},
  numbers: {title: "Numbers", show: showNumbers, tick: () => state.tab === "numbers" && showNumbers(document.getElementById("tab"))},
  shapes: {title: "Regions", show: showShapes, tick: moveShapes},
  events: {title: "Events", show: showEvents},
};
