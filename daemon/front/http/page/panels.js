// The panels beside the picture: settings of the view, the camera and the kernels, measurements,
// regions and privacy, events.

import {draw, make} from "./api.js";
import {showClips} from "./clips.js";
import {showEvents} from "./events.js";
import {Changes, dig, find, form} from "./forms.js";
import {Shapes} from "./shapes.js";
import {camera, cameraStatus, mountStatus, say, state, view} from "./state.js";
import {tuner} from "./tune.js";

let changes = null; // of state.config; they outlive the panel that made them
let shapes = null;
let removed = [];   // shapes that were removed just now, each {name, path}

// A change is under way; how many there were.
export const isChanging = () => Boolean(changes?.sending || changes?.waiting.size);
// A shape has corners that are not sent yet, because it has too few.
export const isDrawing = () => Boolean(state.tab === "shapes" && shapes?.active && !dig(changes?.config, pathOf(shapes.active)));
export const changeCount = () => changes?.count ?? 0;

// Undo and keep at the end of a panel, with what became of the last change. `changed` is called
// after each.
function actions(changed) {
  const line = make("p", {role: "status"});
  const tell = (sentence, isFault) => {
    line.classList.toggle("fault", isFault);
    line.textContent = sentence;
    undo.disabled = keep.disabled = !changes.done.length;
    say(sentence);
  };
  const undo = make("button", {type: "button", onclick: () => changes.undo()}, "Undo");
  const keep = make("button", {type: "button", class: "main", onclick: () =>
    changes.keep().then(
      kept => changes.say(kept ? "Kept: it stays after a restart." : "In effect, and kept once the disk has written it.", false),
      fault => changes.say(fault.message, true))},
  "Keep after a restart");

  changes ??= new Changes();
  changes.config = state.config;
  changes.say = tell;
  changes.tell = told => {
    tell(told.fault ?? [`${told.key.split(".").pop()} ${told.undone ? "is as before" : "is changed"}`,
      ...(told.warnings ?? [])].join("; "), Boolean(told.fault));
    changed(told);
  };
  undo.disabled = keep.disabled = !changes.done.length;
  return make("div", {class: "row actions"}, undo, keep, line);
}

// Says at a field why its value was refused, which stays there to be mended.
function answer(place, key, fault) {
  const field = place.querySelector(`[data-key="${key}"]`), id = `refused-${key}`;
  const inputs = field?.querySelectorAll("input, select") ?? [];
  field?.querySelector(".fault")?.remove();
  inputs.forEach(input => input.toggleAttribute("aria-invalid", Boolean(fault)));
  if (field && fault) {
    field.append(make("small", {class: "fault", id}, fault));
  }
}

// A form that is built again after a change that gives or takes other fields their meaning.
function settings(path) {
  const place = make("div");
  const build = () => {
    const focused = document.activeElement?.id;
    place.replaceChildren(form(state.schema, changes, path, state.session.can_change));
    if (focused) {
      document.getElementById(focused)?.focus();
    }
  };
  const changed = ({key, undone, fault}) => {
    answer(place, key, fault);
    if (undone || (!fault && find(state.schema, key.split("."))?.enum)) {
      build();
    }
  };
  return {place, build, changed};
}

const howToChange = what => make("p", {class: "quiet"}, state.session.user
  ? `To change ${what}, log in as an operator.` : `To change ${what}, open the link that edgectl page prints.`);

function showSettings(tab, title, path, before = () => []) {
  if (!state.schema || !state.config) {
    tab.append(howToChange("settings"));
    return;
  }
  const fields = settings(path);
  tab.append(make("h2", {}, title), ...before(fields), fields.place, actions(fields.changed));
  fields.build();
}

// The search for faster blocks stays in place when the fields beneath it are built again.
function showKernels(tab) {
  showSettings(tab, "How the GPU cuts up its work", ["kernels"], fields => [tuner(() => {
    changes.config = state.config;
    fields.build();
  })]);
}

// Charts of the last two minutes
// ---------------------------------------------------------------------

const CHART_S = 120;

