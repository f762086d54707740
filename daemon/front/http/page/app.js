// edged's page: who is logged in, which of its three places is shown, and what the server tells, handed on to these.

import {get, post} from "./api.js";
import {$, complain, complaining, make, say} from "./dom.js";
import {endEvents, isRecording, noteEvent, renewClips, showEvents} from "./events.js";
import {isSame} from "./changes.js";
import {goInstead, readLink} from "./link.js";
import {beginLive, buildWall, showAges, showArmed, showLive, showSize} from "./live.js";
import {logIn} from "./login.js";
import {beginNotify, isNotifying, notify} from "./notify.js";
import {beginPlayer, playFrom, shownMs, stop} from "./player.js";
import {finishDeleting, renewRecorded, showRecorded, showStorage} from "./recorded.js";
import {beginScreen, showFull} from "./screen.js";
import {buildTabs, changeCount, isChanging, isDrawing, rebuildTab, showTab, tickTab} from "./settings.js";
import {camera, cameras, mountStatus, paths, state, statusOf, view} from "./state.js";
import {beginTimeline, moveTimeline, renewTimeline} from "./timeline.js";
import {Live} from "./video.js";
import {beginZoom, resetZoom} from "./zoom.js";

export {state};

const CLIPS_MS = 500;
const AGAIN_MS = 1500;     // a clip that was asked for has begun by then, or is looked for again
const BEGIN_MS = 15000;    // within so long
const RETRY_MS = 5000;     // after the clips could not be had
const RESTART_MS = 1000;   // after the session, the settings or the status could not be had
const WAYS = {webcodecs: "WebCodecs", mse: "Media Source Extensions", jpeg: "JPEG pictures"};

const EVENTS = {
  motion_started(event) {
    takeMotion(event);
    notify(event);
  },
  motion_ended: takeMotion,
  camera_state({camera: name, state: now, error}) {
    Object.assign(statusOf(name) ?? {}, {state: now, error});
    showAges();
  },
  clip_ended: () => clipsChanged(0),
  settings_changed: () => renewSoon(),
  connected() {
    renewSoon();
    clipsChanged(0);
  },
};

const live = new Live(told => {
  if (told.way) {
    showWay(told);
  }
  if (told.fault?.status === 401) {
    begin();
  } else if (told.fault !== undefined) {
    complain(told.fault?.message ?? "");
  }
  if (told.status && state.status) {
    const renew = (all, some, key) => all.map(each => some.find(one => one[key] === each[key]) ?? each);
    state.toldMs = performance.now();
    takeStatus({...state.status, ...told.status, cameras: renew(state.status.cameras, told.status.cameras, "name"),
      mounts: renew(state.status.mounts, told.status.mounts, "path")});
  }
  EVENTS[told.kind]?.(told.event);
});

// How the pictures come. On a narrow screen only what somebody should know of is shown.
function showWay({way, why}) {
  const isOpen = state.session.way === "cookie" && !state.session.secure;
  state.way = way;
  $("way").textContent = [`Live by ${WAYS[way]}`, why && `: ${why}`,
    isOpen && "; not encrypted, so whoever listens on the network can copy this login"].filter(Boolean).join("");
  $("way").classList.toggle("wrong", isOpen || /too slow/.test(why));
}

// Places
// ---------------------------------------------------------------------

// Shows what the address names.
function route(isAgain = false) {
  const link = readLink(location.hash), before = camera(), {place, tab, at, chosen: was} = state, all = paths();
  if (link.path && !all.includes(link.path)) {
    link.path = "";   // a view that is gone, or not for this user
  }
  const chosen = link.path || (all.includes(state.chosen) ? state.chosen : all[0] ?? "");
  Object.assign(state, {place: link.place, at: link.path ? link.atMs : null, chosen,
    isWall: link.place === "live" ? !link.path && cameras().length > 1 : state.isWall});
  document.body.dataset.place = state.place;
  const title = {recorded: "Recorded", settings: "Settings"}[state.place] ?? (state.isWall ? "Live" : chosen);
  document.title = `${title} · edged`;
  document.body.classList.toggle("wall", state.isWall && state.place === "live");
  for (const each of document.querySelectorAll("nav a")) {
    each.toggleAttribute("aria-current", each.dataset.place === state.place);
  }
  if (state.place === "live" && !state.isWall && !link.path && chosen) {
    goInstead({path: chosen});
  }
  if (state.at === null) {
    stop();
  } else if (state.at !== at || chosen !== was || isAgain) {
    playFrom(state.at);
  }
  if (before !== camera() || place !== state.place) {
    resetZoom();
  }
  showFull();
  showRecord();
  showLive();
  moveTimeline(shownMs());
  showEvents($("events"), state);
  if (state.place === "recorded") {
    showRecorded($("clips"), record);
  }
  if (state.place === "settings" && (place !== "settings" || before !== camera() || tab === "picture")) {
    buildTabs();
    showTab(state.tab);
  }
}

