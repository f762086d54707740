// The page: a wall of views, one large, two with a wipe between them, and the panels beside.

import {get, make, post} from "./api.js";
import {stopClip} from "./clips.js";
import {noteEvent} from "./events.js";
import {Live, Picture} from "./video.js";
import {panels} from "./panels.js";

const $ = id => document.getElementById(id);

// What all parts of the page know. `chosen` and `compare` are paths, "front/edges".
export const state = {
  session: {}, status: null, schema: null, config: null, chosen: "", compare: "",
  pictures: new Map(), numbers: new Map(), history: [], events: [], tab: "picture", askedMs: performance.now(),
};

const WAYS = {webcodecs: "WebCodecs", mse: "Media Source Extensions", jpeg: "JPEG pictures"};

const live = new Live(told => {
  if (told.way) {
    state.way = told.way;
    $("way").textContent = [`Live by ${WAYS[told.way]}`, told.why && `: ${told.why}`, state.session.way === "cookie" &&
      !state.session.secure && "; not encrypted, so whoever listens on the network can copy this login"].filter(Boolean).join("");
  }
  if (told.fault === 401) {
    start();
  } else if (told.fault !== undefined) {
    complain(told.fault);
  }
  if (told.status && state.status) {
    const renew = (all, some, key) => all.map(each => some.find(one => one[key] === each[key]) ?? each);
    state.toldMs = performance.now();
    takeStatus({...told.status, cameras: renew(state.status.cameras, told.status.cameras, "name"),
      mounts: renew(state.status.mounts, told.status.mounts, "path")});
  }
  if (told.event) {
    takeEvent(told.event);
  }
});

// For who hears the page instead of seeing it.
export function say(sentence) {
  $("said").textContent = sentence;
}

function complain(sentence) {
  if ($("fault").textContent !== sentence) {
    $("fault").textContent = sentence;
  }
}

export const camera = () => state.chosen.split("/")[0];
export const view = () => state.chosen.split("/")[1];
export const cameraStatus = () => state.status?.cameras.find(each => each.name === camera());
export const mountStatus = path => state.status?.mounts.find(each => `${each.camera}/${each.view}` === path);

const paths = () => state.status.mounts.map(mount => `${mount.camera}/${mount.view}`);

// The wall has a tile for each view there is.
function buildWall() {
  $("wall").replaceChildren();
  state.pictures.clear();
  for (const path of paths()) {
    const picture = new Picture(path, mountStatus(path).codec);
    const canvas = make("canvas", {"aria-hidden": "true"});
    picture.canvases.add(canvas);
    state.pictures.set(path, picture);
    $("wall").append(make("button", {type: "button", class: "tile", "data-path": path, "aria-label": `Show ${path}`,
      onclick: () => open(path)}, canvas, make("span", {class: "dot"}, path), make("span", {class: "quiet"})));
  }
  $("compare").replaceChildren(make("option", {value: ""}, "nothing"),
    ...paths().map(path => make("option", {value: path}, path)));
  live.show(state.pictures.values());
  choose(paths().includes(state.chosen) ? state.chosen : paths()[0] ?? "");
}

// All views alike, or one of them large and the others beneath.
function showWall(wall) {
  document.body.classList.toggle("wall", wall);
  $("mode").setAttribute("aria-pressed", String(wall));
}

function open(path) {
  stopClip();
  showWall(false);
  choose(path);
}

function place(canvas, path) {
  for (const picture of state.pictures.values()) {
    picture.canvases.delete(canvas);
  }
  canvas.hidden = !path;
  if (path) {
    const picture = state.pictures.get(path);
    picture.canvases.add(canvas);
    const [tile] = picture.canvases;
    if (tile.width && picture.size[0]) {
      [canvas.width, canvas.height] = picture.size;
      canvas.getContext("2d", {alpha: false}).drawImage(tile, 0, 0);
    }
  }
}