// Where there is a limit, as the time that a frame has, it is a dashed line.
function chart(values, limit) {
  const most = Math.max(limit ?? 0, ...values, 1e-6) * 1.1;
  const svg = draw("svg", {class: "chart", viewBox: `0 0 ${CHART_S} 1`, preserveAspectRatio: "none", "aria-hidden": "true"});
  const from = CHART_S - values.length;
  const points = values.map((value, i) => `L${from + i} ${1 - value / most}`).join("");
  svg.append(draw("path", {d: `M${from} 1.1${points}L${CHART_S - 1} 1.1`}));
  if (limit) {
    svg.append(draw("line", {x1: 0, x2: CHART_S, y1: 1 - limit / most, y2: 1 - limit / most}));
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
  const card = (title, unit, key, digits, limit) => {
    const values = past.map(each => each[key] ?? 0);
    return make("div", {}, make("h3", {}, title), make("b", {}, (values.at(-1) ?? 0).toFixed(digits)), ` ${unit}`, chart(values, limit));
  };
  const steps = Object.entries(mount.latency_ms).map(([step, at]) => make("tr", {}, make("td", {}, step.replaceAll("_", " ")),
    ...["p50", "p95", "p99"].map(share => make("td", {}, at[share].toFixed(2)))));
  tab.replaceChildren(make("h2", {}, state.chosen), make("div", {class: "charts"},
    card("Capture to screen", "ms", "p50", 1), card("Computing, of a frame's time", "ms", "compute", 2, 1000 / Math.max(seen.fps, 1)),
    card("Frames", "a second", "fps", 1), card("Bit rate", "kbit/s", "kbps", 0)),
  make("table", {}, make("thead", {}, make("tr", {}, ...["latency, ms", "p50", "p95", "p99"].map(title => make("th", {scope: "col"}, title)))),
    make("tbody", {}, ...steps)),
  make("p", {class: "quiet"}, `${seen.path}. ${mount.governor ? `The encoder is too slow, so edged gives up ${mount.governor}. ` : ""}` +
    `${seen.frames} frames, ${seen.dropped} dropped. ${seen.gpu}`));
}

// Regions and privacy
// ---------------------------------------------------------------------

const LISTS = {region: "regions", privacy: "privacy"};
const UNDO_MS = 10000; // for so long a shape that was removed has its own button for that
const WHOLE = [[0.3, 0.3], [0.7, 0.3], [0.7, 0.7], [0.3, 0.7]];

const pathOf = shape => ["cameras", camera(), LISTS[shape.kind], shape.name];

// How much moves in a region, beside the share that begins an event; moveShapes() fills them in.
const measure = shape => {
  shape.bar = make("meter", {min: 0, optimum: 0, "aria-label": `Motion in ${shape.name}`});
  shape.told = make("output", {class: "quiet"});
  return [shape.bar, shape.told];
};

function listShapes(config) {
  return Object.entries(LISTS).flatMap(([kind, list]) => Object.entries(config[list] ?? {})
    .filter(([, shape]) => shape?.polygon)
    .map(([name, shape]) => ({name, kind, polygon: shape.polygon.map(corner => [...corner])})));
}

// The first free name: region1, region2 …
function nameShape(all, kind) {
  for (let number = 1; ; number++) {
    if (!all.some(shape => shape.kind === kind && shape.name === `${kind}${number}`)) {
      return `${kind}${number}`;
    }
  }
}

function save(shape) {
  const path = pathOf(shape);
  if (dig(changes.config, path)) {
    changes.set([...path, "polygon"], shape.polygon);
  } else {
    changes.set(path, {polygon: shape.polygon});
  }
}

function showShapes(tab, svg) {
  const config = () => state.config?.cameras?.[camera()];
  if (!config()) {
    tab.append(howToChange("regions"));
    return;
  }
  const may = state.session.can_change;
  const hint = make("p", {class: "quiet"});
  const list = make("ul", {class: "list"});
  const place = make("div");
  let all = listShapes(config()), fields = null;
  const show = active => {
    shapes.show(all, active, may);
    list.replaceChildren(...all.map(shape => make("li", {class: "row"},
      make("button", {type: "button", "aria-pressed": String(shape === active), onclick: () => show(shape === active ? null : shape)},
        shape.kind === "region" ? shape.name : `${shape.name} (hidden)`),
      ...(shape.kind === "region" ? measure(shape) : []),
      make("button", {type: "button", disabled: !may, "aria-label": `Remove ${shape.name}`, onclick: () => {
        all = all.filter(each => each !== shape);
        changes.set(pathOf(shape), null);
        offerUndo(shape);
      }}, "Remove"))), ...removed.filter(({path}) => path[1] === camera()).map(({name, path}) => make("li", {class: "row"},
      make("span", {}, `${name} is removed.`), make("button", {type: "button", onclick: () => changes.undo(path)}, "Undo"))));
    hint.textContent = active
      ? "Click on the picture to add a corner, drag a corner to move it. With the keyboard: arrows move a corner, + adds one after it, Delete removes it."
      : "Motion in a region is an event. A hidden part is black before anything else sees it.";
    fields = active?.kind === "region" && dig(changes.config, pathOf(active)) ? settings(pathOf(active)) : null;
    place.replaceChildren(...(fields ? [make("h3", {}, `Motion in ${active.name}`), fields.place] : []));
    fields?.build();
    moveShapes();
  };
  const offerUndo = shape => {
    const one = {name: shape.name, path: pathOf(shape)};
    removed.push(one);
    show(null);
    setTimeout(() => {
      removed = removed.filter(each => each !== one);
      if (list.isConnected) {
        show(shapes.active);
      }
    }, UNDO_MS);
  };
  const changed = told => {
    if (told.undone || told.fault) {
      all = listShapes(config());
      removed = removed.filter(({path}) => !dig(changes.config, path));
      show(null);
    } else if (!fields && shapes.active) {
      show(shapes.active);
    } else {
      fields?.changed(told);
    }
  };
  // A key press, which has no place on the picture, begins with a rectangle.
  const add = (event, kind) => {
    const shape = {name: nameShape(all, kind), kind, polygon: event.detail ? [] : WHOLE.map(corner => [...corner])};
    all.push(shape);
    show(shape);
    if (!event.detail) {
      save(shape);
    }
  };
  const last = actions(changed);
  const before = shapes?.active;
  shapes = new Shapes(svg, save);
  tab.append(make("div", {class: "row"},
    make("button", {type: "button", disabled: !may, onclick: event => add(event, "region")}, "New region"),
    make("button", {type: "button", disabled: !may, onclick: event => add(event, "privacy")}, "Hide a part")),
  hint, list, place, last);
  show(all.find(shape => shape.kind === before?.kind && shape.name === before.name) ?? null);
}

function moveShapes() {
  const seen = cameraStatus()?.regions ?? [];
  for (const shape of shapes?.shapes ?? []) {
    const region = shape.kind === "region" && seen.find(each => each.name === shape.name);
    shape.moving = region?.moving;
    if (region && shape.bar) {
      const {start = 1, end = start / 2} = dig(changes.config, pathOf(shape)) ?? {}, percent = 100 * region.share;
      Object.assign(shape.bar, {max: Math.max(4 * start, percent), low: end, high: start, value: percent});
      shape.told.textContent = `${percent.toFixed(1)} of ${start} %`;
    }
  }
  shapes?.colour();
}

// `tick` is called each second while a panel is shown.
export const panels = {
  picture: {title: "View", show: tab => showSettings(tab, state.chosen, ["cameras", camera(), "views", view()])},
  camera: {title: "Camera", show: tab => showSettings(tab, camera(), ["cameras", camera()])},
  kernels: {title: "GPU", show: showKernels},
  numbers: {title: "Numbers", show: showNumbers, tick: showNumbers},
  shapes: {title: "Regions", show: showShapes, tick: moveShapes},
  clips: {title: "Clips", show: tab => showClips(tab, state, document.getElementById("screen"))},
  events: {title: "Events", show: tab => showEvents(tab, state), tick: tab => showEvents(tab, state)},
};
