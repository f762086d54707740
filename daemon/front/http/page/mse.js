// Views by Media Source Extensions: fragmented MP4, played at its live edge.

import {ask, pieces} from "./api.js";

// In seconds: how far behind the newest picture it plays, from where on it jumps instead of hurrying, and what it keeps
// of what was played.
const EDGE_S = 0.05;
const JUMP_S = 0.6;
const KEPT_S = 20;
const MP4_CLOCK_HZ = 90000;
const NTP_TO_UNIX_S = 2208988800;

export const Source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;

// Plays one view by Media Source Extensions in a <video> of its own, and draws its frames. Nothing here waits
// for play(): it begins only once more has been appended.
// `heard` has `playing()`, `came(bytes)` and `offsetUs()`.
export function playSource(picture, signal, heard) {
  const [camera, view] = picture.path.split("/").map(encodeURIComponent);
  return ask(`v1/cameras/${camera}/views/${view}/video?format=mp4`, {signal},
    reply => playReply(reply, picture, signal, heard));
}

async function playReply(reply, picture, signal, heard) {
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
      picture.draw(video, video.videoWidth, video.videoHeight, capturedUs, heard.offsetUs());
    }
    video.requestVideoFrameCallback(draw);
  };
  video.requestVideoFrameCallback(draw);
  heard.playing();
  try {
    for await (const piece of pieces(reply)) {
      // A ManagedMediaSource says when it wants no data. What is not read meanwhile edged skips, up to a key frame.
      if (source.streaming === false) {
        await once(source, "startstreaming", signal);
      }
      picture.bytes += piece.length;
      heard.came(piece.length);
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
