// Regions, in which motion is an event, and hidden parts: the panel beside the picture on which they are drawn.

import {get} from "./api.js";
import {actions, changes, dig} from "./changes.js";
import {$, make} from "./dom.js";
import {settings} from "./forms.js";
import {Shapes} from "./shapes.js";
import {camera, cameraStatus, state} from "./state.js";

const LISTS = {region: "regions", privacy: "privacy"};
const RETRY_MS = 2000; // after it could not be learned where settings come from
const UNDO_MS = 10000; // for so long a shape that was removed has its own button for that
const HOW = "Click on the picture to add a corner, drag a corner to move it, click on one to remove it. With the " +
  "keyboard: arrows move a corner, + adds one after it, Delete removes it.";
const WHOLE = [[0.3, 0.3], [0.7, 0.3], [0.7, 0.7], [0.3, 0.7]];

let shapes = null;
let removed = [];      // shapes that were removed just now, each {name, path}
let set = new Map();   // where each key of the camera is set, by its name: {file, from}

const pathOf = shape => ["cameras", camera(), LISTS[shape.kind], shape.name];

// Only an administrator may show a part that the file hides.
const isLocked = (kind, name) => kind === "privacy" && state.session.role !== "admin" &&
  set.get(`cameras.${camera()}.privacy.${name}.polygon`)?.file != null;

// How much moves in a region, beside the share that begins an event; moveRegions() fills them in.
const measure = shape => {
  shape.bar = make("meter", {min: 0, optimum: 0, "aria-label": `Motion in ${shape.name}`});
  shape.told = make("output", {class: "quiet"});
  return [shape.bar, shape.told];
};

// A region without a polygon is the whole picture, or a mask that the file names.
function listShapes(config) {
  return Object.entries(LISTS).flatMap(([kind, list]) => Object.entries(config[list] ?? {}).map(([name, shape]) =>
    ({name, kind, polygon: (shape?.polygon ?? []).map(corner => [...corner]), mask: shape?.mask,
      isLocked: isLocked(kind, name) || Boolean(shape?.mask)})));
}

const explain = ({kind, polygon, mask, isLocked: locked}) => mask ? "a mask, set in the file"
  : locked ? "hidden, set in the file"
  : kind === "privacy" ? "hidden" : polygon.length ? "" : "the whole picture";

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

// The same under another name: what is set of it goes with it, and what follows from that is computed again.
function rename(shape, name) {
  const path = pathOf(shape), prefix = `${path.join(".")}.`;
  const own = Object.entries(dig(changes.config, path)).filter(([key]) => key === "polygon" ||
    (set.get(prefix + key) && set.get(prefix + key).from !== "default"));
  const recorded = dig(changes.config, ["cameras", camera(), "record", "regions"]);
  const copy = Object.fromEntries(own.filter(([key]) => key !== "mask"));
  const change = {[LISTS[shape.kind]]: {[shape.name]: null, [name]: copy}};
  if (shape.kind === "region" && Array.isArray(recorded) && recorded.includes(shape.name)) {
    change.record = {regions: recorded.map(each => each === shape.name ? name : each)};
  }
  changes.set(["cameras", camera()], change);
}

// Asks where the settings of the camera come from.
async function learn() {
  const {settings: all} = await get("v1/config/settings?all=1");
  set = new Map(all.filter(({key}) => key.startsWith(`cameras.${camera()}.`)).map(each => [each.key, each]));
}

