// The timeline under the picture: a lane for each camera with what was recorded of it, and red where something moved.
//
// The wheel or a pinch zooms, from 10 minutes to 30 days; a wheel that goes sideways, or with Shift, moves it. Dragging
// shows the moment under the pointer, and letting go plays from there on. The newest moment is Live.

import {get} from "./api.js";
import {$, complaining} from "./dom.js";
import {go} from "./link.js";
import {goAgain, scrub, seek, shownMs} from "./player.js";
import {camera, cameras, recordedPath, state} from "./state.js";

const MINUTE_MS = 60e3, HOUR_MS = 3600e3, DAY_MS = 86400e3;
const LEAST_MS = 10 * MINUTE_MS, MOST_MS = 30 * DAY_MS;
const TICKS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map(minutes => minutes * MINUTE_MS)
  .concat([1, 2, 5, 10].map(days => days * DAY_MS));
const LABEL_PX = 92;       // from one time to the next, at least
const AXIS_PX = 20, GAP_PX = 2;
const LANES_PX = 150;      // all of them together, at most
const NAME_PX = 76;        // where the names of the cameras stand
const LIVE_MS = 3000;      // what is newer is live
const TOUCH_PX = 6;        // that a finger moves before it drags
const MARGIN = 0.03;       // of the span, behind the newest moment
const STEPS = 2000;        // that edged makes at most
const RENEW_MS = 10000;
const REST_MS = 120;       // after a change of the span, before edged is asked

// The span on the screen. `isLive`: it follows the clock; `timer`: a question to edged is due; `asked`: its span.
const view = {fromMs: Date.now() - HOUR_MS, spanMs: HOUR_MS, isLive: true, timer: 0, asked: null};
let loaded = null;         // the server's answer, with fromMs, toMs and atMs
let asking = 0, isDrawn = true;
let hover = null;          // where the pointer is, in pixels
const pointers = new Map();
let drag = null;           // {path, ms, x, isStill} while the playhead is dragged; a still finger may scroll the page
let pinch = null;

const place = () => $("track");
const canvas = () => $("lanes");
const width = () => canvas().clientWidth - NAME_PX;
const toX = ms => NAME_PX + (ms - view.fromMs) / view.spanMs * width();
const toMs = x => view.fromMs + (x - NAME_PX) / width() * view.spanMs;
const lanePx = count => Math.max(7, Math.min(18, Math.floor(LANES_PX / Math.max(1, count)) - GAP_PX));

// The server's answers
// ---------------------------------------------------------------------

// Without a recorder nothing is recorded, and others tell of a lost connection and of a login that has ended.
const ask = complaining(get, fault => !fault.isGone && ![401, 503].includes(fault.status));

// Asks for the span that is shown and half of it on each side; while none is shown, once it is.
async function load() {
  if (width() <= 0) {
    return;
  }
  const fromMs = view.fromMs - view.spanMs / 2, steps = Math.min(STEPS, Math.max(100, 2 * width()));
  const mine = ++asking, toMs = fromMs + 2 * view.spanMs;
  view.asked = {fromMs, toMs};
  const iso = ms => encodeURIComponent(new Date(Math.round(ms)).toISOString());
  try {
    const told = await ask(`v1/timeline?from=${iso(fromMs)}&to=${iso(toMs)}&steps=${Math.round(steps)}`);
    if (mine === asking) {
      loaded = {...told, fromMs, toMs, atMs: Date.now()};
      paint();
    }
  } catch {
    if (mine === asking) {
      loaded = {lanes: [], fromMs, toMs, atMs: Date.now(), isFault: true};
      paint();
    }
  } finally {
    if (mine === asking) {
      view.asked = null;
    }
  }
}

function loadSoon(afterMs = REST_MS) {
  clearTimeout(view.timer);
  view.timer = setTimeout(load, afterMs);
}

// Asks again where what is shown is not known, or may have grown; not while the answer is on its way.
function renew() {
  const endMs = view.fromMs + view.spanMs;
  const covers = span => span && span.fromMs <= view.fromMs && span.toMs >= endMs &&
    (span.toMs - span.fromMs) / view.spanMs < 4;
  const mayGrow = loaded && (endMs > loaded.atMs || loaded.isFault) && Date.now() - loaded.atMs > RENEW_MS;
  if ((!covers(loaded) || mayGrow) && !covers(view.asked)) {
    loadSoon();
  }
}

