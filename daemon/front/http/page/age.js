// Whether a picture still shows what its camera sees, and the words for it where it does not.

const FROZEN_MS = 2000;   // no newer picture for so long, or for longer than the camera's own patience
const MARGIN_MS = 500;    // for the way, beside that patience

const clock = ms => new Date(ms).toLocaleTimeString("en-GB");

// Of a picture of video.js and the status of its camera: whether it is old, or the NO SIGNAL picture, and why.
export function judge(picture, camera, nowMs = performance.now()) {
  const limitMs = Math.max(FROZEN_MS, 1000 * (camera.patience_s ?? 0) + MARGIN_MS);
  const ageMs = picture.ageMs(nowMs);
  const isOld = ageMs !== null && ageMs > limitMs;
  const isFrozen = isOld && nowMs - picture.drawnMs > limitMs / 2;   // else it is only late
  const isLost = picture.slate || camera.state !== "live";
  const why = isLost && (camera.error || (camera.state === "live" ? "no signal" : camera.state));
  const late = isFrozen ? `frozen since ${clock(Date.now() - ageMs)}`
    : isOld && `${(ageMs / 1000).toFixed(1)} s behind`;
  const words = [late, why].filter(Boolean).join(": ");
  const state = isFrozen ? "frozen" : isLost && camera.state === "live" ? "no signal" : camera.state;
  return {isOld, isLost, words, state};
}