let begun = null;   // {name, untilMs}: the camera whose clip was asked for last, until it is among the clips

// Begins a clip of a camera, which lasts as long as the settings say; or ends it.
async function record(name, isOn = true) {
  await post(`v1/cameras/${name}/record`, {record: isOn});
  begun = isOn ? {name, untilMs: performance.now() + BEGIN_MS} : null;
  clipsChanged(AGAIN_MS);
}

const isAwaited = () => Boolean(begun) && performance.now() < begun.untilMs;

function showRecord() {
  const isOn = isRecording(camera());
  $("record").textContent = isOn ? "Stop recording" : "Record now";
  $("record").setAttribute("aria-pressed", String(isOn));
}

const hasRecorder = () => (state.status?.recorder?.state ?? "off") !== "off";

let clipsRetry = 0;   // a timer

// Asks for the clips, once for all that changes within half a second: the events begin with hundreds of clips that
// have ended.
function clipsChanged(afterMs) {
  const nowMs = performance.now(), dueMs = Math.ceil((nowMs + afterMs) / CLIPS_MS) * CLIPS_MS;
  if (state.clipsDue.has(dueMs)) {
    return;
  }
  state.clipsDue.add(dueMs);
  setTimeout(() => {
    state.clipsDue.delete(dueMs);
    renewRecorded();
    renewTimeline();
    renewClips().then(() => {
      showEvents($("events"), state);
      showRecord();
      begun = isRecording(begun?.name) ? null : begun;
      if (isAwaited()) {
        clipsChanged(AGAIN_MS);
      }
    }, () => {
      state.askedMs = -Infinity;   // a recorder that nobody wanted before shows only in the next status
      clearTimeout(clipsRetry);
      clipsRetry = setTimeout(() => (hasRecorder() || isAwaited()) && !document.hidden && clipsChanged(0), RETRY_MS);
    });
  }, dueMs - nowMs);
}

// Messages of the server
// ---------------------------------------------------------------------

function takeStatus(status) {
  const streams = () => state.status?.mounts.map(mount => mount.path + mount.codec).join();
  const before = streams();
  state.status = status;
  if (before !== streams()) {
    buildWall();
    route();
  }
  endEvents(state.events, status);
  showAges();
  showSize();
  showArmed();
  showStorage();
}

function takeMotion(event) {
  if (noteEvent(state.events, event) && Date.now() - Date.parse(event.time) < 10000) {
    say(`Motion in ${event.region} of ${event.camera} ${event.event === "motion_ended" ? "ended" : "began"}`);
    clipsChanged(3000);   // by then its clip has begun
  }
  state.soon ??= setTimeout(() => {
    state.soon = null;
    showEvents($("events"), state);
  }, 100);
}

// The pictures tell of a lost connection, and whoever is logged in no more is asked to log in.
const askStatus = complaining(() => get("v1/status"), fault => !fault.isGone && fault.status !== 401);

// Once a second: numbers, charts, and now and then the status of all views: with a video comes that of its own.
async function tick() {
  for (const [path, picture] of state.pictures) {
    state.numbers.set(path, picture.take());
  }
  showAges();
  const nowMs = performance.now();
  if (state.status && !state.isAsking && (nowMs - state.askedMs > 5000 || nowMs - state.toldMs > 3000)) {
    Object.assign(state, {isAsking: true, askedMs: nowMs});
    await askStatus().then(takeStatus, fault => fault.status === 401 && begin())
      .finally(() => { state.isAsking = false; });
  }
  const mount = mountStatus(state.chosen);
  if (mount) {
    state.history = [...state.history, {path: state.chosen, ...state.numbers.get(state.chosen),
      compute: mount.latency_ms.compute.p50}].slice(-120);
  }
  showEvents($("events"), state);
  moveTimeline(shownMs());
  if (state.place === "settings") {
    tickTab();
  }
}

