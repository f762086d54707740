// Live video of the server's views, drawn into canvases, over one connection.
//
// Three ways, the best first; which one is used, and why no better one, is told to the page:
// - WebCodecs, where the page is a secure context (https or localhost): access units as they come.
// - Media Source Extensions: the same as fragmented MP4, played at its live edge.
// - JPEG pictures, one after the other.
//
// The records of /v1/video are described in daemon/front/http/http_video.h.

const HEADER = 16;
const RECORD = {configuration: 1, unit: 2, status: 3, event: 4};
const LATE_US = 50000;   // a frame this much older than the newest is not drawn
const RETRY_MS = 1000;
const EDGE_S = 0.3;      // MSE: as far behind the live edge as it may be

// Microseconds since the epoch by this machine's clock.
function nowUs() {
  return (performance.timeOrigin + performance.now()) * 1000;
}

// How far the server's clock is ahead of this one, in microseconds: of five questions that with the
// shortest way counts.
async function clockOffsetUs() {
  let best = {way: Infinity, offset: 0};
  for (let i = 0; i < 5; i++) {
    const asked = nowUs();
    const {now_us: server} = await (await fetch("/v1/time", {cache: "no-store"})).json();
    const way = nowUs() - asked;
    if (way < best.way) {
      best = {way, offset: server - asked - way / 2};
    }
  }
  return best.offset;
}

// What the page shows of one view: its canvases and its numbers.
export class Picture {
  constructor(path) {
    this.path = path;           // "front/edges"
    this.canvases = new Set();
    this.size = [0, 0];
    this.drawn = 0;             // frames, since the numbers were taken
    this.late = 0;
    this.bytes = 0;
    this.screenMs = [];         // capture to screen, of the frames drawn since then
    this.sinceMs = performance.now();
    this.slate = false;
  }

  draw(image, width, height, capturedUs, offsetUs) {
    this.size = [width, height];
    for (const canvas of this.canvases) {
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
      }
      (canvas.context ??= canvas.getContext("2d", {alpha: false, desynchronized: true}))
        .drawImage(image, 0, 0, width, height);
    }
    this.drawn++;
    if (capturedUs) {
      this.screenMs.push((nowUs() + offsetUs - capturedUs) / 1000);
    }
  }

  // Numbers since they were taken last.
  take() {
    const seconds = (performance.now() - this.sinceMs) / 1000;
    const times = this.screenMs.sort((a, b) => a - b);
    const at = share => times.length ? times[Math.min(times.length - 1, Math.floor(share * times.length))] : null;
    const numbers = {fps: this.drawn / seconds, kbps: this.bytes * 8 / 1000 / seconds,
      late: this.late, p50: at(0.5), p95: at(0.95), slate: this.slate};
    Object.assign(this, {drawn: 0, late: 0, bytes: 0, screenMs: [], sinceMs: performance.now()});
    return numbers;
  }
}

// Decodes one view of a stream of records.
class Decoder {
  constructor(picture, offsetUs, fail) {
    Object.assign(this, {picture, offsetUs, fail});
    this.newestUs = 0;
    this.needsKey = true;
  }

  configure(told) {
    this.close();
    this.told = told;
    this.needsKey = true;
    this.decoder = new VideoDecoder({
      output: frame => this.show(frame),
      error: () => { this.decoder = null; this.needsKey = true; },
    });
    this.decoder.configure({codec: told.codec, codedWidth: told.width, codedHeight: told.height,
      optimizeForLatency: true});
  }

  take(bytes, isKey, isSlate, capturedUs) {
    this.picture.bytes += bytes.length;
    if (this.needsKey && !isKey) {
      return;
    }
    if (!this.decoder && this.told) {
      this.configure(this.told);
    }
    this.needsKey = false;
    this.newestUs = Math.max(this.newestUs, capturedUs);
    this.picture.slate = isSlate;
    try {
      this.decoder.decode(new EncodedVideoChunk(
        {type: isKey ? "key" : "delta", timestamp: capturedUs, data: bytes}));
    } catch {
      this.close();
      this.needsKey = true;
    }
  }

  show(frame) {
    if (this.newestUs - frame.timestamp > LATE_US) {
      this.picture.late++;
    } else {
      this.picture.draw(frame, frame.displayWidth, frame.displayHeight, frame.timestamp, this.offsetUs());
    }
    frame.close();
  }

  close() {
    if (this.decoder && this.decoder.state !== "closed") {
      this.decoder.close();
    }
    this.decoder = null;
  }
}

// Cuts what arrives, in pieces of any size, into records.
class Records {
  constructor() {
    this.kept = new Uint8Array(0);
  }

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

// Plays the pictures it is given. `tell` is called with {way, why}, {fault}, {status} or {event}.
export class Live {
  constructor(tell) {
    this.tell = tell;
    this.pictures = [];
    this.offset = 0;
    this.run = null;
    document.addEventListener("visibilitychange", () => this.restart());
  }

  show(pictures) {
    this.pictures = pictures;
    this.restart();
  }

  restart() {
    this.run?.abort();
    this.run = null;
    if (!document.hidden && this.pictures.length) {
      this.run = new AbortController();
      this.play(this.run.signal);
    }
  }

  async play(signal) {
    const [way, why] = await chooseWay();
    this.tell({way, why});
    while (!signal.aborted) {
      try {
        this.offset = await clockOffsetUs();
        await this[way](signal);
      } catch (fault) {
        if (signal.aborted) {
          return;
        }
        this.tell({fault: fault.status === 401 ? 401 : `The connection ended: ${fault.message}`});
      }
      await new Promise(resolve => setTimeout(resolve, RETRY_MS));
    }
  }

