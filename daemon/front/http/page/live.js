// Live: a tile for each camera, all of them on one screen, or one view large; and which pictures are asked for.

import {judge} from "./age.js";
import {$, make, say} from "./dom.js";
import {widthFor} from "./jpegs.js";
import {go, goInstead} from "./link.js";
import {Picture} from "./picture.js";
import {camera, cameras, cameraStatus, mountStatus, paths, state, statusOf, viewsOf} from "./state.js";

const SMALL_PX = 480;    // tiles up to this width are fed by JPEGs of their size
const GAP_PX = 10;       // between tiles, as in style.css
const EDGE_PX = 3;       // around them, as in style.css
const LEAST_PX = 150;    // tiles are no narrower; rather the wall scrolls
const NARROW = matchMedia("(max-width: 60rem)");   // as in style.css
const WIDE_PX = 300;     // of a tile where the page is scrolled
const KEPT_VIEWS = "edged-views";

let live = null;         // of video.js
let inSight = new Set(); // tiles
const sight = new IntersectionObserver(entries => {
  entries.forEach(({target, isIntersecting}) => inSight[isIntersecting ? "add" : "delete"](target));
  feed();
});

// The view that a camera's tile shows.
const shownPath = name => {
  const all = viewsOf(name), path = `${name}/${state.shown.get(name)}`;
  return all.includes(path) ? path : all[0];
};

function remember(path) {
  const [name, view] = path.split("/");
  state.shown.set(name, view);
  try {
    localStorage.setItem(KEPT_VIEWS, JSON.stringify([...state.shown]));
  } catch {
    // A browser that keeps nothing begins with the first view of each camera.
  }
}

function recall() {
  try {
    state.shown = new Map(JSON.parse(localStorage.getItem(KEPT_VIEWS)) ?? []);
  } catch {
    state.shown = new Map();
  }
}

// Chips for the views of a camera, in words that end where the camera's name would begin again.
function chips(name, chosen, pick) {
  return viewsOf(name).map(path => make("button", {type: "button", class: "chip", "data-path": path,
    "aria-pressed": String(path === chosen), onclick: () => pick(path)}, path.split("/")[1]));
}

// The wall
// ---------------------------------------------------------------------

function buildTile(name) {
  const open = () => go({path: shownPath(name)});
  const canvas = make("canvas", {"aria-hidden": "true"});
  let kind = "mouse";
  const tile = make("div", {class: "tile", role: "group", "aria-label": name, "data-camera": name,
    onpointerdown: event => { kind = event.pointerType; },
    onclick: event => event.target.closest("button") || (kind === "touch" ? open() : choose(shownPath(name))),
    ondblclick: event => event.target.closest("button") || open()},
  canvas, make("p", {class: "place dot"}), make("p", {class: "age"}),
  make("div", {class: "chips", role: "group", "aria-label": `Views of ${name}`}),
  make("button", {type: "button", class: "enlarge", title: "Enlarge (or double-click the picture)",
    "aria-label": `Show ${name}`, onclick: open}, "⤢"));
  sight.observe(tile);
  return tile;
}

function showTile(tile) {
  const name = tile.dataset.camera, path = shownPath(name), canvas = tile.querySelector("canvas");
  tile.dataset.path = path;
  tile.setAttribute("aria-current", String(name === camera()));
  tile.querySelector(".chips").replaceChildren(...chips(name, path, next => {
    remember(next);
    choose(next);
    tile.querySelector(`.chip[data-path="${CSS.escape(next)}"]`)?.focus();
  }));
  place(canvas, path);
}

