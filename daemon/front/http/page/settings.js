// Settings, for those who may change something: of the view, the camera, its regions and the kernels, and numbers.

import {actions, changes} from "./changes.js";
import {$, make} from "./dom.js";
import {settings} from "./forms.js";
import {showNumbers} from "./numbers.js";
import {moveRegions, showRegions} from "./regions.js";
import {camera, cameraStatus, state, view} from "./state.js";
import {tuner} from "./tune.js";

export {changeCount, isChanging} from "./changes.js";
export {isDrawing} from "./regions.js";

/** @param {(fields: any) => any[]} before makes what stands above the fields */
function showSettings(tab, title, path, before = () => []) {
  const fields = settings(path);
  tab.append(make("h2", {}, title), ...before(fields), fields.place, actions(fields.changed));
  fields.build();
}

// The search for faster blocks stays in place when the fields beneath it are built again.
function showKernels(tab) {
  showSettings(tab, "How the GPU cuts up its work", ["kernels"], fields => [tuner(() => {
    changes.config = state.config;
    fields.build();
  })]);
}

// `tick` is called each second while a panel is shown; `isThere`: false where there is nothing to set.
const panels = {
  picture: {title: "View", show: tab => showSettings(tab, state.chosen, ["cameras", camera(), "views", view()])},
  camera: {title: "Camera", show: tab => showSettings(tab, camera(), ["cameras", camera()])},
  shapes: {title: "Regions", show: showRegions, tick: moveRegions},
  kernels: {title: "GPU", show: showKernels,
    isThere: () => state.status?.cameras.some(each => each.backend.startsWith("CUDA"))},
  numbers: {title: "Numbers", show: showNumbers, tick: showNumbers},
};

// Fills the panel of that name.
export function showTab(name) {
  state.tab = name;
  for (const tab of $("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.name === name));
    tab.tabIndex = tab.dataset.name === name ? 0 : -1;
  }
  $("tab").setAttribute("aria-labelledby", `tab-${name}`);
  $("shapes").toggleAttribute("hidden", true);
  $("tab").replaceChildren();
  $("names").replaceChildren();
  if (state.schema && state.config && state.chosen) {
    panels[name].show($("tab"), $("shapes"));
  } else {
    $("tab").append(make("p", {class: "quiet"}, state.session.user
      ? "To change settings, log in as an operator." : "To change settings, open the link that edgectl page prints."));
  }
}

export function tickTab() {
  if (state.config) {
    panels[state.tab].tick?.($("tab"));
  }
}

export function buildTabs() {
  const there = Object.entries(panels).filter(([, panel]) => panel.isThere?.() ?? true);
  $("tabs").replaceChildren(...there.map(([name, panel]) => make("button",
    {role: "tab", type: "button", id: `tab-${name}`, "aria-controls": "tab", "data-name": name,
      onclick: () => showTab(name), onkeydown: event => {
        const other = {ArrowRight: "nextSibling", ArrowLeft: "previousSibling"}[event.key];
        event.currentTarget[other]?.focus();
      }}, panel.title)));
  if (!$(`tab-${state.tab}`)) {
    state.tab = "picture";
  }
}

// The panel again, at the place and with the focus that it had, and with what became of the last change.
export function rebuildTab() {
  const {scrollTop} = $("tab"), {id} = document.activeElement, before = $("tab").querySelector(".actions p");
  showTab(state.tab);
  $(id)?.focus();
  $("tab").scrollTop = scrollTop;
  const line = $("tab").querySelector(".actions p");
  if (before && line) {
    Object.assign(line, {textContent: before.textContent, className: before.className});
  }
}
