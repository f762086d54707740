// Regions, in which motion is an event, and hidden parts: the panel beside the picture on which they are drawn.

import {actions, changes, dig} from "./changes.js";
import {make} from "./dom.js";
import {settings} from "./forms.js";
import {Shapes} from "./shapes.js";
import {camera, cameraStatus, state} from "./state.js";

let shapes = null;
let removed = [];   // shapes that were removed just now, each {name, path}

const LISTS = {region: "regions", privacy: "privacy"};
const UNDO_MS = 10000; // for so long a shape that was removed has its own button for that
const WHOLE = [[0.3, 0.3], [0.7, 0.3], [0.7, 0.7], [0.3, 0.7]];

const pathOf = shape => ["cameras", camera(), LISTS[shape.kind], shape.name];

// How much moves in a region, beside the share that begins an event; moveRegions() fills them in.
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

// Fills the panel, and draws on the picture.
export function showRegions(tab, svg) {
  const config = () => state.config?.cameras?.[camera()];
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
