// Recorded: the clips as cards by day, without end; filters; what the disk has room for.

import {
  causeOf, daysOfClips, deleteAtEnd, deleteClip, endMs, fileNameOf, keepClip, lengthOf, listClips, pathOf, pictureOf,
  startMs, videoOf,
} from "./clips.js";
import {make, say} from "./dom.js";
import {writeLink} from "./link.js";
import {cameras, paths, state} from "./state.js";

const PAGE = 60;           // cards that are asked for at once
const AHEAD_PX = 600;      // more of them, before the last one is seen
const RETRY_MS = 2000;     // after they could not be had
const UNDO_MS = 10000;     // a clip is deleted so long after the button

const going = new Map();   // clips that are to be deleted: {clip, timer, gone} by id; `gone` stands in their place
const filter = {camera: "", region: "", day: ""};
let parts = null;          // the elements that are filled
let oldest = null;         // id of the last clip that came; null: none did
let isEnd = false, isAsking = false;
let missed = "", retry = 0;   // why the list could not be renewed last, and the timer that asks again
let asked = 0;             // how often the list began anew: answers to an older one are dropped
let renewals = 0;          // and how often it was renewed since the page began
let daysRetry = 0;         // the timer that asks for the days again

const dayName = ms => new Date(ms).toLocaleDateString(undefined,
  {weekday: "long", year: "numeric", month: "long", day: "numeric"});
const midnight = day => new Date(`${day}T00:00:00`);
const shortName = day => midnight(day).toLocaleDateString(undefined,
  {weekday: "short", year: "numeric", month: "short", day: "numeric"});
const reach = days => days >= 2 ? `${days.toFixed(0)} days` : days >= 1 / 12 ? `${(24 * days).toFixed(0)} hours`
  : `${(1440 * days).toFixed(0)} minutes`;
