// Live video of the server's views, drawn into canvases, over one connection.
//
// Three ways, the best first; which one is used, and why no better one, is told to the page:
// - WebCodecs, where the page is a secure context (https or localhost): access units as they come.
// - Media Source Extensions: the same as fragmented MP4, played at its live edge.
// - JPEG pictures, one after the other.
//
// The records of /v1/video are described in daemon/front/http/video.c.

import {ask, follow, pieces, sleep, within} from "./api.js";

const HEADER = 16;
const RECORD = {configuration: 1, unit: 2, status: 3};
// After a pause old frames come first: one that is BACKLOG_US older than the newest that came is decoded, but not drawn.
// A decoder that needs longer than CATCH_UP_MS for them shows one from time to time.
const BACKLOG_US = 250000;
const CATCH_UP_MS = 200;
const BEHIND_US = 3e6;   // a decoder that is too slow goes on with the next key frame
const RETRY_MS = 1000;
// A link counts as too slow for video if for LATE_TICKS seconds all pictures are LATE_MS old, although LATE_BYTES come
// in each. Small JPEGs then come instead, and video is tried again after a while, which doubles.
const LATE_MS = 2000;
const LATE_TICKS = 4;
const LATE_BYTES = 2000;
const SMALL_MS = 15000;
const SMALL_MOST_MS = 240000;
const SMALL = "1/4";
const JPEG_MS = 66;      // from one JPEG to the next, at least
// How many views at once each way shows; further ones come as JPEGs, one after the other. Browsers open six
// connections to a server, and views must leave some of them for what a person does.
const MOST = {webcodecs: 16, mse: 3, jpeg: 4};
const CODECS = {h264: "avc1.42e01f", h265: "hvc1.1.6.L93.B0"};
// MSE, in seconds: how far behind the newest picture it plays, from where on it jumps instead of hurrying, and what
// it keeps of what was played.
const EDGE_S = 0.05;
const JUMP_S = 0.6;
const KEPT_S = 20;
const MP4_CLOCK_HZ = 90000;
const NTP_TO_UNIX_S = 2208988800;

// Microseconds since the epoch by this machine's clock.
function nowUs() {
  return (performance.timeOrigin + performance.now()) * 1000;
}

