// Notifications of motion with a picture, while a tab has the page, also one that is not looked at. Where a browser
// shows none, the page says why.

import {ask, get, within} from "./api.js";
import {$} from "./dom.js";
import {go} from "./link.js";
import {recordedPath} from "./state.js";

const KEPT = "edged-notify";
const NEW_MS = 10000;   // an event that began longer ago is no news
const WIDTH = 640;

let isOn = false;
let hear = () => {};    // called when it is turned on or off
let asking = null;      // for the server's clock, once for all events that come together

export const isNotifying = () => isOn;

function tell(sentence) {
  $("notify-said").textContent = sentence;
}

// Why this browser shows none; "": it may.
function whyNot() {
  return !isSecureContext ? "Browsers show notifications of pages inside TLS or on this machine only; see http.tls."
    : !("Notification" in globalThis) ? "This browser has no notifications of pages."
      : Notification.permission === "denied" ? "This browser was told to show no notifications of this page. " +
        "Its settings of the site change that." : "";
}

function turn(on) {
  isOn = on;
  $("notify").setAttribute("aria-pressed", String(on));
  try {
    localStorage.setItem(KEPT, on ? "1" : "");
  } catch {
    // It is asked again next time.
  }
  hear();
}

async function toggle() {
  tell("");
  if (isOn) {
    turn(false);
    return;
  }
  const why = whyNot();
  if (why || await Notification.requestPermission() !== "granted") {
    tell(why || whyNot() || "Without your permission there are none.");
    return;
  }
  turn(true);
}

// By the server's clock, which may be far from this one: boards have none that outlasts a power cut.
async function isNew(startedMs) {
  asking ??= get("v1/time").finally(() => { asking = null; });
  return (await asking).now_us / 1000 - startedMs < NEW_MS;
}

// Of an event that the server tells of.
export async function notify({camera, region, started}) {
  const path = recordedPath(camera), startedMs = Date.parse(started);
  if (!isOn || !path || document.hasFocus() || !await isNew(startedMs).catch(() => false)) {
    return;
  }
  const [, view] = path.split("/");
  const query = `camera=${encodeURIComponent(camera)}&view=${encodeURIComponent(view)}&width=${WIDTH}`;
  const blob = await ask(`snapshot.jpg?${query}`, {}, reply => within(reply.blob(), true)).catch(() => null);
  const picture = blob ? URL.createObjectURL(blob) : undefined;
  try {
    const body = `${camera}, ${new Date(startedMs).toLocaleTimeString()}`;
    const shown = new Notification(`Motion in ${region}`, /** @type {any} */ ({body, tag: `${camera}/${region}`,
      icon: picture, image: picture, timestamp: startedMs}));
    shown.onclick = () => {
      focus();
      go({path, atMs: startedMs - 2000});
      shown.close();
    };
    shown.onclose = () => picture && URL.revokeObjectURL(picture);
  } catch {
    turn(false);
    tell("This browser shows notifications of service workers only, and this page has none.");
  }
}

// `changed` is called whenever it is turned on or off.
export function beginNotify(changed) {
  hear = changed;
  $("notify").onclick = () => toggle().catch(fault => tell(fault.message));
  try {
    isOn = localStorage.getItem(KEPT) === "1" && !whyNot() && Notification.permission === "granted";
  } catch {
    isOn = false;
  }
  $("notify").setAttribute("aria-pressed", String(isOn));
}
