// Views by WebCodecs: records of /v1/video (daemon/front/http/video.c describes them), decoded as they come.

import {ask, pieces} from "./api.js";

const HEADER = 16;
const RECORD = {configuration: 1, unit: 2, status: 3};
// After a pause old frames come first: one that is BACKLOG_US older than the newest that came is decoded, but not
// drawn. A decoder that needs longer than CATCH_UP_MS for them shows one from time to time.
const BACKLOG_US = 250000;
const CATCH_UP_MS = 200;
const BEHIND_US = 3e6;   // a decoder that is too slow goes on with the next key frame

// Decodes one view of a stream of records.
class Decoder {
  newestUs = 0;
  behindSinceMs = null;
  needsKey = true;

  constructor(picture, offsetUs) {
    this.picture = picture;
    this.offsetUs = offsetUs;
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

function take(record, decoder, tellStatus) {
  if (record.kind === RECORD.unit) {
    decoder?.take(record.bytes, Boolean(record.flags & 1), Boolean(record.flags & 2), record.timeUs);
    return;
  }
  const told = () => JSON.parse(new TextDecoder().decode(record.bytes));
  if (record.kind === RECORD.configuration) {
    decoder?.configure(told());
  } else if (record.kind === RECORD.status) {
    tellStatus(told(), record.bytes.length);
  }
}

// Plays pictures over one connection. `heard` has `playing()`, `came(bytes)` of video, `status(told)` and `offsetUs()`.
export async function playRecords(pictures, signal, heard) {
  const query = pictures.map(picture => `view=${encodeURIComponent(picture.path)}`).join("&");
  const decoders = pictures.map(picture => new Decoder(picture, heard.offsetUs));
  const records = new Records();
  try {
    await ask(`v1/video?${query}`, {signal}, async reply => {
      heard.playing();
      for await (const piece of pieces(reply)) {
        heard.came(piece.length);
        for (const record of records.add(piece)) {
          take(record, decoders[record.view], (told, bytes) => {
            heard.came(-bytes);
            heard.status(told);
          });
        }
      }
    });
  } finally {
    decoders.forEach(decoder => decoder.close());
  }
}
