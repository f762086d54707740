// Plays the recordings of the chosen camera over its live picture, from clip to clip, and names the gaps between them.

import {clipAfter, clipAt, clipBefore, endMs, fileNameOf, getClip, pictureOf, startMs, videoOf} from "./clips.js";
import {$, make} from "./dom.js";
import {go, writeLink} from "./link.js";
import {camera, state} from "./state.js";

const REST_MS = 80;        // a pointer that rests for so long is shown the very moment
const GAP_MS = 1500;       // a gap's name is shown for so long
const JOIN_MS = 1000;      // what is nearer than this is no gap
const CAUGHT_UP_MS = 5000; // what is newer of a clip that is being recorded is live
const RETRY_MS = 2000;     // after edged could not be asked
/** @type {[number, string][]} */
const UNITS = [[1e3, "second"], [60e3, "minute"], [3600e3, "hour"], [86400e3, "day"]];
const SPEEDS = [0.5, 1, 2, 4, 8];

let video = null;          // an element, or null while the picture is live
let wantedS = 0;           // where in its clip it goes to
let isPlaying = false;     // as it was before a fault paused it
let clip = null;           // the one in it
let reloaded = 0;          // id of a clip that was loaded once more after it did not load
let seen = [];             // clips that were looked for, to find them again at once
let turn = 0;              // an answer to what was asked in an earlier turn is dropped
let rest = 0;              // a timer
let sought = {name: "", ms: 0};   // under the pointer
let isLooking = false;     // for the clip that has it
/** @type {(ms: number | null) => void} */
let moved = () => {};      // called with the time that is shown

const clock = ms => new Date(ms).toLocaleTimeString();
const has = (each, ms) => startMs(each) <= ms && ms < endMs(each);

// "4 minutes", of milliseconds.
function span(ms) {
  const [unitMs, word] = UNITS.find(([each]) => ms < 90 * each) ?? UNITS.at(-1), count = ms / unitMs;
  return `${Math.round(count)} ${word}${Math.round(count) === 1 ? "" : "s"}`;
}

async function find(name, ms) {
  const known = seen.find(each => each.camera === name && !each.open && has(each, ms));
  if (known) {
    return known;
  }
  const found = await clipAt(name, ms);
  if (found) {
    seen = [found, ...seen.filter(each => each.id !== found.id)].slice(0, 200);
  }
  return found;
}

// The time in the picture, to a millisecond; null: it is live.
export const shownMs = () => video && clip && !Number.isNaN(video.duration)
  ? Math.round(startMs(clip) + 1000 * video.currentTime) : state.at;

function tell(sentence, isFault = false) {
  $("gap").textContent = sentence;
  $("gap").classList.toggle("fault", isFault);
}

// Loading
// ---------------------------------------------------------------------

function open() {
  if (video) {
    return;
  }
  document.body.classList.add("playing");
  video = make("video", {playsinline: true, preload: "auto", "aria-label": `Recording of ${camera()}`,
    ontimeupdate: showTime, onended: () => goOn(), onplay: showState, onpause: showState,
    onseeked: () => { $("still").hidden = true; reloaded = 0; showTime(); },
    onloadedmetadata: goTo, onerror: explain});
  video.muted = true;
  $("film").replaceChildren(video);
  $("player").hidden = false;
}

function goTo() {
  if (video?.readyState >= 1) {
    video.currentTime = Math.min(wantedS, Math.max(0, video.duration - 0.05));
  }
}

// Why a clip does not play: it may have been deleted since it was looked for.
async function explain() {
  const mine = turn, failed = clip, plays = isPlaying;
  if (!failed) {
    return;
  }
  const {error, duration} = video, atMs = Number.isNaN(duration) ? startMs(failed) + 1000 * wantedS : shownMs();
  seen = seen.filter(each => each.id !== failed.id);
  const fault = await getClip(failed.id).then(() => null, wrong => wrong);
  if (mine !== turn) {
    return;
  }
  if (fault?.status === 404) {
    tell("This clip has been deleted.", true);
  } else if (fault) {
    fail(fault, mine, atMs, plays);
  } else if (error.code === MediaError.MEDIA_ERR_NETWORK || reloaded !== failed.id) {
    reloaded = failed.id;   // browsers say the same of a clip that they cannot play and of one that did not come
    playFrom(atMs, plays);  // edged or its recorder was gone, and is back
  } else {
    tell("This browser cannot play this clip; save it, and open it in a player.", true);
  }
}

