// Views by JPEGs, one request after the other: tiles that are small or out of sight, views that no better way plays,
// and all of them where the link is too slow for video.
//
// Requests are better here than /stream.mjpg: four connections do for all tiles, where each stream would hold one of
// the browser's six; a slow link holds no picture that a newer one has overtaken; and each picture comes with the time
// of its capture.

import {ask, sleep, within} from "./api.js";

const RETRY_MS = 1000;   // of a view that has no picture now
const LOOK_MS = 200;     // at most until those that wait are looked at again

export const WIDTHS = [160, 320, 640];   // those that edged makes

// The narrowest that fills so many pixels; a little too narrow does.
export const widthFor = px => WIDTHS.find(width => width >= 0.8 * px) ?? WIDTHS.at(-1);

async function drawOne({picture, query}, signal, heard) {
  const [camera, view] = picture.path.split("/").map(encodeURIComponent);
  const [blob, capturedS] = await ask(`snapshot.jpg?camera=${camera}&view=${view}${query}`, {signal},
    async reply => [await within(reply.blob(), true), Number(reply.headers.get("X-Timestamp"))]);
  const image = await createImageBitmap(blob);
  picture.bytes += blob.size;
  if (Math.abs(capturedS - (picture.capturedS ?? 0)) > 0.001) {   // else it is the same one again
    picture.capturedS = capturedS;
    picture.draw(image, image.width, image.height, 1e6 * capturedS, heard.offsetUs());
  }
  image.close();
  heard.playing();
}

// Asks for the picture that is due longest, again and again. `wants` are {picture, query, everyMs}: several of these
// may share them. `heard` has `playing()` and `offsetUs()`.
export async function playPictures(wants, signal, heard) {
  while (!signal.aborted) {
    const nowMs = performance.now();
    const free = wants.filter(want => !want.isAsked).sort((a, b) => (a.dueMs ?? 0) - (b.dueMs ?? 0));
    const want = free[0], waitMs = want ? (want.dueMs ?? 0) - nowMs : LOOK_MS;
    if (waitMs > 0) {
      await sleep(Math.min(waitMs, LOOK_MS));
      continue;
    }
    Object.assign(want, {isAsked: true, dueMs: nowMs + want.everyMs});
    try {
      await drawOne(want, signal, heard);
      want.dueMs = Math.max(want.dueMs, performance.now());   // behind all that have waited longer
    } catch (fault) {
      if (fault.status !== 503) {
        throw fault;
      }
      want.dueMs = performance.now() + RETRY_MS;
    } finally {
      want.isAsked = false;
    }
  }
}
