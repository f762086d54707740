// What was recorded: the last day as a timeline, a lane for each camera, and a list, the newest first. A clip plays
// over the live picture.

import {get, make, request} from "./api.js";
import {lane} from "./events.js";

const SPAN_S = 86400;

// A path of this server as one of the page, which may stand below another server's /edged/.
const below = path => path?.replace(/^\//, "");
const when = clip => new Date(clip.start).toLocaleString();

export function stopClip() {
  document.getElementById("playing")?.remove();
}

function play(clip, screen, tell) {
  stopClip();
  screen.append(make("div", {id: "playing"},
    make("video", {src: below(clip.url), poster: below(clip.picture), controls: true, autoplay: true, "aria-label": `Clip of ${clip.camera}, ${when(clip)}`,
      onerror: () => tell("This browser cannot play this clip; save it, and open it in a player.")}),
    make("button", {type: "button", onclick: stopClip}, "Back to live")));
}

// An administrator alone deletes what is kept.
function row(clip, {can_change: may, role}, begin, change) {
  const cause = clip.regions.join(", ") || (clip.always ? "always" : "signal");
  return make("li", {class: "row"},
    make("button", {type: "button", onclick: begin}, `${when(clip)}  ${clip.camera}: ${clip.duration.toFixed(0)} s, ${cause}`),
    make("label", {}, make("input", {type: "checkbox", checked: clip.keep, disabled: !may,
      onchange: event => change("PATCH", {keep: event.target.checked})}), "Keep"),
    make("a", {href: below(clip.url), download: `${clip.camera}-${clip.start}.mp4`}, "Save"),
    make("button", {type: "button", disabled: !may || (clip.keep && role !== "admin"),
      onclick: () => confirm(`Delete the clip of ${when(clip)}?`) && change("DELETE")}, "Delete"));
}

// Fills the panel, once.
export async function showClips(tab, {session}, screen) {
  const line = make("p", {class: "fault", role: "status"}), place = make("div");
  const tell = sentence => { line.textContent = sentence; };
  tab.append(make("h2", {}, "Recorded"), line, place);
  const draw = async () => {
    const clips = await get("v1/clips");
    const begin = clip => () => { tell(""); play(clip, screen, tell); };
    const change = clip => (method, body) => request(method, `v1/clips/${clip.id}`, body).then(draw).catch(fault => tell(fault.message));
    const bars = clips.map(clip => ({camera: clip.camera, startedMs: Date.parse(clip.start),
      endedMs: clip.open ? null : Date.parse(clip.end), onclick: begin(clip)}));
    const lanes = [...new Set(clips.map(clip => clip.camera))].sort().flatMap(camera => [make("span", {}, camera),
      lane(bars.filter(bar => bar.camera === camera), SPAN_S, Date.now())]);
    place.replaceChildren(make("div", {class: "lanes"}, ...lanes, make("span", {class: "scale quiet"}, make("span", {}, "a day ago"), make("span", {}, "now"))),
      clips.length ? make("ol", {class: "list"}, ...clips.map(clip => row(clip, session, begin(clip), change(clip))))
        : make("p", {class: "quiet"}, "There are no clips. What a camera records is set under Camera."));
  };
  draw().catch(fault => tell(fault.message));
}
