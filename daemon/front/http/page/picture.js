// The picture of a view on the page: its canvases and its numbers, whichever way its frames come.

// Microseconds since the epoch by this machine's clock.
export function nowUs() {
  return (performance.timeOrigin + performance.now()) * 1000;
}

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

