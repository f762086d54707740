// The page: a wall of views, one large, two with a wipe between them, and the panels beside.

import {judge} from "./age.js";
import {get, make, post} from "./api.js";
import {stopClip} from "./clips.js";
import {endEvents, noteEvent} from "./events.js";
import {isSame} from "./forms.js";
import {changeCount, isChanging, isDrawing, panels} from "./panels.js";
import {camera, cameraStatus, mountStatus, say, state, statusOf, view} from "./state.js";
import {Live, Picture} from "./video.js";

export {state};

const $ = id => document.getElementById(id);

const WAYS = {webcodecs: "WebCodecs", mse: "Media Source Extensions", jpeg: "JPEG pictures"};

const EVENTS = {
  motion_started: takeMotion,
  motion_ended: takeMotion,
  camera_state({camera: name, state: now, error}) {
    Object.assign(statusOf(name) ?? {}, {state: now, error});
    showAges();
  },
  settings_changed: renewSoon,
  connected: renewSoon,
};

const live = new Live(told => {
  if (told.way) {
    state.way = told.way;
    $("way").textContent = [`Live by ${WAYS[told.way]}`, told.why && `: ${told.why}`, state.session.way === "cookie" &&
      !state.session.secure && "; not encrypted, so whoever listens on the network can copy this login"].filter(Boolean).join("");
  }
  if (told.fault?.status === 401) {
    start();
  } else if (told.fault !== undefined) {
    complain(told.fault?.message ?? "");
  }
  if (told.status && state.status) {
    const renew = (all, some, key) => all.map(each => some.find(one => one[key] === each[key]) ?? each);
    state.toldMs = performance.now();
    takeStatus({...told.status, cameras: renew(state.status.cameras, told.status.cameras, "name"),
      mounts: renew(state.status.mounts, told.status.mounts, "path")});
  }
  EVENTS[told.kind]?.(told.event);
});

function complain(sentence) {
  if ($("fault").textContent !== sentence) {
    $("fault").textContent = sentence;
  }
}

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
  showAges();
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
  endEvents(state.events, status);
  showAges();
  showSize();
  showArmed();
}