// Fills the panel, and draws on the picture.
export function showRegions(tab, svg) {
  const config = () => state.config?.cameras?.[camera()] ?? {};
  const may = state.session.can_change;
  const hint = make("p", {class: "quiet"});
  const list = make("ul", {class: "list"});
  const place = make("div");
  let all = listShapes(config()), fields = null, renamed = "";
  const named = active => make("div", {class: "field"}, make("label", {for: "shape-name"}, "Name"),
    make("input", {id: "shape-name", type: "text", value: active.name, maxlength: 32, onchange: event => {
      renamed = event.target.value.trim();
      if (renamed && renamed !== active.name && all.some(each => each.kind === active.kind && each.name === renamed)) {
        changes.say(`There is a ${renamed} already; choose another name.`, true);
      } else if (renamed && renamed !== active.name) {
        rename(active, renamed);
      }
    }}));
  const row = (shape, active) => make("li", {class: "row"},
    make("button", {type: "button", "aria-pressed": String(shape === active),
      onclick: () => show(shape === active ? null : shape)}, shape.name),
    explain(shape) && make("span", {class: "quiet"}, explain(shape)),
    ...(shape.kind === "region" ? measure(shape) : []),
    !(shape.kind === "privacy" && shape.isLocked) && make("button", {type: "button", disabled: !may,
      "aria-label": `Remove ${shape.name}`, onclick: () => remove(shape)}, "Remove"));
  const remove = shape => {
    all = all.filter(each => each !== shape);
    changes.set(pathOf(shape), null);
    offerUndo(shape);
  };
  const show = active => {
    shapes.show(all, active, may && !active?.isLocked);
    const gone = removed.filter(({path}) => path[1] === camera());
    list.replaceChildren(...all.map(shape => row(shape, active)), ...gone.map(({name, path}) => make("li",
      {class: "row"}, make("span", {}, `${name} is removed.`),
      make("button", {type: "button", onclick: () => changes.undo(path)}, "Undo"))));
    hint.textContent = !active ? "Motion in a region is an event. A hidden part is black before anything else sees it."
      : active.isLocked ? "The file sets this shape; change it in edged.conf."
        : HOW;
    const isKnown = active && dig(changes.config, pathOf(active));
    fields = active?.kind === "region" && isKnown ? settings(pathOf(active)) : null;
    place.replaceChildren(...(isKnown && may && !active.isLocked ? [named(active)] : []),
      ...(fields ? [make("h3", {}, `Motion in ${active.name}`), fields.place] : []));
    fields?.build();
    moveRegions();
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
    const isRenamed = told.key === `cameras.${camera()}`;
    if (told.undone || told.fault || isRenamed) {
      all = listShapes(config());
      removed = removed.filter(({path}) => !dig(changes.config, path));
      show(isRenamed && !told.fault && !told.undone ? all.find(each => each.name === renamed) ?? null : null);
      if (isRenamed) {
        learn().catch(() => {});
      }
    } else if (!fields && shapes.active) {
      show(shapes.active);
    } else {
      fields?.changed(told);
    }
  };
  // A key press, which has no place on the picture, begins with a rectangle.
  const add = (event, kind) => {
    const polygon = event.detail ? [] : WHOLE.map(corner => [...corner]);
    const shape = {name: nameShape(all, kind), kind, polygon, mask: "", isLocked: false};
    all.push(shape);
    show(shape);
    if (!event.detail) {
      save(shape);
    }
  };
  const last = actions(changed);
  const before = shapes?.active;
  shapes = new Shapes(svg, $("names"), save);
  tab.append(make("div", {class: "row"},
    make("button", {type: "button", disabled: !may, onclick: event => add(event, "region")}, "New region"),
    make("button", {type: "button", disabled: !may, onclick: event => add(event, "privacy")}, "Hide a part")),
  hint, list, place, last);
  const again = () => all.find(shape => shape.kind === before?.kind && shape.name === before.name) ?? null;
  show(again());
  const lock = () => learn().then(() => {
    if (list.isConnected && !isDrawing()) {
      const {active} = shapes;
      all = listShapes(config());
      show(all.find(shape => shape.kind === active?.kind && shape.name === active.name) ?? null);
    }
  }, fault => {
    changes.say(fault.message, true);
    setTimeout(() => list.isConnected && lock(), RETRY_MS);
  });
  lock();
}

// How much moves now; called each second.
export function moveRegions() {
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

// A shape has corners that are not sent yet, because it has too few.
export const isDrawing = () => Boolean(state.place === "settings" && state.tab === "shapes" && shapes?.active &&
  !dig(changes.config, pathOf(shapes.active)));