// Says what is wrong, and tries again where that may pass: edged or its recorder is gone for a while, also behind
// another server, or nobody is logged in any more.
function fail(fault, mine, ms, plays) {
  if (mine !== turn || ["AbortError", "NotSupportedError"].includes(fault.name)) {
    return;   // the video itself has failed, which explain() tells
  }
  tell(fault.message, true);
  if (fault.isGone || fault.status === 401 || fault.status > 500) {
    rest = setTimeout(() => playFrom(ms, plays), RETRY_MS);
  }
}

// Puts a clip's moment into the picture.
function load(next, ms) {
  open();
  wantedS = Math.max(0, (ms - startMs(next)) / 1000);
  const hasGrown = clip?.id === next.id && next.bytes > clip.bytes && wantedS >= video.duration;
  if (clip?.id !== next.id || !video.src || video.error || hasGrown) {
    clip = next;
    showStill(next);
    // Browsers keep what they have of an address.
    video.src = next.open ? `${videoOf(next)}?bytes=${next.bytes}` : videoOf(next);
  } else {
    goTo();
  }
  video.playbackRate = Number($("speed").value);
  Object.assign($("save"), {href: videoOf(next), download: fileNameOf(next)});
}

function showStill(of) {
  $("still").hidden = !of.picture;
  if (of.picture && !$("still").src.endsWith(pictureOf(of))) {
    $("still").src = pictureOf(of);
  }
}

function showTime() {
  const ms = shownMs();
  if (ms !== null) {
    $("place").className = "place";
    $("place").textContent = `${state.chosen} · ${new Date(ms).toLocaleString()}`;
    $("age").textContent = "";
    moved(ms);
  }
}

function showState() {
  const isPaused = video?.paused ?? true;
  isPlaying = !isPaused;
  $("play").textContent = isPaused ? "Play" : "Pause";
  if (isPaused && clip && !video?.ended) {
    noteTime(shownMs());
  }
}

// The address leads to what is shown.
function noteTime(ms) {
  state.at = ms;
  history.replaceState(null, "", writeLink({path: state.chosen, atMs: ms}));
}

// Playing
// ---------------------------------------------------------------------

// Plays from a moment on, or shows it; where nothing was recorded, from the next clip on.
export async function playFrom(ms, plays = true) {
  const name = camera(), mine = ++turn;
  clearTimeout(rest);
  open();
  tell("");
  try {
    const found = await find(name, ms);
    if (mine !== turn) {
      return;
    }
    if (found) {
      load(found, ms);
      await (plays && video.play());
    } else {
      await jump(name, ms, mine);
    }
  } catch (fault) {
    fail(fault, mine, ms, plays);
  }
}

// The same where something is played already.
export function seek(ms) {
  noteTime(Math.round(ms));
  playFrom(ms);
}

// Names the gap that begins at `ms`, and goes on behind it.
async function jump(name, ms, mine, id) {
  const next = await clipAfter(name, ms, id);
  if (mine !== turn) {
    return;
  }
  if (!next) {
    const last = await clipBefore(name, ms);
    if (mine !== turn) {
      return;
    }
    tell(last ? `Nothing is recorded after ${clock(endMs(last))}.` : `Nothing is recorded of ${name}.`);
    return;
  }
  const gapMs = startMs(next) - ms;
  if (gapMs > JOIN_MS) {
    tell(`Nothing is recorded from ${clock(ms)} to ${clock(startMs(next))}: ${span(gapMs)}`);
    setTimeout(() => mine === turn && tell(""), GAP_MS);
  }
  noteTime(startMs(next));
  load(next, startMs(next));
  await video.play();
}