function takeMotion(event) {
  if (noteEvent(state.events, event) && Date.now() - Date.parse(event.time) < 10000) {
    say(`Motion in ${event.region} of ${event.camera} ${event.event === "motion_ended" ? "ended" : "began"}`);
  }
  state.soon ??= setTimeout(() => {
    state.soon = null;
    panels[state.tab].tick?.($("tab"));
  }, 100);
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

// On each tile and on the large picture: how late it is, or what is wrong with it.
function showAges() {
  for (const tile of $("wall").children) {
    const {path} = tile.dataset, numbers = state.numbers.get(path);
    const seen = judge(state.pictures.get(path), statusOf(path));
    const late = numbers && numbers.p50 !== null ? `${numbers.p50.toFixed(0)} ms` : "–";
    if (tile.dataset.state && tile.dataset.state !== seen.state) {
      say(`${path}: ${seen.state}`);
    }
    tile.dataset.state = seen.state;
    tile.classList.toggle("old", seen.isOld);
    tile.setAttribute("aria-label", `Show ${path}, ${seen.state}`);
    tile.querySelector(".dot").className = `dot ${seen.state}`;
    tile.querySelector(".quiet").textContent = seen.words || `${numbers?.fps.toFixed(0) ?? 0} fps · ${late}`;
    if (path === state.chosen) {
      $("screen").classList.toggle("old", seen.isOld);
      $("place").textContent = `${path} · ${seen.state}`;
      $("place").className = `dot ${seen.state}`;
      $("age").textContent = seen.words || screenMs(numbers);
      $("age").classList.toggle("wrong", Boolean(seen.words));
    }
  }
}

const screenMs = numbers => numbers && numbers.p50 !== null ? `${numbers.p50.toFixed(0)} ms (${numbers.p95.toFixed(0)})` : "";

// Once a second: numbers on the tiles, charts, and now and then the status of all views: with a video comes that of its own.
async function tick() {
  for (const [path, picture] of state.pictures) {
    state.numbers.set(path, picture.take());
  }
  showAges();
  showNumbers();
  const nowMs = performance.now();
  if (state.status && !state.isAsking && (nowMs - state.askedMs > 5000 || nowMs - (state.toldMs ?? 0) > 3000)) {
    Object.assign(state, {isAsking: true, askedMs: nowMs});
    await get("v1/status").then(takeStatus).finally(() => { state.isAsking = false; });
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
  const rows = {
    "To the screen": !judge(state.pictures.get(state.chosen), seen).words && screenMs(numbers) || "–",
    "Frames": `${numbers.fps.toFixed(1)} / s${numbers.skipped ? `, ${numbers.skipped} dropped` : ""}`,
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
    location.assign("login");
    return;
  }
  dialog.oncancel = event => event.preventDefault();   // there is nothing to see without
  $("login-note").textContent = location.protocol === "https:" ? "" : "This connection is not encrypted; the password stays on this machine.";
  form.onsubmit = async event => {
    event.preventDefault();
    try {
      await post("v1/login", {user: form.user.value, password: form.password.value});
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

// Asks who is logged in, and for the settings and the status. The forms are built again if something is new.
async function start() {
  const session = await get("v1/session");
  if (!session.role) {
    state.session = session;
    logIn();
    return;
  }
  state.schema ??= await get("v1/config/schema").catch(() => null);
  const count = changeCount();
  const config = await get("v1/config").catch(() => null);
  if (isChanging() || count !== changeCount()) {
    renewSoon();   // these settings may be older than what was changed from here
    return;
  }
  const isNew = !isSame([session, config], [state.session, state.config]);
  if (isNew) {
    Object.assign(state, {session, config});
  }
  takeStatus(await get("v1/status"));
  if (isNew) {
    $("user").textContent = session.user
      ? `${session.user}, ${session.role}` : session.can_change ? "may change settings" : "may watch";
    $("logout").hidden = session.way !== "cookie";
    buildTabs();
    rebuildTab();
  }
}

// The panel again, at the place and with the focus that it had, and with what became of the last change.
function rebuildTab() {
  const {scrollTop} = $("tab"), {id} = document.activeElement, before = $("tab").querySelector(".actions p");
  showTab(state.tab);
  document.getElementById(id)?.focus();
  $("tab").scrollTop = scrollTop;
  const line = $("tab").querySelector(".actions p");
  if (before && line) {
    Object.assign(line, {textContent: before.textContent, className: before.className});
  }
}

// start(), once nobody is in the middle of a change.
function renewSoon() {
  clearTimeout(state.renewal);
  state.renewal = setTimeout(() => {
    const {activeElement: field} = document;
    const isTyping = field?.closest("#tab") && field.matches("[type=text], [type=number]") && field.value !== field.defaultValue;
    if (isTyping || isChanging() || isDrawing() || document.querySelector("#panel :active, #shapes:active")) {
      renewSoon();
    } else {
      start().catch(fault => fault.isGone || complain(fault.message));
    }
  }, 300);
}

const begin = () => start().catch(fault => {
  complain(fault.message);
  setTimeout(begin, 1000);
});

function listen() {
  const complains = promise => promise.catch(fault => complain(fault.message));
  $("mode").onclick = () => showWall(!document.body.classList.contains("wall"));
  $("wipe").oninput = () => compare(state.compare);
  $("compare").onchange = event => compare(event.target.value);
  $("full").onclick = () => complains($("screen").requestFullscreen());
  $("logout").onclick = () => complains(post("v1/logout", {}).then(() => location.assign("./")));
  $("armed").onchange = event => complains(post(`v1/cameras/${camera()}/armed`, {armed: event.target.checked}));
  $("snapshot").onclick = () => make("a", {href: `snapshot.jpg?camera=${camera()}&view=${view()}`,
    download: `${camera()}-${view()}-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}Z.jpg`}).click();
  // The pictures tell of a lost connection.
  setInterval(() => tick().catch(fault => fault.isGone || complain(fault.message)), 1000);
  setInterval(showAges, 250);
  begin();
}

state.chosen = decodeURIComponent(location.hash.slice(1));
listen();
