// Motion as a timeline: a lane for each region, and the events as a list, the newest first.

import {draw, make} from "./api.js";

const MOST = 1000;       // events that are remembered, as many as edged keeps
const SHOWN = 200;       // in the list
const SPAN_S = 600;      // of the lanes

const clock = time => new Date(time).toLocaleTimeString();

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

// A lane of the last `spanS` seconds. Each bar is {startedMs, endedMs, onclick}; `endedMs` is null while it goes on.
export function lane(bars, spanS, nowMs) {
  const svg = draw("svg", {class: "lane", viewBox: `0 0 ${spanS} 1`, preserveAspectRatio: "none", "aria-hidden": "true"});
  for (const {startedMs, endedMs, onclick} of bars) {
    const bar = draw("rect", {class: `${endedMs ? "" : "moving"} ${onclick ? "button" : ""}`, height: 1,
      x: spanS - (nowMs - startedMs) / 1000, width: Math.max(spanS / 200, ((endedMs ?? nowMs) - startedMs) / 1000)});
    bar.onclick = onclick ?? null;
    svg.append(bar);
  }
  return svg;
}

function sentence({camera, region, startedMs, endedMs, peak}) {
  const lasted = endedMs ? `${((endedMs - startedMs) / 1000).toFixed(1)} s` : "moves now";
  return `${clock(startedMs)}  ${camera} / ${region}: ${lasted}, at most ${(100 * peak).toFixed(1)} % of it`;
}

// Fills the panel; called again each second.
export function showEvents(tab, {events, status}) {
  const nowMs = Date.now();
  const regions = status.cameras.flatMap(camera => (camera.regions ?? []).map(region => ({...region, path: `${camera.name}/${region.name}`})));
  if (!regions.length && !events.length) {
    tab.replaceChildren(make("p", {class: "quiet"}, "No camera has a region. Draw one under Regions: motion in it is an event."));
    return;
  }
  const lanes = make("div", {class: "lanes"}, ...regions.flatMap(({path, moving}) => [
    make("span", {}, path.replace("/", " / "), make("small", {}, moving ? " moves" : "")),
    lane(events.filter(event => `${event.camera}/${event.region}` === path), SPAN_S, nowMs)]),
  make("span", {class: "scale quiet"}, make("span", {}, `${SPAN_S / 60} minutes ago`), make("span", {}, "now")));
  tab.replaceChildren(make("h2", {}, "Motion"), lanes, events.length
    ? make("ol", {class: "list"}, ...events.slice(0, SHOWN).map(event => make("li", {}, sentence(event))))
    : make("p", {class: "quiet"}, "Nothing has moved since edged was started."));
}
