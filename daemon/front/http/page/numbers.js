// Numbers of the chosen view: what it takes from the camera to this screen, and charts of the last two minutes.

import {judge} from "./age.js";
import {draw, make} from "./dom.js";
import {screenMs} from "./live.js";
import {cameraStatus, mountStatus, state} from "./state.js";

const CHART_S = 120;
const TITLES = ["latency, ms", "p50", "p95", "p99"];

// Where there is a limit, as the time that a frame has, it is a dashed line.
function chart(values, limit) {
  const most = Math.max(limit ?? 0, ...values, 1e-6) * 1.1;
  const svg = draw("svg", {class: "chart", viewBox: `0 0 ${CHART_S} 1`, preserveAspectRatio: "none",
    "aria-hidden": "true"});
  const from = CHART_S - values.length;
  const points = values.map((value, i) => `L${from + i} ${1 - value / most}`).join("");
  svg.append(draw("path", {d: `M${from} 1.1${points}L${CHART_S - 1} 1.1`}));
  if (limit) {
    svg.append(draw("line", {x1: 0, x2: CHART_S, y1: 1 - limit / most, y2: 1 - limit / most}));
  }
  return svg;
}

function summary(mount, seen) {
  const numbers = state.numbers.get(state.chosen), picture = state.pictures.get(state.chosen);
  const rows = {
    "To the screen": picture && !judge(picture, seen).words && screenMs(numbers) || "–",
    "Frames": `${(numbers?.fps ?? 0).toFixed(1)} / s${numbers?.skipped ? `, ${numbers.skipped} dropped` : ""}`,
    "Bit rate": `${((numbers?.kbps ?? 0) / 1000).toFixed(1)} Mbit/s`,
    "Viewers": mount.viewers,
    "Computing, ms": `${mount.latency_ms.compute.p50.toFixed(2)} of ${(1000 / Math.max(seen.fps, 1)).toFixed(0)}`,
    "Computed by": seen.backend,
  };
  return make("dl", {id: "numbers"}, ...Object.entries(rows).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {title: String(value)}, String(value)))));
}

// Fills the panel; called again each second.
export function showNumbers(tab) {
  const mount = mountStatus(state.chosen);
  const seen = cameraStatus();
  if (!mount || !seen) {
    return;
  }
  const past = state.history.filter(each => each.path === state.chosen);
  const card = (title, unit, key, digits, limit) => {
    const values = past.map(each => each[key] ?? 0);
    return make("div", {}, make("h3", {}, title), make("b", {}, (values.at(-1) ?? 0).toFixed(digits)), ` ${unit}`,
      chart(values, limit));
  };
  const steps = Object.entries(mount.latency_ms).map(([step, at]) => make("tr", {},
    make("td", {}, step.replaceAll("_", " ")),
    ...["p50", "p95", "p99"].map(share => make("td", {}, at[share].toFixed(2)))));
  tab.replaceChildren(make("h2", {}, state.chosen), summary(mount, seen), make("div", {class: "charts"},
    card("Capture to screen", "ms", "p50", 1),
    card("Computing, of a frame's time", "ms", "compute", 2, 1000 / Math.max(seen.fps, 1)),
    card("Frames", "a second", "fps", 1), card("Bit rate", "kbit/s", "kbps", 0)),
  make("table", {},
    make("thead", {}, make("tr", {}, ...TITLES.map(title => make("th", {scope: "col"}, title)))),
    make("tbody", {}, ...steps)),
  make("p", {class: "quiet"}, `${seen.path}. ` +
    `${mount.governor ? `The encoder is too slow, so edged gives up ${mount.governor}. ` : ""}` +
    `${seen.frames} frames, ${seen.dropped} dropped. ${seen.gpu}`));
}