// Painting
// ---------------------------------------------------------------------

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

function paint() {
  if (isDrawn) {
    isDrawn = false;
    requestAnimationFrame(() => {
      isDrawn = true;
      paintNow();
    });
  }
}

function paintNow() {
  const names = cameras(), laneHeight = lanePx(names.length);
  const height = AXIS_PX + names.length * (laneHeight + GAP_PX) + GAP_PX;
  canvas().style.height = `${height}px`;
  const {clientWidth} = canvas();
  if (!clientWidth || !names.length) {
    return;
  }
  const scale = devicePixelRatio;
  Object.assign(canvas(), {width: clientWidth * scale, height: height * scale});
  const pen = canvas().getContext("2d");
  pen.scale(scale, scale);
  paintTimes(pen, height);
  names.forEach((name, i) => paintLane(pen, name, AXIS_PX + GAP_PX + i * (laneHeight + GAP_PX), laneHeight));
  paintHead(pen, height);
  tellHead();
}

function label(ms, stepMs) {
  const date = new Date(ms);
  return stepMs >= DAY_MS || (date.getHours() === 0 && date.getMinutes() === 0)
    ? date.toLocaleDateString(undefined, {month: "short", day: "numeric"})
    : date.toLocaleTimeString(undefined, {hour: "2-digit", minute: "2-digit"});
}

function paintTimes(pen, height) {
  const stepMs = TICKS_MS.find(step => step / view.spanMs * width() >= LABEL_PX) ?? TICKS_MS.at(-1);
  const offsetOf = ms => new Date(ms).getTimezoneOffset() * MINUTE_MS, offsetMs = offsetOf(view.fromMs);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const firstMs = Math.ceil((view.fromMs - offsetMs) / stepMs) * stepMs + offsetMs;
  for (let tickMs = firstMs; tickMs < view.fromMs + view.spanMs; tickMs += stepMs) {
    const ms = stepMs > HOUR_MS ? tickMs + offsetOf(tickMs) - offsetMs : tickMs;   // the clocks may have been changed
    pen.fillStyle = colour("line");
    pen.fillRect(Math.round(toX(ms)), 4, 1, height);
    pen.fillStyle = colour("quiet");
    const text = label(ms, stepMs);
    if (toX(ms) + 4 + pen.measureText(text).width < NAME_PX + width()) {
      pen.fillText(text, toX(ms) + 4, AXIS_PX / 2);
    }
  }
}

function paintLane(pen, name, y, height) {
  const nowX = Math.min(NAME_PX + width(), toX(Date.now()));
  const bar = (fromMs, untilMs, fill, top, tall) => {
    const x = Math.max(NAME_PX, toX(fromMs));
    pen.fillStyle = fill;
    pen.fillRect(x, top, Math.max(1.5, Math.min(NAME_PX + width(), toX(untilMs)) - x), tall);
  };
  pen.fillStyle = colour("line");
  pen.fillRect(NAME_PX, y, Math.max(0, nowX - NAME_PX), height);
  const lane = loaded?.lanes.find(each => each.camera === name);
  const stepMs = lane && (loaded.toMs - loaded.fromMs) / lane.steps.length;
  for (const run of lane?.steps.matchAll(/1+|2+/g) ?? []) {
    const fromMs = loaded.fromMs + run.index * stepMs, untilMs = fromMs + run[0].length * stepMs;
    if (untilMs > view.fromMs && fromMs < view.fromMs + view.spanMs) {
      bar(fromMs, untilMs, colour(run[0][0] === "2" ? "moving" : "footage"), y, height);
    }
  }
  // Motion that is not recorded.
  for (const event of state.events) {
    const untilMs = event.endedMs ?? Date.now();
    if (event.camera === name && untilMs > view.fromMs && event.startedMs < view.fromMs + view.spanMs) {
      bar(event.startedMs, untilMs, colour("moving"), y + height - 3, 3);
    }
  }
  const isChosen = name === camera() && !state.isWall;
  pen.font = `${isChosen ? "600 " : ""}${Math.min(12, height)}px system-ui, sans-serif`;
  pen.fillStyle = colour(isChosen ? "text" : "quiet");
  pen.fillText(name, 2, y + height / 2 + 0.5, NAME_PX - 8);
}