// As many columns as make the tiles largest, so that all of them are seen at once.
function layOut() {
  const wall = $("wall"), count = wall.children.length;
  const [width, height] = [wall.clientWidth - 2 * EDGE_PX, wall.clientHeight - 2 * EDGE_PX];
  if (!count || width <= 0 || !state.status) {
    return;
  }
  const ratios = cameras().map(statusOf).map(({width, height}) => width && height ? width / height : 16 / 9);
  const ratio = ratios.every(each => each === ratios[0]) ? ratios[0] : 16 / 9;
  wall.style.setProperty("--ratio", String(ratio));
  const fits = Array.from({length: count}, (_, i) => {
    const columns = i + 1, rows = Math.ceil(count / columns);
    const px = Math.min((width - GAP_PX * (columns - 1)) / columns, (height - GAP_PX * (rows - 1)) / rows * ratio);
    return {columns, px: Math.floor(px)};
  }).sort((a, b) => b.px - a.px)[0];
  // Where they do not fit, and on phones, whose page is scrolled, the width alone counts.
  const most = Math.max(1, Math.floor((width + GAP_PX) / (LEAST_PX + GAP_PX)));
  const isTall = NARROW.matches && !document.body.matches(".full");
  const columns = isTall ? Math.min(most, count > 3 ? Math.max(2, Math.floor(width / WIDE_PX)) : 1) : most;
  const best = fits.px >= Math.min(LEAST_PX, width) && !isTall ? fits
    : {columns, px: Math.floor((width - GAP_PX * (columns - 1)) / columns)};
  wall.style.setProperty("--columns", best.columns);
  wall.style.setProperty("--tile", `${best.px}px`);
  feed();
}

// Pictures
// ---------------------------------------------------------------------

// Draws a view into a canvas and no other one.
function place(canvas, path) {
  for (const picture of state.pictures.values()) {
    if (picture.path !== path) {
      picture.canvases.delete(canvas);
    }
  }
  const picture = state.pictures.get(path);
  if (picture && !picture.canvases.has(canvas)) {
    const [other] = picture.canvases;
    picture.canvases.add(canvas);
    if (other?.width && picture.size[0]) {
      [canvas.width, canvas.height] = picture.size;
      canvas.getContext("2d", {alpha: false}).drawImage(other, 0, 0, ...picture.size);
    } else {
      [canvas.width, canvas.height] = [16, 9];   // black, until its first picture
    }
  }
}

// Asks for what is seen now: large pictures as video, small tiles as small JPEGs.
function feed() {
  const large = [], small = [];
  if (state.isWall && state.place === "live") {
    for (const tile of $("wall").children) {
      const picture = state.pictures.get(tile.dataset.path), isHidden = !inSight.has(tile);
      const px = tile.clientWidth * devicePixelRatio;
      if (picture && (isHidden || px <= SMALL_PX)) {
        small.push({picture, width: isHidden ? widthFor(0) : widthFor(px), isHidden});
      } else if (picture) {
        large.push(picture);
      }
    }
  } else if (state.place !== "recorded" && state.at === null) {
    large.push(...[state.chosen, state.compare].filter(Boolean).map(path => state.pictures.get(path)).filter(Boolean));
  }
  const fed = new Set([...large, ...small.map(({picture}) => picture)]);
  for (const picture of state.pictures.values()) {
    if (fed.has(picture) && !picture.isFed) {
      picture.drawnMs = null;   // what it shows is from before
    }
    picture.isFed = fed.has(picture);
  }
  live.show(large, small);
}

// The chosen view and the wall
// ---------------------------------------------------------------------

// Shows a view: on its camera's tile, and large where there is no wall.
export function choose(path) {
  state.chosen = path;
  if (state.isWall && state.place === "live") {
    goInstead({});
    showLive();
  } else {
    goInstead({place: state.place, path});
  }
}

// Shows what `state` says, after it has changed.
export function showLive() {
  const isWall = state.isWall && state.place === "live";
  [...$("wall").children].forEach(showTile);
  place($("large"), isWall ? "" : state.chosen);
  $("large").setAttribute("aria-label", `Live picture of ${state.chosen}`);
  const pick = path => {
    remember(path);
    choose(path);
    $("views").querySelector(`[data-path="${CSS.escape(path)}"]`)?.focus();
  };
  const others = cameras().length > 1 ? cameras() : [];
  $("cameras").replaceChildren(...others.map(name => make("button", {type: "button", class: "chip",
    "data-camera": name, "aria-pressed": String(name === camera()), onclick: () => pick(shownPath(name))}, name)));
  $("views").replaceChildren(...chips(camera(), state.chosen, pick));
  $("all").hidden = cameras().length < 2;
  compare(state.compare === state.chosen ? "" : state.compare);
  showSize();
  showAges();
  showArmed();
  layOut();
  feed();
}

