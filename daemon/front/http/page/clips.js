// Clips, as the server lists them.

import {below, get, request} from "./api.js";

const REACH_MS = 3650 * 86400e3;   // of the days that edged is asked for
const WEEK_MS = 7 * 86400e3;

export const startMs = clip => Date.parse(clip.start);
export const endMs = clip => clip.open ? Date.now() : Date.parse(clip.end);
export const videoOf = clip => below(clip.url);
export const pictureOf = clip => below(clip.picture);
export const causeOf = clip => clip.regions.filter(Boolean).join(", ") || (clip.always ? "always" : "asked for");
export const fileNameOf = clip => `${clip.camera}-${clip.start.replaceAll(":", "-")}.mp4`;
export const pathOf = clip => `${clip.camera}/${clip.view}`;

// "0:07", "1:02:03".
export function lengthOf(seconds) {
  const whole = Math.round(seconds), two = number => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

// The newest first. `asked` may have `fromMs`, `toMs`, `before` or `after` (an id), `limit`, `camera` and
// `region`.
/** @param {any} asked */
export function listClips(asked) {
  const {fromMs, toMs, ...rest} = asked;
  const iso = ms => ms === undefined ? undefined : new Date(ms).toISOString();
  const query = Object.entries({from: iso(fromMs), to: iso(toMs), ...rest})
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return get(`v1/clips${query.length ? `?${query.join("&")}` : ""}`);
}

// "+02:00", as this machine's clock is ahead of UTC at that time.
const offsetOf = date => date.toString().match(/GMT([+-]\d\d)(\d\d)/).slice(1).join(":");

// The days that have clips, by this machine's clock and the newest first: "2026-11-27". edged tells days of one offset
// from UTC, so each that this clock has had is asked for, and gives the days at whose noon the clock has it.
export async function daysOfClips() {
  const now = new Date(), weeks = Array.from({length: REACH_MS / WEEK_MS + 1}, (_, i) =>
    new Date(now.getTime() - i * WEEK_MS));
  const offsets = new Map(weeks.map(date => [offsetOf(date), date.getTimezoneOffset()]));
  const days = await Promise.all([...offsets].map(async ([offset, behindMinutes]) => {
    const from = new Date(now.getTime() - behindMinutes * 60e3 - REACH_MS).toISOString().replace("Z", offset);
    const query = new URLSearchParams({from, to: now.toISOString(), steps: "1"});
    const told = await get(`v1/timeline?${query}`);
    return told.days.filter(day => offsetOf(new Date(`${day}T12:00:00`)) === offset);
  }));
  return days.flat().sort().reverse();
}

// The clip of a camera that has this moment; undefined: there is none.
export async function clipAt(camera, ms) {
  const [clip] = await listClips({camera, fromMs: ms, toMs: ms + 1, limit: 1});
  return clip;
}

// The last clip of a camera that began before this moment.
export async function clipBefore(camera, ms) {
  const [clip] = await listClips({camera, toMs: ms, limit: 1});
  return clip;
}

// The first clip of a camera that begins at this moment or later; none of it may contain the moment. Behind a clip that
// is known, its id says more than a time.
export async function clipAfter(camera, ms, id) {
  if (id) {
    return (await listClips({camera, after: id, limit: 1}))[0];
  }
  // `after` begins behind the clip that it names, so the very first one is asked for by itself.
  const both = await Promise.all([{before: 2}, {after: 1}]
    .map(side => listClips({camera, fromMs: ms, limit: 1, ...side})));
  return both.flat()[0];
}

export const getClip = id => get(`v1/clips/${id}`);
export const keepClip = (clip, keep) => request("PATCH", `v1/clips/${clip.id}`, {keep});
export const deleteClip = clip => request("DELETE", `v1/clips/${clip.id}`);
// The same while the page goes away.
export const deleteAtEnd = clip => fetch(`v1/clips/${clip.id}`, {method: "DELETE", keepalive: true});