function paintHead(pen, height) {
  const mark = (x, text, fill, ink) => {
    if (x < NAME_PX || x > NAME_PX + width() + 1) {
      return;
    }
    pen.fillStyle = fill;
    pen.fillRect(Math.round(x) - 1, 0, 2, height);
    pen.font = "600 11px system-ui, sans-serif";
    const wide = pen.measureText(text).width + 12;
    const left = Math.min(Math.max(NAME_PX, x - wide / 2), NAME_PX + width() - wide);
    pen.beginPath();
    pen.roundRect(left, 1, wide, AXIS_PX - 3, 8);
    pen.fill();
    pen.fillStyle = ink;
    pen.fillText(text, left + 6, AXIS_PX / 2);
  };
  const time = ms => new Date(ms).toLocaleTimeString();
  if (hover !== null && !drag) {
    mark(hover, time(toMs(hover)), colour("text"), colour("back"));
  }
  const ms = drag?.ms ?? shownMs();
  mark(toX(ms ?? Date.now()), ms === null ? "Live" : time(ms), colour("accent"), colour("on-accent"));
}

// For who hears the page; the span for tests and scripts as well.
function tellHead() {
  const ms = drag?.ms ?? shownMs(), track = place();
  const text = ms === null ? "Live" : new Date(ms).toLocaleString();
  Object.assign(track.dataset, {left: String(NAME_PX), from: String(Math.round(view.fromMs)),
    to: String(Math.round(view.fromMs + view.spanMs))});
  track.setAttribute("aria-valuemin", String(Math.round(view.fromMs / 1000)));
  track.setAttribute("aria-valuemax", String(Math.round((view.fromMs + view.spanMs) / 1000)));
  track.setAttribute("aria-valuenow", String(Math.round((ms ?? Date.now()) / 1000)));
  track.setAttribute("aria-valuetext", text);
  $("now").setAttribute("aria-pressed", String(ms === null && view.isLive));
}

// Moving and zooming
// ---------------------------------------------------------------------

function show(fromMs, spanMs) {
  const nowMs = Date.now();
  view.spanMs = Math.min(MOST_MS, Math.max(LEAST_MS, spanMs));
  const mostMs = nowMs - (1 - MARGIN) * view.spanMs;
  view.isLive = fromMs >= mostMs - 0.005 * view.spanMs;
  view.fromMs = Math.min(fromMs, mostMs);
  renew();
  paint();
}

function zoom(factor, x = toX(shownMs() ?? Date.now())) {
  const spanMs = Math.min(MOST_MS, Math.max(LEAST_MS, view.spanMs * factor)), atMs = toMs(Math.max(NAME_PX, x));
  show(atMs - (atMs - view.fromMs) / view.spanMs * spanMs, spanMs);
}

function wheel(event) {
  event.preventDefault();
  const {deltaX, deltaY} = event;
  const sideways = event.shiftKey ? deltaY || deltaX : Math.abs(deltaX) > Math.abs(deltaY) && deltaX;
  if (sideways) {
    show(view.fromMs + sideways / width() * view.spanMs, view.spanMs);
  } else {
    zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400), at(event).x);
  }
}

function at(event) {
  const {left, top} = canvas().getBoundingClientRect();
  return {x: event.clientX - left, y: event.clientY - top};
}

// Dragging
// ---------------------------------------------------------------------

// The camera whose lane is there; in a view that is large all of the timeline is its own, but for the other lanes.
function laneAt(y) {
  const names = cameras(), i = Math.floor((y - AXIS_PX - GAP_PX) / (lanePx(names.length) + GAP_PX));
  return names[i] ?? camera();
}

function moveHead(ms) {
  drag.ms = Math.min(ms, Date.now());
  if (state.isWall || camera() !== drag.path.split("/")[0]) {
    go({path: drag.path, atMs: Math.round(drag.ms)});   // its picture comes first
  } else {
    scrub(drag.ms);
  }
  paint();
}

function begin(event) {
  place().setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, at(event));
  if (pointers.size === 2) {
    const [a, b] = [...pointers.values()];
    pinch = {spread: Math.max(20, Math.abs(a.x - b.x)), spanMs: view.spanMs, atMs: toMs((a.x + b.x) / 2)};
    giveUp();
  } else if (pointers.size === 1 && event.button === 0) {
    const {x, y} = at(event), name = laneAt(y);
    const ms = toMs(Math.max(NAME_PX, x)), isTouch = event.pointerType === "touch";
    drag = {path: name === camera() ? state.chosen : recordedPath(name), ms, x, isStill: isTouch};
    if (!isTouch) {
      moveHead(ms);
    }
  }
}