// How far the server's clock is ahead of this one, in microseconds: 0 on the server's own machine, else the answer of
// the quickest of five requests. The times are those that the browser notes of a request, because a script hears of
// a reply late.
async function clockOffsetUs() {
  if (["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) {
    return 0;
  }
  let best = {way: Infinity, offset: 0};
  performance.clearResourceTimings();   // a full buffer takes no new ones
  for (let i = 0; i < 5; i++) {
    const [url, {now_us: server}] = await ask(`v1/time?${i}`, {}, async reply => [reply.url, await within(reply.json(), true)]);
    const {requestStart, responseStart} = performance.getEntriesByName(url).pop() ?? {};
    if (responseStart - requestStart < best.way) {
      best = {way: responseStart - requestStart,
        offset: server - (performance.timeOrigin + (requestStart + responseStart) / 2) * 1000};
    }
  }
  return best.offset;
}

// What the page shows of one view: its canvases and its numbers.
export class Picture {
  constructor(path, codec) {
    this.path = path;           // "front/edges"
    this.codec = codec;         // "h264", "h265" or "mjpeg"
    this.canvases = new Set();
    this.size = [0, 0];
    this.drawn = 0;             // frames, since the numbers were taken
    this.skipped = 0;           // decoded and not drawn, because newer ones were there
    this.bytes = 0;
    this.screenMs = [];         // capture to screen, of the frames drawn since then
    this.sinceMs = performance.now();
    this.slate = false;
    this.drawnMs = null;        // when the newest was drawn; null: none was
    this.lagMs = 0;             // how old it was then
  }

  // How old the newest picture is; null: there is none.
  ageMs(nowMs) {
    return this.drawnMs === null ? null : this.lagMs + nowMs - this.drawnMs;
  }

  draw(image, width, height, capturedUs, offsetUs) {
    this.size = [width, height];
    let source = image;      // converting a frame's colours takes far longer than copying a canvas
    for (const canvas of this.canvases) {
      if (canvas.width !== width || canvas.height !== height) {
        Object.assign(canvas, {width, height});
      }
      (canvas.context ??= canvas.getContext("2d", {alpha: false, desynchronized: true}))
        .drawImage(source, 0, 0, width, height);
      source = canvas;
    }
    this.drawn++;
    this.drawnMs = performance.now();
    this.lagMs = capturedUs ? (nowUs() + offsetUs - capturedUs) / 1000 : 0;
    if (capturedUs) {
      this.screenMs.push(this.lagMs);
    }
  }

  // Numbers since they were taken last.
  take() {
    const seconds = (performance.now() - this.sinceMs) / 1000;
    const times = this.screenMs.sort((a, b) => a - b);
    const at = share => times.length ? times[Math.min(times.length - 1, Math.floor(share * times.length))] : null;
    const numbers = {fps: this.drawn / seconds, kbps: this.bytes * 8 / 1000 / seconds,
      skipped: this.skipped, p50: at(0.5), p95: at(0.95), slate: this.slate};
    Object.assign(this, {drawn: 0, skipped: 0, bytes: 0, screenMs: [], sinceMs: performance.now()});
    return numbers;
  }
}

// Decodes one view of a stream of records.
class Decoder {
  constructor(picture, offsetUs) {
    Object.assign(this, {picture, offsetUs, newestUs: 0, behindSinceMs: null, needsKey: true});
  }

  configure(told) {
    this.close();
    this.told = told;
    this.decoder = new VideoDecoder({
      output: frame => this.show(frame),
      error: () => { this.decoder = null; this.needsKey = true; },
    });
    this.decoder.configure({codec: told.codec, codedWidth: told.width, codedHeight: told.height,
      optimizeForLatency: true});
  }

  take(bytes, isKey, isSlate, capturedUs) {
    this.picture.bytes += bytes.length;
    if (this.decoder?.decodeQueueSize > 4 && capturedUs - this.shownUs > BEHIND_US) {
      this.close();
      this.shownUs = capturedUs;
    }
    if (this.needsKey && !isKey) {
      return;
    }
    if (!this.decoder && this.told) {
      this.configure(this.told);
    }
    this.needsKey = false;
    this.newestUs = capturedUs;
    this.picture.slate = isSlate;
    try {
      this.decoder.decode(new EncodedVideoChunk(
        {type: isKey ? "key" : "delta", timestamp: capturedUs, data: bytes}));
    } catch {
      this.close();
    }
  }

  show(frame) {
    const nowMs = performance.now();
    this.shownUs = frame.timestamp;
    this.behindSinceMs = this.newestUs - frame.timestamp > BACKLOG_US ? this.behindSinceMs ?? nowMs : null;
    if (this.behindSinceMs !== null && nowMs - this.behindSinceMs < CATCH_UP_MS) {
      this.picture.skipped++;
    } else {
      this.behindSinceMs &&= nowMs;
      this.picture.draw(frame, frame.displayWidth, frame.displayHeight, frame.timestamp, this.offsetUs());
    }
    frame.close();
  }

  close() {
    if (this.decoder && this.decoder.state !== "closed") {
      this.decoder.close();
    }
    this.decoder = null;
    this.needsKey = true;
  }
}

// Cuts what arrives, in pieces of any size, into records.
class Records {
  kept = new Uint8Array(0);

  *add(piece) {
    let all = piece;
    if (this.kept.length) {
      all = new Uint8Array(this.kept.length + piece.length);
      all.set(this.kept);
      all.set(piece, this.kept.length);
    }
    let at = 0;
    while (all.length - at >= HEADER) {
      const head = new DataView(all.buffer, all.byteOffset + at, HEADER);
      const size = head.getUint32(0);
      if (all.length - at - HEADER < size) {
        break;
      }
      yield {kind: head.getUint8(4), view: head.getUint8(5), flags: head.getUint8(6),
        timeUs: Number(head.getBigInt64(8)), bytes: all.subarray(at + HEADER, at + HEADER + size)};
      at += HEADER + size;
    }
    this.kept = all.slice(at);
  }
}

// Plays the pictures it is given, and follows the events. `tell` is called with {way, why}, {fault}, an Error or null
// once it plays, {status} or {kind, event}; `kind` is "connected" whenever the events begin.
export class Live {
  constructor(tell) {
    Object.assign(this, {tell, pictures: [], offset: 0, run: null, place: {id: "all"},
      isSlow: false, smallMs: SMALL_MS, came: 0, late: 0});
    document.addEventListener("visibilitychange", () => this.restart());
  }

  show(pictures) {
    this.pictures = [...pictures];
    this.restart();
  }

  // Plays one by the best way there is, whatever others there are.
  prefer(picture) {
    const at = this.pictures.indexOf(picture);
    this.pictures.unshift(...this.pictures.splice(at, 1));
    if (at >= MOST[this.way] || (this.isSlow && at > 0)) {
      this.restart();
    }
  }

  restart() {
    this.run?.abort();
    this.run = null;
    clearInterval(this.watch);
    if (!document.hidden && this.pictures.length) {
      this.run = new AbortController();
      this.play(this.run.signal);
      Object.assign(this, {came: 0, late: 0, beganMs: performance.now(), watch: setInterval(() => this.look(), 1000)});
      follow("v1/events", this.run.signal, this.place, (kind, event) => this.tell({kind, event}));
    }
  }

  // Once a second: whether the link is too slow.
  look() {
    const nowMs = performance.now();
    const isLate = picture => !picture.slate && (picture.ageMs(nowMs) ?? nowMs - this.beganMs) > LATE_MS;
    const are = this.came > LATE_BYTES && this.pictures.slice(0, MOST[this.way]).every(isLate);
    this.late = are ? this.late + 1 : 0;
    this.came = 0;
    if (this.late >= LATE_TICKS && this.way !== "jpeg" && !wantedWay()) {
      this.isSlow = true;
      setTimeout(() => {
        this.isSlow = false;
        this.restart();
      }, this.smallMs);
      this.smallMs = nowMs - this.beganMs < 2 * SMALL_MS ? Math.min(2 * this.smallMs, SMALL_MOST_MS) : SMALL_MS;
      this.restart();
    }
  }

  async play(signal) {
    const [way, why] = this.isSlow ? ["jpeg", "the link is too slow for video, so they are small"] : await chooseWay();
    this.way = way;
    this.tell({way, why});
    while (!signal.aborted) {
      const attempt = new AbortController();
      const end = () => attempt.abort();
      signal.addEventListener("abort", end);
      try {
        this.offset = await clockOffsetUs();
        await this.playAll(attempt.signal);
      } catch (fault) {
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
    if (this.isSlow) {   // every other one is of the view that is looked at
      const [chosen, ...rest] = this.pictures;
      await this.playPictures(rest.length ? rest.flatMap(picture => [chosen, picture]) : [chosen], signal, SMALL);
      return;
    }
    const first = [], rest = [];
    for (const picture of this.pictures) {
      const fits = first.length < MOST[this.way] && await plays(this.way, picture.codec);
      (fits ? first : rest).push(picture);
    }
    await Promise.all([first.length && this[this.way](first, signal), rest.length && this.playPictures(rest, signal)]);
  }

  async webcodecs(pictures, signal) {
    const query = pictures.map(picture => `view=${encodeURIComponent(picture.path)}`).join("&");
    const decoders = pictures.map(picture => new Decoder(picture, () => this.offset));
    const records = new Records();
    try {
      await ask(`v1/video?${query}`, {signal}, async reply => {
        this.tell({fault: null});
        for await (const piece of pieces(reply)) {
          this.came += piece.length;
          for (const record of records.add(piece)) {
            this.take(record, decoders[record.view]);
          }
        }
      });
    } finally {
      decoders.forEach(decoder => decoder.close());
    }
  }

  take(record, decoder) {
    if (record.kind === RECORD.unit) {
      decoder?.take(record.bytes, Boolean(record.flags & 1), Boolean(record.flags & 2), record.timeUs);
      return;
    }
    const told = () => JSON.parse(new TextDecoder().decode(record.bytes));
    if (record.kind === RECORD.configuration) {
      decoder?.configure(told());
    } else if (record.kind === RECORD.status) {
      this.came -= record.bytes.length;
      this.tell({status: told()});
    }
  }

  mse(pictures, signal) {
    const playing = () => this.tell({fault: null});
    const came = bytes => { this.came += bytes; };
    return Promise.all(pictures.map(picture => playSource(picture, signal, () => this.offset, playing, came)));
  }

  jpeg(pictures, signal) {
    return Promise.all(pictures.map(picture => this.playPictures([picture], signal)));
  }

  async playPictures(pictures, signal, scale = "1") {
    for (let i = 0; !signal.aborted; i++) {
      const picture = pictures[i % pictures.length];
      const [camera, view] = picture.path.split("/").map(encodeURIComponent);
      const url = `snapshot.jpg?camera=${camera}&view=${view}&scale=${scale}`;
      const pause = sleep(JPEG_MS);
      try {
        const [blob, capturedS] = await ask(url, {signal},
          async reply => [await within(reply.blob(), true), Number(reply.headers.get("X-Timestamp"))]);
        const image = await createImageBitmap(blob);
        picture.bytes += blob.size;
        if (Math.abs(capturedS - (picture.capturedS ?? 0)) > 0.001) {   // else it is the same one again
          picture.capturedS = capturedS;
          picture.draw(image, image.width, image.height, 1e6 * capturedS, this.offset);
        }
        image.close();
        this.tell({fault: null});
        await pause;
      } catch (fault) {
        if (fault.status !== 503) {
          throw fault;
        }
        await sleep(RETRY_MS);
      }
    }
  }
}

const Source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;

async function plays(way, codec) {
  const name = CODECS[codec];
  return way === "jpeg" || Boolean(name) && (way === "mse" ? Source.isTypeSupported(`video/mp4; codecs="${name}"`)
    : (await VideoDecoder.isConfigSupported({codec: name})).supported);
}

const wantedWay = () => new URLSearchParams(location.search).get("way");

// [way, why no better one]. The address ?way= asks for one of them.
async function chooseWay() {
  const wanted = wantedWay();
  if (globalThis.VideoDecoder && (!wanted || wanted === "webcodecs") && await plays("webcodecs", "h264")) {
    return ["webcodecs", ""];
  }
  const why = wanted ? "asked for by the address"
    : isSecureContext ? "this browser has no WebCodecs" : "WebCodecs needs https or localhost";
  if (Source && (!wanted || wanted === "mse")) {
    return ["mse", why];
  }
  return ["jpeg", wanted ? why : `${why}, and no Media Source Extensions`];
}

// Plays one view by Media Source Extensions in a <video> of its own, and draws its frames. Nothing here waits
// for play(): it begins only once more has been appended.
function playSource(picture, signal, offsetUs, playing, came) {
  const [camera, view] = picture.path.split("/").map(encodeURIComponent);
  return ask(`v1/cameras/${camera}/views/${view}/video?format=mp4`, {signal},
    reply => playReply(reply, picture, signal, offsetUs, playing, came));
}

async function playReply(reply, picture, signal, offsetUs, playing, came) {
  const video = Object.assign(document.createElement("video"),
    {muted: true, playsInline: true, disableRemotePlayback: true});
  const source = new Source();
  const opened = once(source, "sourceopen");
  video.src = URL.createObjectURL(source);
  await opened;
  const buffer = source.addSourceBuffer(reply.headers.get("Content-Type"));
  const clock = {wallUs: 0, mediaS: 0, stepS: 0};
  const draw = (now, {mediaTime}) => {
    if (signal.aborted) {
      return;
    }
    if (video.videoWidth) {
      const capturedUs = clock.wallUs && clock.wallUs + (mediaTime - clock.mediaS) * 1e6;
      picture.draw(video, video.videoWidth, video.videoHeight, capturedUs, offsetUs());
    }
    video.requestVideoFrameCallback(draw);
  };
  video.requestVideoFrameCallback(draw);
  playing();
  try {
    for await (const piece of pieces(reply)) {
      // A ManagedMediaSource says when it wants no data. What is not read meanwhile edged skips, up to a key frame.
      if (source.streaming === false) {
        await once(source, "startstreaming", signal);
      }
      picture.bytes += piece.length;
      came(piece.length);
      readClock(piece, clock);
      await change(buffer, () => buffer.appendBuffer(piece));
      keepAtEdge(video, buffer, clock);
      if (buffer.buffered.length && video.currentTime - buffer.buffered.start(0) > KEPT_S) {
        await change(buffer, () => buffer.remove(0, video.currentTime - KEPT_S / 2));
      }
    }
  } finally {
    URL.revokeObjectURL(video.src);
    video.removeAttribute("src");
    video.load();
  }
}

function once(target, event, signal) {
  return new Promise((resolve, reject) => {
    target.addEventListener(event, resolve, {once: true});
    signal?.addEventListener("abort", () => reject(signal.reason), {once: true});
  });
}

// Appends to the buffer or removes from it, and waits for that.
async function change(buffer, begin) {
  const done = new Promise((resolve, reject) => {
    buffer.onupdateend = resolve;
    buffer.onerror = () => reject(new Error("the browser cannot play it"));
  });
  begin();
  await done;
}

// The clock of day of the newest fragment (its box prft, ISO/IEC 14496-12, 8.16.5) beside the time of its picture.
function readClock(bytes, clock) {
  const box = [0, 0, 0, 32, 0x70, 0x72, 0x66, 0x74, 1, 0, 0, 24];
  for (let at = bytes.length - 32; at >= 0; at--) {
    if (bytes[at + 4] === box[4] && box.every((byte, i) => bytes[at + i] === byte)) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at + 16);
      clock.wallUs = (view.getUint32(0) - NTP_TO_UNIX_S) * 1e6 + view.getUint32(4) * 1e6 / 2 ** 32;
      const mediaS = Number(view.getBigUint64(8)) / MP4_CLOCK_HZ;
      clock.stepS = Math.min(mediaS - clock.mediaS, EDGE_S);
      clock.mediaS = mediaS;
      return;
    }
  }
}

// A picture is said to last longer than it does, so the buffer's end is no measure: the newest picture's time is.
function keepAtEdge(video, buffer, clock) {
  const ranges = buffer.buffered;
  if (!ranges.length) {
    return;
  }
  const edge = clock.mediaS + clock.stepS, behind = edge - video.currentTime;
  if (behind > JUMP_S || video.currentTime < ranges.start(ranges.length - 1)) {
    video.currentTime = Math.max(ranges.start(ranges.length - 1), edge - EDGE_S);
  }
  video.playbackRate = behind > 2 * EDGE_S ? 1.1 : behind < 0 ? 0.9 : 1;
  if (video.paused) {
    video.play().catch(() => {});
  }
}