// At the end of a clip, or of what was recorded of an open one when it was loaded.
async function goOn() {
  const mine = ++turn, was = clip, ms = was.open ? startMs(was) + 1000 * video.duration : endMs(was);
  try {
    const now = was.open ? await getClip(was.id) : was;
    if (mine !== turn) {
      return;
    }
    if (now.bytes > was.bytes && endMs(now) - ms > CAUGHT_UP_MS) {
      load(now, ms);   // it is longer by now
      await video.play();
    } else if (now.open) {
      go({path: state.chosen});
    } else {
      await jump(camera(), endMs(now), mine, now.id);
    }
  } catch (fault) {
    fail(fault, mine, ms, true);
  }
}

// Shows the picture of the clip that has the moment under the pointer, one question at a time.
async function glimpse() {
  const {name, ms} = sought;
  const known = seen.find(each => each.camera === name && has(each, ms));
  if (!known && isLooking) {
    return;
  }
  isLooking = true;
  const found = known ?? await find(name, ms).catch(() => null);
  isLooking = false;
  if (found && sought.name === name && has(found, sought.ms) && found.id !== clip?.id) {
    showStill(found);
  }
}

// Shows the moment under the pointer: its clip's picture at once, the moment itself where the pointer rests.
export function scrub(ms) {
  const name = camera(), mine = ++turn;
  sought = {name, ms};
  open();
  video.pause();
  clearTimeout(rest);
  glimpse();
  rest = setTimeout(async () => {
    try {
      const found = await find(name, ms);
      if (mine === turn) {
        tell(found ? "" : "Nothing is recorded here.");
        $("place").textContent = `${state.chosen} · ${new Date(ms).toLocaleString()}`;
        if (found) {
          load(found, ms);
        }
      }
    } catch (fault) {
      if (mine === turn) {
        tell(fault.message, true);
      }
    }
  }, REST_MS);
}

// After a scrub that was given up: what was shown before it.
export function goAgain() {
  if (state.at === null) {
    stop();
  } else {
    playFrom(state.at);
  }
}

// Plays the last clip that began before this moment, or the next one.
async function step(isNext) {
  const name = camera(), ms = clip ? startMs(clip) : shownMs() ?? Date.now(), mine = turn;
  try {
    const found = await (isNext ? clipAfter(name, ms + 1, clip?.id) : clipBefore(name, ms - 1));
    if (mine !== turn) {
      return;
    }
    if (found) {
      seek(startMs(found));
    } else if (isNext) {
      go({path: state.chosen});
    } else {
      tell("This is the oldest clip.");
    }
  } catch (fault) {
    if (mine === turn) {
      tell(fault.message, true);
    }
  }
}

// Back to live.
export function stop() {
  turn++;
  clearTimeout(rest);
  if (video) {
    clip = null;
    video.removeAttribute("src");
    video.load();
    video = null;
    $("film").replaceChildren();
    tell("");
    $("still").hidden = $("player").hidden = true;
    document.body.classList.remove("playing");
    moved(null);
  }
}

function toggle() {
  if (video?.error) {
    playFrom(shownMs());
  } else if (video?.paused) {
    video.play().catch(() => {});
  } else {
    video?.pause();
  }
}

// `tellTime` is called with the time in the picture whenever it changes; null: it is live again.
export function beginPlayer(tellTime) {
  moved = tellTime;
  $("speed").append(...SPEEDS.map(speed => make("option", {value: speed, selected: speed === 1}, `${speed}×`)));
  $("speed").onchange = () => video && (video.playbackRate = Number($("speed").value));
  $("play").onclick = toggle;
  $("last").onclick = () => step(false);
  $("next").onclick = () => step(true);
  $("back").onclick = () => go({path: state.chosen});
  addEventListener("keydown", event => {
    const does = {ArrowLeft: () => step(false), ArrowRight: () => step(true), " ": toggle,
      Escape: () => go({path: state.chosen})}[event.key];
    const isOwn = event.target.closest?.("button, select, input, a, [role=slider]");
    const isBrowsers = event.altKey || event.ctrlKey || event.metaKey;
    if (video && does && state.place === "live" && !isOwn && !isBrowsers) {
      does();
      event.preventDefault();
    }
  });
}
