// Motion: what is known of it, and the list beside the picture, the newest first, with the pictures of its clips.

import {endMs, listClips, pictureOf, startMs} from "./clips.js";
import {make} from "./dom.js";
import {writeLink} from "./link.js";
import {camera as chosenCamera, state, viewsOf} from "./state.js";

const MOST = 1000;       // events that are remembered, as many as edged keeps
const SHOWN = 60;        // in the list
const CLIPS = 200;       // among which those of the list are looked for
const BEFORE_MS = 2000;  // a clip is played from so long before its event

let clips = [];
let asked = 0;           // how often they were asked for: an answer to an earlier question is dropped
let drawn = "";          // what the list shows, as text

const clock = time => new Date(time).toLocaleTimeString();
const isToday = time => new Date(time).toDateString() === new Date().toDateString();
const day = time => isToday(time) ? "" : `${new Date(time).toLocaleDateString()} `;

// Adds what the server tells of an event (edged(8)) to `events`, whose first is the newest. Whether that is news: each
// connection begins with what is under way.
export function noteEvent(events, told) {
  const startedMs = Date.parse(told.started), key = `${told.camera}/${told.region}/${told.started}`;
  let event = events.find(each => each.key === key);
  const isNew = !event;
  if (isNew) {
    event = {key, camera: told.camera, region: told.region, startedMs};
    const older = events.findIndex(each => each.startedMs < startedMs);
    events.splice(older < 0 ? events.length : older, 0, event);
    events.length = Math.min(events.length, MOST);
  }
  event.peak = told.peak;
  event.endedMs = told.event === "motion_ended" ? Date.parse(told.time) : event.endedMs ?? null;
  return isNew || told.event === "motion_ended";
}

// Ends those of regions in which nothing moves any more: edged cannot tell of the end if it has started anew.
export function endEvents(events, status) {
  const nowMs = Date.now();
  for (const event of events.filter(each => !each.endedMs && nowMs - each.startedMs > 5000)) {
    const regions = status.cameras.find(each => each.name === event.camera)?.regions ?? [];
    if (!regions.find(each => each.name === event.region)?.moving) {
      event.endedMs = nowMs;
    }
  }
}

// Asks for the clips that show the events.
export async function renewClips() {
  const mine = ++asked, found = await listClips({limit: CLIPS});
  if (mine === asked) {
    clips = found;
  }
}

// Whether a clip of this camera that somebody asked for is open.
export const isRecording = name => clips.some(each => each.camera === name && each.open && each.triggered);

function item({camera, region, startedMs, endedMs, peak}, isOne) {
  const clip = clips.find(each => each.camera === camera && startMs(each) <= startedMs && startedMs < endMs(each));
  const view = clip?.view ?? viewsOf(camera)[0]?.split("/")[1];
  const lasted = endedMs ? `${((endedMs - startedMs) / 1000).toFixed(1)} s` : "moves now";
  const words = [make("b", {}, `${day(startedMs)}${clock(startedMs)}`),
    make("span", {}, isOne ? region : `${camera} / ${region}`),
    make("span", {class: endedMs ? "quiet" : "moves"}, `${lasted} · ${(100 * peak).toFixed(1)}\u00a0%`)];
  const picture = clip?.picture ? make("img", {src: pictureOf(clip), alt: "", loading: "lazy"})
    : make("span", {class: "none"}, clip ? "" : "not recorded");
  const href = clip && view &&
    writeLink({path: `${camera}/${view}`, atMs: Math.max(startMs(clip), startedMs - BEFORE_MS)});
  return make("li", {}, make(href ? "a" : "span", {href, class: href ? "" : "row"}, picture,
    make("span", {}, ...words)));
}

// Fills the list; called again each second.
export function showEvents(place, {events, status}) {
  const isOne = !state.isWall, name = chosenCamera();
  const shown = events.filter(event => !isOne || event.camera === name).slice(0, SHOWN);
  const hasRegions = status?.cameras.some(each => (!isOne || each.name === name) && each.regions?.length);
  const text = JSON.stringify([isOne, name, shown, clips.map(clip => [clip.id, clip.picture, clip.open]), hasRegions,
    state.session.can_change]);
  if (text === drawn) {
    return;
  }
  drawn = text;
  const focused = place.querySelector("a:focus")?.getAttribute("href");
  const hint = state.session.can_change ? "; draw it in Settings, Regions" : "";
  place.replaceChildren(make("h2", {}, "Events"), shown.length
    ? make("ol", {class: "list"}, ...shown.map(event => item(event, isOne)))
    : make("p", {class: "quiet"}, hasRegions ? "Nothing has moved since edged was started."
      : `No region is drawn${isOne ? ` for ${name}` : ""}. Motion in one is an event${hint}.`));
  [...place.querySelectorAll("a")].find(each => each.getAttribute("href") === focused)?.focus();
}