const bytes = count => count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${(count / 1e6).toFixed(0)} MB`;

// A clip
// ---------------------------------------------------------------------

// Its card, or what says that it is deleted.
const shown = clip => going.get(clip.id)?.gone ?? card(clip);

function card(clip) {
  const {can_change: may, role} = state.session;
  const time = new Date(startMs(clip)).toLocaleTimeString(), seconds = (endMs(clip) - startMs(clip)) / 1000;
  const isShown = paths().includes(pathOf(clip));
  const fault = make("p", {class: "fault", role: "status"});
  const keep = make("button", {type: "button", "aria-pressed": String(clip.keep), disabled: !may,
    title: "Never delete it to make room", onclick: async () => {
      try {
        Object.assign(clip, await keepClip(clip, !clip.keep));
        made.replaceWith(card(clip));
        renewRecorded();   // a list that was asked for before may have taken its place, or still come
      } catch (wrong) {
        fault.textContent = wrong.message;
      }
    }}, clip.keep ? "Kept" : "Keep");
  const made = make("article", {class: "card", "data-id": clip.id, "data-facts": JSON.stringify(clip),
    "aria-label": `${clip.camera}, ${time}`},
    make("a", {class: "play", href: isShown ? writeLink({path: pathOf(clip), atMs: startMs(clip)}) : videoOf(clip),
      "aria-label": `Play ${clip.camera}, ${dayName(startMs(clip))}, ${time}, ${lengthOf(seconds)}`},
    clip.picture ? make("img", {src: pictureOf(clip), alt: "", loading: "lazy"})
      : make("span", {class: "none"}, "no picture"),
    make("span", {class: "length"}, clip.open ? "recording" : lengthOf(seconds))),
    make("p", {class: "what"}, make("b", {}, time), make("span", {}, clip.camera),
      make("span", {class: "quiet"}, causeOf(clip))),
    make("div", {class: "row"}, keep,
      make("a", {class: "button", href: videoOf(clip), download: fileNameOf(clip)}, "Save"),
      may && make("button", {type: "button", disabled: clip.keep && role !== "admin",
        title: clip.keep && role !== "admin" ? "An administrator deletes what is kept" : "",
        onclick: () => remove(made, clip)}, "Delete")), fault);
  return made;
}

// Its place says so for a while, with a way back.
function remove(made, clip) {
  const back = () => {
    clearTimeout(going.get(clip.id)?.timer);
    going.delete(clip.id);
    const again = card(clip);
    gone.replaceWith(again);
    return again;
  };
  const undo = make("button", {type: "button", class: "main",
    onclick: () => back().querySelector("a").focus()}, "Undo");
  const gone = make("article", {class: "card gone", "data-id": clip.id},
    make("p", {role: "status"}, "Deleted."), undo);
  made.replaceWith(gone);
  undo.focus();
  going.set(clip.id, {clip, gone, timer: setTimeout(async () => {
    undo.disabled = true;
    try {
      await deleteClip(clip);
      going.delete(clip.id);
      takeOut(gone);
    } catch (wrong) {
      if (wrong.status === 404) {   // somebody else has deleted it
        going.delete(clip.id);
        takeOut(gone);
      } else {
        back().querySelector(".fault").textContent = wrong.message;
      }
    }
  }, UNDO_MS)});
}

// With its day, if that has no other.
function takeOut(each) {
  const day = each.closest(".day");
  each.remove();
  if (day && !day.querySelector(".card")) {
    day.remove();
  }
}

// The list
// ---------------------------------------------------------------------

function dayOf(clip, isNewest) {
  const name = dayName(startMs(clip));
  let day = [...parts.days.children].find(each => each.dataset.day === name);
  if (!day) {
    day = make("section", {class: "day", "data-day": name, "aria-label": name}, make("h2", {}, name),
      make("div", {class: "cards"}));
    parts.days[isNewest ? "prepend" : "append"](day);
  }
  return day.querySelector(".cards");
}

const matches = clip => !filter.region || clip.regions.includes(filter.region);

function query() {
  const until = filter.day && midnight(filter.day);
  if (until) {
    until.setDate(until.getDate() + 1);
  }
  return {camera: filter.camera, region: filter.region, toMs: until ? until.getTime() : undefined};
}

// The next page, until the end of the screen is filled.
async function more() {
  if (isAsking || isEnd || !parts || state.place !== "recorded") {
    return;
  }
  isAsking = true;
  const mine = asked;
  try {
    const clips = await listClips({...query(), limit: PAGE, before: oldest ?? undefined});
    if (mine === asked) {
      isEnd = clips.length < PAGE;
      oldest = clips.at(-1)?.id ?? oldest;
      clips.filter(matches).forEach(clip => dayOf(clip, false).append(shown(clip)));
      tell("");
    }
  } catch (wrong) {
    if (mine === asked) {
      tell(wrong.message);
      parts.end.textContent = "";
      setTimeout(() => {
        if (mine === asked) {
          isAsking = false;
          more();
        }
      }, RETRY_MS);
    }
    return;
  }
  if (mine !== asked) {
    return;
  }
  isAsking = false;
  parts.end.textContent = !isEnd ? "" : parts.days.children.length ? "No older clips."
    : filter.camera || filter.region || filter.day ? "No clip fits these filters."
      : "There are no clips. What a camera records is set under Settings, Camera.";
  if (!isEnd && isNearEnd()) {
    more();
  }
}

const isNearEnd = () => parts.end.getBoundingClientRect().top < innerHeight + AHEAD_PX;

function tell(sentence) {
  parts.fault.textContent = sentence;
}

// The list from the newest clip on.
function begin() {
  asked++;
  [oldest, isEnd, isAsking] = [null, false, false];
  parts.days.replaceChildren();
  more();
}

// Puts clips that came since the list was asked for in front of it, and removes those that are gone.
async function renew() {
  const mine = asked, turn = ++renewals, clips = await listClips({...query(), limit: PAGE});
  if (mine !== asked || turn !== renewals) {
    return;
  }
  const all = [...parts.days.querySelectorAll(".card")].map(each => [Number(each.dataset.id), each]);
  const newest = Math.max(0, ...all.map(([id]) => id)), least = clips.length < PAGE ? 0 : clips.at(-1).id;
  if (!all.length || least > newest) {
    begin();   // more have come than are asked for at once
    return;
  }
  for (const [id, each] of all) {
    if (id >= least && !going.has(id) && !clips.some(clip => clip.id === id)) {
      takeOut(each);
    }
  }
  for (const clip of clips.filter(matches).reverse()) {
    const there = parts.days.querySelector(`.card[data-id="${clip.id}"]`);
    const isOld = there?.dataset.facts && there.dataset.facts !== JSON.stringify(clip);
    if (isOld && there.contains(document.activeElement)) {
      there.addEventListener("focusout", renewRecorded, {once: true});
    } else if (isOld) {
      there.replaceWith(card(clip));
    } else if (!there && clip.id > newest) {
      dayOf(clip, true).prepend(shown(clip));
    }
  }
}

// The same, and what is wrong as long as it is; asks until it knows.
async function renewList() {
  clearTimeout(retry);
  try {
    await renew();
    if (parts.fault.textContent === missed) {
      tell("");
    }
    if (isNearEnd()) {
      more();   // the page that was not had when somebody left
    }
  } catch (wrong) {
    missed = wrong.message;
    tell(missed);
    retry = setTimeout(renewRecorded, RETRY_MS);
  }
}

// From card to card by the arrows.
function walk(event) {
  const step = !event.altKey && !event.ctrlKey && !event.metaKey &&
    {ArrowRight: 1, ArrowLeft: -1, ArrowDown: "down", ArrowUp: "up"}[event.key];
  const all = [...parts.days.querySelectorAll(".play")];
  const at = all.findIndex(each => each.closest(".card").contains(document.activeElement));
  if (state.place !== "recorded" || !step || !all.length || event.target.matches("select, input")) {
    return;
  }
  const topOf = each => each.getBoundingClientRect().top;
  const columns = Math.max(1, all.findIndex(each => topOf(each) > topOf(all[0])));
  const by = step === "down" ? columns : step === "up" ? -columns : step;
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({block: "nearest"});
  event.preventDefault();
}

// The head
// ---------------------------------------------------------------------

function options(select, words, chosen, all, nameOf = word => word) {
  select.replaceChildren(make("option", {value: ""}, all),
    ...words.map(word => make("option", {value: word, selected: word === chosen}, nameOf(word))));
}

// Offers the days that have clips.
async function renewDays() {
  clearTimeout(daysRetry);
  try {
    options(parts.day, await daysOfClips(), filter.day, "now", shortName);
  } catch {   // what is wrong, the list tells
    daysRetry = setTimeout(() => state.place === "recorded" && renewDays(), RETRY_MS);
  }
}

// How many days there are, how full the disk is, what was lost.
export function showStorage() {
  const {recorder, storage} = state.status ?? {};
  if (!parts || !recorder) {
    return;
  }
  const lost = [storage?.lost_clips && `${storage.lost_clips} clips`,
    recorder.lost_units && `${recorder.lost_units} pictures`].filter(Boolean);
  const total = storage?.total_bytes;
  const rows = recorder.state !== "ready" ? {"Recorder": recorder.error || recorder.state} : {
    "Reaches back": reach(storage.days),
    "Clips": `${recorder.clips}, ${bytes(recorder.clip_bytes)}`,
    "Disk": `${total ? `${Math.round(100 * (1 - storage.free_bytes / total))} % full, ` : ""}` +
      `${bytes(storage.free_bytes)} free`,
    "Lost": lost.length ? lost.join(", ") : "nothing",
  };
  const text = JSON.stringify(rows);
  if (parts.storage.dataset.text !== text) {
    parts.storage.dataset.text = text;
    parts.storage.replaceChildren(...Object.entries(rows).map(([name, value]) =>
      make("div", {class: name === "Lost" && lost.length ? "wrong" : ""},
        make("dt", {}, name), make("dd", {}, value))));
  }
}

// Which camera the button records.
function nameRecord() {
  parts.record.hidden = !cameras().length;
  parts.record.textContent = `Record ${filter.camera || cameras()[0]} now`;
}

function build(place, record) {
  const select = (name, label) => {
    const made = make("select", {onchange: () => { filter[name] = made.value; nameRecord(); begin(); }});
    return [made, make("label", {}, `${label} `, made)];
  };
  const [camera, cameraLabel] = select("camera", "Camera"), [region, regionLabel] = select("region", "Region");
  const [day, dayLabel] = select("day", "Until");
  const recordButton = make("button", {type: "button", class: "operator", onclick: async () => {
    try {
      tell("");
      const name = filter.camera || cameras()[0];
      await record(name);
      say(`Recording ${name}`);
      renewList();
    } catch (wrong) {
      tell(wrong.message);
    }
  }}, "");
  parts = {camera, region, day, storage: make("dl", {class: "facts"}), days: make("div"),
    end: make("p", {class: "quiet end"}), fault: make("p", {class: "fault", role: "status"}), record: recordButton};
  place.replaceChildren(make("div", {class: "head"}, make("div", {class: "row"}, cameraLabel, regionLabel,
    dayLabel, recordButton), parts.storage), parts.fault, parts.days, parts.end);
  options(day, [], "", "now");
  document.addEventListener("keydown", walk);
  document.addEventListener("scroll", () => isNearEnd() && more(), {capture: true, passive: true});
}

// Shows the place; `record` begins a clip of a camera.
export function showRecorded(place, record) {
  const isNew = !parts;
  if (isNew) {
    build(place, record);
  }
  const regions = state.status.cameras.flatMap(each => (each.regions ?? []).map(({name}) => name)), was = {...filter};
  options(parts.camera, cameras(), filter.camera, "all");
  options(parts.region, [...new Set(regions)].sort(), filter.region, "all");
  Object.assign(filter, {camera: parts.camera.value, region: parts.region.value});   // those that are still there
  nameRecord();
  renewDays();
  showStorage();
  if (isNew || was.camera !== filter.camera || was.region !== filter.region || !parts.days.children.length) {
    begin();
  } else {
    renewList();
  }
}

// When a clip has begun, ended or gone.
export function renewRecorded() {
  if (parts && state.place === "recorded") {
    renewList();
  }
}

// Deletes at once the clips that were to go later: nobody is there any more who could want them back.
export function finishDeleting() {
  const ends = [...going.values()].map(({clip, gone, timer}) => {
    clearTimeout(timer);
    takeOut(gone);   // the browser's "back" may show this page again as it was
    return deleteAtEnd(clip);
  });
  going.clear();
  return Promise.all(ends);
}

addEventListener("pagehide", finishDeleting);