let starts = 0;   // how often start() was called: what an earlier one was told is dropped

// Asks who is logged in, and for the settings and the status. The forms are built again if something is new.
async function start() {
  const mine = ++starts, session = await get("v1/session");
  if (mine !== starts) {
    return;
  }
  if (!session.role) {
    state.session = session;
    logIn(begin);
    return;
  }
  state.schema ??= await get("v1/config/schema");
  const count = changeCount(), config = session.can_change ? await get("v1/config") : null;
  const status = await get("v1/status");
  if (mine !== starts) {
    return;
  }
  if (isBusy() || count !== changeCount()) {
    renewSoon();   // these settings may be older than what was changed from here
    return;
  }
  const isNew = !isSame([session, config], [state.session, state.config]);
  if (isNew) {
    Object.assign(state, {session, config});
  }
  takeStatus(status);
  if (isNew) {
    complain("");   // what was refused without this login
    showUser();
    buildTabs();
    rebuildTab();
    clipsChanged(0);
  }
}

function showUser() {
  $("login").close();   // somebody may have logged in on another page
  const {user, role, can_change: may, way} = state.session;
  $("user").textContent = user ? `${user}, ${role}` : may ? "may change settings" : "may watch";
  $("user").title = may ? "" : user ? "To change something, log in as an operator."
    : "To change something, open the link that edgectl page prints.";
  $("logout").hidden = way !== "cookie";
  $("to-settings").hidden = !may;
  document.body.classList.toggle("operator", may);
}

// Somebody is in the middle of a change.
function isBusy() {
  const {activeElement: field} = document;
  const isText = field?.closest("#tab") && field.matches("[type=text], [type=number]");
  const isTyping = isText && field.value !== field.defaultValue;
  return isTyping || isChanging() || isDrawing() || document.querySelector("#panel :active, #shapes:active");
}

// start(), once nobody is in the middle of a change.
function renewSoon(afterMs = 300) {
  clearTimeout(state.renewal);
  state.renewal = setTimeout(() => isBusy() ? renewSoon() : begin(), afterMs);
}

const tryStart = complaining(start, fault => !fault.isGone || !state.status);

// start(), until it comes.
const begin = () => tryStart().catch(() => renewSoon(RESTART_MS));

function listen() {
  const complains = promise => promise.catch(fault => complain(fault.message));
  $("logout").onclick = () => complains(finishDeleting().then(() => post("v1/logout", {}))
    .then(() => location.assign("./")));
  $("armed").onchange = event => complains(post(`v1/cameras/${camera()}/armed`, {armed: event.target.checked}));
  $("snapshot").onclick = () => make("a", {href: `snapshot.jpg?camera=${camera()}&view=${view()}`,
    download: `${camera()}-${view()}-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}Z.jpg`}).click();
  $("record").onclick = async () => {
    $("tools-said").className = "";
    const name = camera(), isOn = !isRecording(name);
    const done = isOn ? `Recording ${name}.` : `Recorded ${name}.`;
    $("tools-said").textContent = await record(name, isOn).then(() => done, fault => {
      $("tools-said").className = "fault";
      return fault.message;
    });
  };
  $("skip").onclick = () => $("main").focus();
  addEventListener("hashchange", () => state.status && route());
  addEventListener("click", event => {
    if (event.target.closest?.("a[href^='#']")?.hash === location.hash && state.status) {
      route(true);   // the same address again: what it names is shown from its beginning
    }
  });
  beginLive(live);
  beginZoom();
  beginPlayer(moveTimeline);
  beginTimeline();
  beginScreen();
  const hear = () => { live.hearsHidden = isNotifying(); };
  beginNotify(hear);
  hear();
  setInterval(() => tick().catch(fault => complain(fault.message)), 1000);
  setInterval(showAges, 250);
  begin();
}

listen();
