// Live pictures of the server's views: which of them come by which way.
//
// Large ones come by the best way there is; which one, and why no better one, is told to the page:
// - WebCodecs, where the page is a secure context (https or localhost): access units as they come (webcodecs.js).
// - Media Source Extensions: the same as fragmented MP4 (mse.js).
// - JPEG pictures, one after the other (jpegs.js). Small ones always come so.

import {ask, follow, sleep, within} from "./api.js";
import {playPictures} from "./jpegs.js";
import {playSource, Source} from "./mse.js";
import {nowUs} from "./picture.js";
import {playRecords} from "./webcodecs.js";

const RETRY_MS = 1000;
// A link counts as too slow for video if for LATE_TICKS seconds all pictures are LATE_MS old, although LATE_BYTES come
// in each. JPEGs of a quarter of the size then come instead, and video is tried again after a while, which doubles.
const LATE_MS = 2000;
const LATE_TICKS = 4;
const LATE_BYTES = 2000;
const SLOW_MS = 15000;
const SLOW_MOST_MS = 240000;
// From one JPEG of a view to the next, at least: of a large view, a tile, a tile out of sight, and on a slow link.
const EVERY_MS = {large: 66, tile: 100, hidden: 5000, slow: 500};
const SHARE_MS = 25;   // from one JPEG to the next of all tiles together: each request costs a browser much
// How many views at once each way shows; further ones come as JPEGs. Browsers open six connections to a server, and
// views must leave some of them for what a person does.
const MOST = {webcodecs: 16, mse: 3, jpeg: 3};
const LOOPS = {beside: 1, alone: 4};   // of JPEGs, beside video or without one
const CODECS = {h264: "avc1.42e01f", h265: "hvc1.1.6.L93.B0"};
const OFFSET_MS = 60000;   // the server's clock is asked for again after so long
const SET_MS = 100;        // a clock that is off by more has been set, or this machine has slept
const SET_AGAIN_MS = 2000; // from one question to the next where it seems so

// How far this machine's clock of day is ahead of nowUs(), which neither follows it where it is set nor counts sleep.
const aheadMs = () => Date.now() - nowUs() / 1000;