function move(event) {
  const {x} = at(event);
  hover = x >= NAME_PX && event.pointerType !== "touch" ? x : null;
  if (pointers.has(event.pointerId)) {
    pointers.set(event.pointerId, at(event));
    if (pinch && pointers.size === 2) {
      const [a, b] = [...pointers.values()], spanMs = pinch.spanMs * pinch.spread / Math.max(20, Math.abs(a.x - b.x));
      const limited = Math.min(MOST_MS, Math.max(LEAST_MS, spanMs));
      show(pinch.atMs - ((a.x + b.x) / 2 - NAME_PX) / width() * limited, limited);
    } else if (drag && !(drag.isStill && Math.abs(x - drag.x) < TOUCH_PX)) {
      drag.isStill = false;
      const past = x - NAME_PX < 0 ? x - NAME_PX : x - NAME_PX > width() ? x - NAME_PX - width() : 0;
      if (past) {
        show(view.fromMs + past / width() * view.spanMs / 4, view.spanMs);   // beyond an end it moves
      }
      moveHead(toMs(Math.min(NAME_PX + width(), Math.max(NAME_PX, x))));
    }
  }
  paint();
}

function end(event) {
  pointers.delete(event.pointerId);
  if (drag && event.type === "pointerup") {
    letGo(drag.path, drag.ms);
    drag = null;
  }
  giveUp();
  if (pointers.size < 2) {
    pinch = null;
  }
  paint();
}

// Back to what was shown before the playhead was dragged.
function giveUp() {
  const {isStill} = drag ?? {isStill: true};
  drag = null;
  if (!isStill) {
    goAgain();
  }
}

// Plays from there on, or live.
function letGo(path, ms) {
  if (Date.now() - ms < LIVE_MS) {
    go({path});
  } else if (state.at === null || path !== state.chosen) {
    go({path, atMs: Math.round(ms)});
  } else {
    seek(ms);
  }
}

function key(event) {
  const path = state.chosen, nowMs = shownMs() ?? Date.now();
  const to = ms => () => letGo(state.isWall ? recordedPath(camera()) : path, ms);
  const by = share => to(nowMs + share * view.spanMs);
  const does = {ArrowLeft: by(-1 / 60), ArrowRight: by(1 / 60), PageDown: by(-1 / 6), PageUp: by(1 / 6), End: toLive,
    "+": () => zoom(0.7), "-": () => zoom(1 / 0.7)}[event.key];
  if (does && !event.altKey && !event.ctrlKey && !event.metaKey) {
    does();
    event.preventDefault();
  }
}

function toLive() {
  show(Date.now(), view.spanMs);
  if (!state.isWall) {
    go({path: state.chosen});
  }
}

// Each second, and whenever the time in the picture changes: `ms` is null while it is live.
export function moveTimeline(ms) {
  if (state.place !== "live" || drag || pinch || !state.status) {
    return;
  }
  const endMs = view.fromMs + view.spanMs;
  if (ms === null || ms === undefined) {
    if (view.isLive) {
      view.fromMs = Date.now() - (1 - MARGIN) * view.spanMs;
    }
  } else if (ms < view.fromMs || ms > endMs) {
    show(ms - 0.3 * view.spanMs, view.spanMs);   // the playhead has run out of it
  }
  renew();
  paint();
}

// Asks again, as a clip has begun or ended.
export function renewTimeline() {
  if (loaded) {
    loaded.atMs = 0;
  }
  loadSoon();
}

export function beginTimeline() {
  const track = place();
  track.addEventListener("wheel", wheel, {passive: false});
  Object.assign(track, {onpointerdown: begin, onpointermove: move, onpointerup: end, onpointercancel: end,
    onkeydown: key, onpointerleave: () => { hover = null; paint(); }});
  $("now").onclick = toLive;
  $("closer").onclick = () => zoom(0.5);
  $("wider").onclick = () => zoom(2);
  new ResizeObserver(paint).observe(canvas());
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", paint);
}
