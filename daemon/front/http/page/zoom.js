// Digital zoom of the large picture: by the wheel, two fingers, + and -; a drag or Shift with the arrows moves it.

import {$} from "./dom.js";
import {go} from "./link.js";
import {cameras, state} from "./state.js";

const MOST = 8;            // times as large
const TAP = 2.5;           // by a double tap
const STEP = 1.4;          // by a key
const MOVE = 0.1;          // of the picture, by a key

let scale = 1, left = 0, top = 0;   // of the picture's size; the offsets are shares of the screen, 0 or less
const pointers = new Map();
let before = null;         // {x, y, spread} of the pointers
let kind = "mouse";        // of the last pointer

export const isZoomed = () => scale > 1;

function show() {
  left = Math.min(0, Math.max(1 - scale, left));
  top = Math.min(0, Math.max(1 - scale, top));
  $("pane").style.transform = scale === 1 ? "" : `translate(${100 * left}%, ${100 * top}%) scale(${scale})`;
  $("screen").classList.toggle("zoomed", isZoomed());
  $("zoom").hidden = !isZoomed();
  $("zoom").textContent = `${scale.toFixed(1)}× ✕`;
}

// Makes it `factor` times as large; what is at (x, y), shares of the screen, stays there.
function zoom(factor, x = 0.5, y = 0.5) {
  const next = Math.min(MOST, Math.max(1, scale * factor));
  left = x - (x - left) / scale * next;
  top = y - (y - top) / scale * next;
  scale = next < 1.01 ? 1 : next;
  show();
}

export function resetZoom() {
  [scale, left, top] = [1, 0, 0];
  show();
}

function at({clientX, clientY}) {
  const box = $("screen").getBoundingClientRect();
  return {x: (clientX - box.left) / box.width, y: (clientY - box.top) / box.height};
}

// Buttons, sliders and shapes that are drawn have their own use of a pointer.
const isOwn = ({target}) => !target.closest("button, select, input, a, #shapes.drawing");

// Middle and spread of the fingers.
function middle() {
  const all = [...pointers.values()], [a, b = a] = all;
  return {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, spread: all.length > 1 ? Math.hypot(a.x - b.x, a.y - b.y) : 0};
}

function down(event) {
  kind = event.pointerType;
  if (isOwn(event) && event.button === 0) {
    pointers.set(event.pointerId, at(event));
    before = middle();
  }
}

function move(event) {
  if (!pointers.has(event.pointerId) || (pointers.size === 1 && !isZoomed())) {
    return;
  }
  if (!$("screen").hasPointerCapture(event.pointerId)) {
    $("screen").setPointerCapture(event.pointerId);
  }
  pointers.set(event.pointerId, at(event));
  const now = middle();
  left += now.x - before.x;
  top += now.y - before.y;
  zoom(before.spread && now.spread ? now.spread / before.spread : 1, now.x, now.y);
  before = now;
}

function up(event) {
  pointers.delete(event.pointerId);
  before = pointers.size ? middle() : null;
}

function double(event) {
  if (!isOwn(event) || state.place !== "live") {
    return;
  }
  const {x, y} = at(event);
  if (isZoomed()) {
    resetZoom();
  } else if (kind === "touch") {
    zoom(TAP, x, y);
  } else if (cameras().length > 1) {
    go({});
  }
}

function key(event) {
  if (state.place !== "live" || state.isWall || event.target.closest?.("select, input, [role=slider], dialog")) {
    return;
  }
  const by = (x, y) => () => {
    [left, top] = [left - x, top - y];
    show();
  };
  const moves = {ArrowLeft: by(-MOVE, 0), ArrowRight: by(MOVE, 0), ArrowUp: by(0, -MOVE), ArrowDown: by(0, MOVE)};
  const does = (event.shiftKey && isZoomed() && moves[event.key]) ||
    {"+": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: resetZoom}[event.key];
  if (does) {
    does();
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

export function beginZoom() {
  const screen = $("screen");
  screen.addEventListener("wheel", event => {
    const {x, y} = at(event);
    event.preventDefault();
    zoom(Math.exp(-Math.max(-100, Math.min(100, event.deltaY)) / 300), x, y);
  }, {passive: false});
  Object.assign(screen, {onpointerdown: down, onpointermove: move, onpointerup: up, onpointercancel: up,
    ondblclick: double});
  addEventListener("keydown", key);
  $("zoom").onclick = resetZoom;
}