// How far the server's clock is ahead of nowUs(), in microseconds: by this machine's clock on the server's own machine,
// else the answer of the quickest of five requests. The times are those that the browser notes of a request, because a
// script hears of a reply late.
async function clockOffsetUs() {
  if (["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) {
    return Math.abs(aheadMs()) < SET_MS ? 0 : 1000 * aheadMs();
  }
  let best = {way: Infinity, offset: 0};
  performance.clearResourceTimings();   // a full buffer takes no new ones
  for (let i = 0; i < 5; i++) {
    const [url, {now_us: server}] = await ask(`v1/time?${i}`, {},
      async reply => [reply.url, await within(reply.json(), true)]);
    /** @type {any} */
    const noted = performance.getEntriesByName(url).pop();
    const {requestStart, responseStart} = noted ?? {};
    if (responseStart - requestStart < best.way) {
      best = {way: responseStart - requestStart,
        offset: server - (performance.timeOrigin + (requestStart + responseStart) / 2) * 1000};
    }
  }
  return best.offset;
}

const paths = pictures => pictures.map(({path, codec}) => path + codec).join();
const sizes = small => JSON.stringify(small.map(({picture, ...rest}) => [picture.path, rest]));

// Plays the pictures it is given, and follows the events. `tell` is called with {way, why}, {fault}, an Error or null
// once it plays, {status} or {kind, event}; `kind` is "connected" whenever the events begin.
export class Live {
  large = [];
  small = [];
  offset = 0;             // of the server's clock, in microseconds
  offsetMs = -OFFSET_MS;  // when it was asked for
  aheadMs = 0;            // aheadMs() then
  isAsking = false;       // for it
  place = {id: "all"};    // in the events
  hearsHidden = false;    // follows the events also while nobody looks at the page
  runs = {};              // an AbortController each, by their names
  isSlow = false;         // the link
  slowMs = SLOW_MS;
  came = 0;               // bytes of video, since look()
  late = 0;               // seconds
  beganMs = 0;
  watch = 0;              // a timer

  constructor(tell) {
    this.tell = tell;
    this.heard = {playing: () => tell({fault: null}), came: bytes => { this.came += bytes; },
      status: status => tell({status}), offsetUs: () => this.offset};
    document.addEventListener("visibilitychange", () => this.restart());
    setInterval(() => this.renewOffset().catch(() => {}), 1000);   // the pictures tell of a lost connection
  }

  // Asks for the server's clock if the answer is old, or cannot be right any more.
  async renewOffset() {
    const shown = [...this.large, ...this.small.map(({picture}) => picture)];
    const isSet = Math.abs(aheadMs() - this.aheadMs) > SET_MS ||
      shown.some(({lagMs}) => lagMs < -SET_MS || lagMs > LATE_MS);
    const isYoung = performance.now() - this.offsetMs < (isSet ? SET_AGAIN_MS : OFFSET_MS);
    if (document.hidden || !shown.length || this.isAsking || isYoung) {
      return;
    }
    this.isAsking = true;
    try {
      await this.askOffset();
    } finally {
      this.isAsking = false;
    }
  }

  async askOffset() {
    this.offset = await clockOffsetUs();
    Object.assign(this, {offsetMs: performance.now(), aheadMs: aheadMs()});
  }

  // `large` are pictures, the one that is looked at first; `small` are {picture, width, isHidden}. What stays goes on.
  show(large, small) {
    const wasLarge = paths(this.large), wasSmall = sizes(this.small);
    Object.assign(this, {large, small});
    if (!this.runs.events) {
      this.restart();
      return;
    }
    if (wasLarge !== paths(large)) {
      this.playLarge();
      this.playSmall();
    } else if (wasSmall !== sizes(small)) {
      this.playSmall();
    }
  }

  restart() {
    Object.values(this.runs).forEach(run => run?.abort());
    this.runs = {};
    if (!document.hidden || this.hearsHidden) {
      const events = this.begin("events");
      follow("v1/events", events, this.place, (kind, event) => this.tell({kind, event}));
    }
    this.playLarge();
    this.playSmall();
  }

  // Ends what goes by this name, and gives the signal for what comes instead.
  begin(name) {
    this.runs[name]?.abort();
    this.runs[name] = new AbortController();
    return this.runs[name].signal;
  }

  playLarge() {
    const signal = this.begin("large");
    clearInterval(this.watch);
    if (!document.hidden && this.large.length) {
      Object.assign(this, {came: 0, late: 0, beganMs: performance.now(), watch: setInterval(() => this.look(), 1000)});
      this.keepOn(signal, inner => this.playAll(inner));
    }
  }

  playSmall() {
    const signal = this.begin("small"), seen = this.small.filter(({isHidden}) => !isHidden).length;
    const tileMs = Math.max(this.isSlow ? EVERY_MS.slow : EVERY_MS.tile, seen * SHARE_MS);
    const wants = this.small.map(({picture, width, isHidden}) => ({picture, query: `&width=${width}`,
      everyMs: isHidden ? EVERY_MS.hidden : tileMs}));
    if (!document.hidden && wants.length) {
      const loops = this.large.length ? LOOPS.beside : LOOPS.alone;
      this.keepOn(signal, inner => Promise.all(Array.from({length: Math.min(loops, wants.length)},
        () => playPictures(wants, inner, this.heard))));
    }
  }

  // Once a second: whether the link is too slow.
  look() {
    const nowMs = performance.now();
    const isLate = picture => !picture.slate && (picture.ageMs(nowMs) ?? nowMs - this.beganMs) > LATE_MS;
    const are = this.came > LATE_BYTES && this.large.slice(0, MOST[this.way]).every(isLate);
    this.late = are ? this.late + 1 : 0;
    this.came = 0;
    if (this.late >= LATE_TICKS && this.way !== "jpeg" && !wantedWay()) {
      this.isSlow = true;
      setTimeout(() => {
        this.isSlow = false;
        this.restart();
      }, this.slowMs);
      this.slowMs = nowMs - this.beganMs < 2 * SLOW_MS ? Math.min(2 * this.slowMs, SLOW_MOST_MS) : SLOW_MS;
      this.restart();
    }
  }

  // Does `work` again whenever it fails, until `signal`.
  async keepOn(signal, work) {
    while (!signal.aborted) {
      const attempt = new AbortController();
      const end = () => attempt.abort();
      signal.addEventListener("abort", end);
      try {
        if (performance.now() - this.offsetMs >= OFFSET_MS) {
          await this.askOffset();
        }
        await work(attempt.signal);
      } catch (fault) {
        this.offsetMs = -OFFSET_MS;
        if (signal.aborted) {
          return;
        }
        this.tell({fault});
      } finally {
        end();
        signal.removeEventListener("abort", end);
      }
      await sleep(RETRY_MS);
    }
  }

  async playAll(signal) {
    const [way, why] = this.isSlow ? ["jpeg", "the link is too slow for video, so they are small"] : await chooseWay();
    this.way = way;
    this.tell({way, why});
    if (this.isSlow) {
      const wants = this.large.map(picture => ({picture, query: "&scale=1/4", everyMs: EVERY_MS.slow}));
      await playPictures(wants, signal, this.heard);
      return;
    }
    const first = [], rest = [];
    for (const picture of this.large) {
      const fits = first.length < MOST[way] && await plays(way, picture.codec);
      (fits ? first : rest).push(picture);
    }
    await Promise.all([first.length && this[way](first, signal), rest.length && this.jpeg(rest, signal, 1)]);
  }

  webcodecs(pictures, signal) {
    return playRecords(pictures, signal, this.heard);
  }

  mse(pictures, signal) {
    return Promise.all(pictures.map(picture => playSource(picture, signal, this.heard)));
  }

  jpeg(pictures, signal, loops = MOST.jpeg) {
    const wants = pictures.map(picture => ({picture, query: "", everyMs: EVERY_MS.large}));
    return Promise.all(Array.from({length: Math.min(loops, wants.length)},
      () => playPictures(wants, signal, this.heard)));
  }
}

async function plays(way, codec) {
  const name = CODECS[codec];
  return way === "jpeg" || Boolean(name) && (way === "mse" ? Source.isTypeSupported(`video/mp4; codecs="${name}"`)
    : (await VideoDecoder.isConfigSupported({codec: name})).supported);
}

const wantedWay = () => new URLSearchParams(location.search).get("way");

// [way, why no better one]. The address ?way= asks for one of them.
async function chooseWay() {
  const wanted = wantedWay();
  if ("VideoDecoder" in globalThis && (!wanted || wanted === "webcodecs") && await plays("webcodecs", "h264")) {
    return ["webcodecs", ""];
  }
  const why = wanted ? "asked for by the address"
    : isSecureContext ? "this browser has no WebCodecs" : "WebCodecs needs https or localhost";
  if (Source && (!wanted || wanted === "mse")) {
    return ["mse", why];
  }
  return ["jpeg", wanted ? why : `${why}, and no Media Source Extensions`];
}