export function choose(path) {
  const before = camera();
  state.chosen = path;
  for (const tile of $("wall").children) {
    tile.setAttribute("aria-current", String(tile.dataset.path === path));
  }
  place($("large"), path);
  $("large").setAttribute("aria-label", `Live picture of ${path}`);
  live.prefer(state.pictures.get(path));
  compare(state.compare === path ? "" : state.compare);
  showSize();
  showNumbers();
  location.replace(`#${path}`);
  if (before !== camera() || state.tab === "picture") {
    showTab(state.tab);
  }
  showArmed();
}

function compare(path) {
  state.compare = path && state.pictures.has(path) ? path : "";
  $("compare").value = state.compare;
  place($("other"), state.compare);
  $("wipe").hidden = !state.compare;
  $("other").style.clipPath = `inset(0 0 0 ${$("wipe").value}%)`;
}

// Panels
// ---------------------------------------------------------------------

export function showTab(name) {
  state.tab = name;
  for (const tab of $("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.name === name));
    tab.tabIndex = tab.dataset.name === name ? 0 : -1;
  }
  $("tab").setAttribute("aria-labelledby", `tab-${name}`);
  $("shapes").toggleAttribute("hidden", true);
  $("tab").replaceChildren();
  panels[name].show($("tab"), $("shapes"));
}

function buildTabs() {
  $("tabs").replaceChildren(...Object.entries(panels).map(([name, panel]) => make("button",
    {role: "tab", type: "button", id: `tab-${name}`, "aria-controls": "tab", "data-name": name, onclick: () => showTab(name),
      onkeydown: event => {
        const other = {ArrowRight: "nextSibling", ArrowLeft: "previousSibling"}[event.key];
        event.currentTarget[other]?.focus();
      }}, panel.title)));
}

// What the server tells
// ---------------------------------------------------------------------

function takeStatus(status) {
  const streams = () => state.status?.mounts.map(mount => mount.path + mount.codec).join();
  const before = streams();
  state.status = status;
  if (before !== streams()) {
    buildWall();
  }
  for (const tile of $("wall").children) {
    const [name] = tile.dataset.path.split("/");
    const seen = status.cameras.find(each => each.name === name);
    const caption = tile.querySelector(".dot");
    if (caption.dataset.state && caption.dataset.state !== seen.state) {
      say(`${name}: ${seen.state}`);
    }
    caption.dataset.state = seen.state;
    caption.className = `dot ${seen.state}`;
    tile.setAttribute("aria-label", `Show ${tile.dataset.path}, ${seen.state}`);
  }
  showSize();
  showArmed();
}

function takeEvent(event) {
  if (noteEvent(state.events, event)) {
    say(`Motion in ${event.region} of ${event.camera} ${event.event === "motion_ended" ? "ended" : "began"}`);
  }
  if (state.tab === "events") {
    panels.events.tick($("tab"));
  }
}

// A split is twice as wide as its camera's picture, so what was drawn comes first.
function showSize() {
  const [width, height] = state.pictures.get(state.chosen)?.size ?? [0, 0];
  const seen = cameraStatus();
  const [x, y] = width ? [width, height] : [seen?.width, seen?.height];
  if (x && y) {
    $("screen").style.setProperty("--ratio", x / y);
  }
}

function showArmed() {
  const armed = cameraStatus()?.armed;
  $("armed").disabled = !state.session.can_change || armed === undefined;
  $("armed").checked = armed !== false;
}

// Once a second: numbers on the tiles, charts, and now and then the status of all views: with a video comes that of its own.
async function tick() {
  for (const [path, picture] of state.pictures) {
    const numbers = picture.take();
    state.numbers.set(path, numbers);
    const shown = numbers.p50 === null ? "–" : `${numbers.p50.toFixed(0)} ms`;
    $("wall").querySelector(`[data-path="${path}"] .quiet`).textContent =
      numbers.slate ? "no signal" : `${numbers.fps.toFixed(0)} fps · ${shown}`;
  }
  showNumbers();
  const nowMs = performance.now();
  if (state.status && (nowMs - state.askedMs > 5000 || nowMs - (state.toldMs ?? 0) > 3000)) {
    state.askedMs = nowMs;
    takeStatus(await get("/v1/status"));
  }
  const mount = mountStatus(state.chosen);
  if (mount) {
    state.history = [...state.history, {path: state.chosen, ...state.numbers.get(state.chosen),
      compute: mount.latency_ms.compute.p50}].slice(-120);
  }
  panels[state.tab].tick?.($("tab"));
}

function showNumbers() {
  const numbers = state.numbers.get(state.chosen);
  const mount = mountStatus(state.chosen);
  const seen = cameraStatus();
  if (!numbers || !mount || !seen) {
    return;
  }
  const screen = numbers.p50 === null ? "" : `${numbers.p50.toFixed(0)} ms (${numbers.p95.toFixed(0)})`;
  $("place").textContent = `${state.chosen} · ${numbers.slate ? "no signal" : seen.state}`;
  $("place").className = `dot ${numbers.slate ? "" : seen.state}`;
  $("age").textContent = screen;
  const rows = {
    "To the screen": screen || "–",
    "Frames": `${numbers.fps.toFixed(1)} / s`,
    "Bit rate": `${(numbers.kbps / 1000).toFixed(1)} Mbit/s`,
    "Viewers": mount.viewers,
    "Computing, ms": `${mount.latency_ms.compute.p50.toFixed(2)} of ${(1000 / Math.max(seen.fps, 1)).toFixed(0)}`,
    "Computed by": seen.backend,
  };
  $("numbers").replaceChildren(...Object.entries(rows).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {title: String(value)}, String(value)))));
}