  async webcodecs(signal) {
    const query = this.pictures.map(picture => `view=${encodeURIComponent(picture.path)}`).join("&");
    const reply = await ask(`/v1/video?${query}`, signal);
    const decoders = this.pictures.map(picture => new Decoder(picture, () => this.offset));
    const reader = reply.body.getReader();
    const records = new Records();
    this.tell({fault: ""});
    try {
      for (;;) {
        const {done, value} = await reader.read();
        if (done) {
          throw new Error("edged closed it");
        }
        for (const record of records.add(value)) {
          this.take(record, decoders[record.view]);
        }
      }
    } finally {
      decoders.forEach(decoder => decoder.close());
    }
  }

  take(record, decoder) {
    if (record.kind === RECORD.unit) {
      decoder?.take(record.bytes, Boolean(record.flags & 1), Boolean(record.flags & 2), record.timeUs);
      return;
    }
    const told = JSON.parse(new TextDecoder().decode(record.bytes));
    if (record.kind === RECORD.configuration) {
      decoder?.configure(told);
    } else {
      this.tell(record.kind === RECORD.status ? {status: told} : {event: told});
    }
  }

  mse(signal) {
    return Promise.all(this.pictures.map(picture => playSource(picture, signal)));
  }

  jpeg(signal) {
    return Promise.all(this.pictures.map(picture => this.playPictures(picture, signal)));
  }

  async playPictures(picture, signal) {
    const [camera, view] = picture.path.split("/");
    const url = `/snapshot.jpg?camera=${encodeURIComponent(camera)}&view=${encodeURIComponent(view)}`;
    while (!signal.aborted) {
      const reply = await fetch(url, {signal, cache: "no-store"});
      if (reply.ok) {
        const blob = await reply.blob();
        const image = await createImageBitmap(blob);
        picture.bytes += blob.size;
        picture.draw(image, image.width, image.height, 1e6 * Number(reply.headers.get("X-Timestamp")), this.offset);
        image.close();
        this.tell({fault: ""});
      } else if (reply.status === 503) {
        await new Promise(resolve => setTimeout(resolve, RETRY_MS));
      } else {
        throw await failure(reply);
      }
    }
  }
}

async function failure(reply) {
  const problem = await reply.json().catch(() => ({}));
  return Object.assign(new Error(problem.detail ?? problem.error ?? reply.statusText), {status: reply.status});
}

async function ask(url, signal) {
  const reply = await fetch(url, {signal, cache: "no-store"});
  if (!reply.ok) {
    throw await failure(reply);
  }
  return reply;
}

const Source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;

// [way, why no better one]. The address ?way= asks for one of them.
async function chooseWay() {
  const wanted = new URLSearchParams(location.search).get("way");
  if (globalThis.VideoDecoder && (!wanted || wanted === "webcodecs")) {
    const {supported} = await VideoDecoder.isConfigSupported({codec: "avc1.42e01f"});
    if (supported) {
      return ["webcodecs", ""];
    }
  }
  const why = wanted ? "asked for by the address"
    : isSecureContext ? "this browser has no WebCodecs" : "WebCodecs needs https or localhost";
  if (Source && (!wanted || wanted === "mse")) {
    return ["mse", why];
  }
  return ["jpeg", wanted ? why : `${why}, and no Media Source Extensions`];
}

// Plays one view by Media Source Extensions in a <video> of its own, and draws its frames.
async function playSource(picture, signal) {
  const [camera, view] = picture.path.split("/");
  const path = `/v1/cameras/${encodeURIComponent(camera)}/views/${encodeURIComponent(view)}/video?format=mp4`;
  const reply = await ask(path, signal);
  const video = Object.assign(document.createElement("video"), {muted: true, playsInline: true, disableRemotePlayback: true});
  const source = new Source();
  const opened = new Promise(resolve => source.addEventListener("sourceopen", resolve, {once: true}));
  video.src = URL.createObjectURL(source);
  await opened;
  const buffer = source.addSourceBuffer(reply.headers.get("Content-Type"));
  const reader = reply.body.getReader();
  const draw = () => {
    if (!signal.aborted) {
      picture.draw(video, video.videoWidth, video.videoHeight, 0, 0);
      video.requestVideoFrameCallback(draw);
    }
  };
  video.requestVideoFrameCallback(draw);
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) {
        throw new Error("edged closed it");
      }
      picture.bytes += value.length;
      await append(buffer, value);
      await keepAtEdge(video, buffer);
    }
  } finally {
    URL.revokeObjectURL(video.src);
    video.removeAttribute("src");
    video.load();
  }
}

function updated(buffer) {
  return new Promise((resolve, reject) => {
    buffer.addEventListener("updateend", resolve, {once: true});
    buffer.addEventListener("error", () => reject(new Error("the browser cannot play it")), {once: true});
  });
}

async function append(buffer, bytes) {
  const done = updated(buffer);
  buffer.appendBuffer(bytes);
  await done;
}

async function keepAtEdge(video, buffer) {
  const ranges = buffer.buffered;
  if (!ranges.length) {
    return;
  }
  const edge = ranges.end(ranges.length - 1);
  if (video.paused) {
    video.currentTime = edge;
    await video.play().catch(() => {});
  } else if (edge - video.currentTime > 3 * EDGE_S) {
    video.currentTime = edge - EDGE_S / 3;
  } else {
    video.playbackRate = edge - video.currentTime > EDGE_S ? 1.1 : 1;
  }
  if (video.currentTime - ranges.start(0) > 20) {
    const done = updated(buffer);
    buffer.remove(0, video.currentTime - 5);
    await done;
  }
}