function compare(path) {
  state.compare = path && state.pictures.has(path) ? path : "";
  $("compare").value = state.compare;
  $("other").hidden = $("wipe").hidden = !state.compare;
  place($("other"), state.compare);
  $("other").style.clipPath = `inset(0 0 0 ${$("wipe").value}%)`;
  feed();
}

// The pictures there are; after that showLive() shows them.
// Those of views that stay go on, without the tiles of before.
export function buildWall() {
  const before = new Map(state.pictures);
  state.pictures.clear();
  inSight.clear();
  sight.disconnect();
  for (const path of paths()) {
    const {codec} = mountStatus(path), known = before.get(path);
    const picture = known?.codec === codec ? known : new Picture(path, codec);
    [...picture.canvases].filter(canvas => canvas.closest("#wall")).forEach(canvas => picture.canvases.delete(canvas));
    state.pictures.set(path, picture);
  }
  $("wall").replaceChildren(...cameras().map(buildTile));
  $("compare").replaceChildren(make("option", {value: ""}, "Compare with …"),
    ...paths().map(path => make("option", {value: path}, path)));
}

// A split is twice as wide as its camera's picture, so what was drawn comes first.
export function showSize() {
  const [width, height] = state.pictures.get(state.chosen)?.size ?? [0, 0];
  const seen = cameraStatus();
  const [x, y] = width ? [width, height] : [seen?.width, seen?.height];
  if (x && y) {
    $("screen").style.setProperty("--ratio", x / y);
  }
}

export function showArmed() {
  const armed = cameraStatus()?.armed;
  $("armed").closest("label").hidden = !state.session.can_change;
  $("armed").disabled = armed === undefined;
  $("armed").checked = armed !== false;
}

// On each tile and on the large picture: how late it is, or what is wrong with it.
export function showAges() {
  const isWall = state.isWall && state.place === "live";
  for (const tile of isWall ? $("wall").children : []) {
    if (inSight.has(tile)) {
      showAge(tile, tile.dataset.path);
    }
  }
  if (!isWall && state.place !== "recorded" && state.at === null) {
    showAge($("screen"), state.chosen);
  }
}

function showAge(box, path) {
  const picture = state.pictures.get(path), status = statusOf(path);
  if (!picture || !status) {
    return;
  }
  const seen = judge(picture, status), isLarge = box === $("screen");
  const [label, age] = [box.querySelector(".place"), box.querySelector(".age")];
  if (box.dataset.state && box.dataset.judged === path && box.dataset.state !== seen.state) {
    say(`${path}: ${seen.state}`);
  }
  Object.assign(box.dataset, {state: seen.state, judged: path});
  box.classList.toggle("old", seen.isOld);
  label.className = `place dot ${seen.state}`;
  const name = isLarge ? path : path.split("/")[0];
  setText(label, isLarge || seen.state !== "live" ? `${name} · ${seen.state}` : name);
  setText(age, seen.words || (isLarge ? screenMs(state.numbers.get(path)) : ""));
  age.classList.toggle("wrong", Boolean(seen.words));
  box.classList.toggle("moving", (status.regions ?? []).some(region => region.moving));
}

function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export const screenMs = numbers => numbers && numbers.p50 !== null
  ? `${numbers.p50.toFixed(0)} ms (${numbers.p95.toFixed(0)})` : "";

// `feeder` is a Live of video.js.
export function beginLive(feeder) {
  live = feeder;
  recall();
  new ResizeObserver(layOut).observe($("wall"));
  $("wipe").oninput = () => compare(state.compare);
  $("compare").onchange = event => compare(event.target.value);
  $("all").onclick = () => go({});
}