// Logging in
// ---------------------------------------------------------------------

async function logIn() {
  const dialog = $("login");
  const form = dialog.querySelector("form");
  if (state.session.way === "prompt") {
    location.assign("/login");
    return;
  }
  $("login-note").textContent = location.protocol === "https:" ? "" : "This connection is not encrypted; the password stays on this machine.";
  form.onsubmit = async event => {
    event.preventDefault();
    try {
      await post("/v1/login", {user: form.user.value, password: form.password.value});
      form.password.value = "";
      dialog.close();
      start();
    } catch (fault) {
      $("login-fault").textContent = fault.status === 401 ? "This is not the name and the password of a user." : fault.message;
    }
  };
  if (!dialog.open) {
    dialog.showModal();
  }
}

async function start() {
  state.session = await get("/v1/session");
  if (!state.session.role) {
    logIn();
    return;
  }
  $("user").textContent = state.session.user
    ? `${state.session.user}, ${state.session.role}` : state.session.can_change ? "may change settings" : "may watch";
  $("logout").hidden = state.session.way !== "cookie";
  state.schema ??= await get("/v1/config/schema").catch(() => null);
  state.config = await get("/v1/config").catch(() => null);
  takeStatus(await get("/v1/status"));
  buildTabs();
  showTab(state.tab);
}

function listen() {
  const complains = promise => promise.catch(fault => complain(fault.message));
  $("mode").onclick = () => showWall(!document.body.classList.contains("wall"));
  $("wipe").oninput = () => compare(state.compare);
  $("compare").onchange = event => compare(event.target.value);
  $("full").onclick = () => complains($("screen").requestFullscreen());
  $("logout").onclick = () => complains(post("/v1/logout", {}).then(() => location.assign("/")));
  $("armed").onchange = event => complains(post(`/v1/cameras/${camera()}/armed`, {armed: event.target.checked}));
  $("snapshot").onclick = () => make("a", {href: `/snapshot.jpg?camera=${camera()}&view=${view()}`,
    download: `${camera()}-${view()}.jpg`}).click();
  setInterval(() => complains(tick()), 1000);
  complains(start());
}

state.chosen = decodeURIComponent(location.hash.slice(1));
listen();
