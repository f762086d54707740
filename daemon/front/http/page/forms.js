// Forms made from the server's schema: a field for each setting that may be changed from here. A
// change is in force at once, and each field says before what a change costs.

import {changes, dig} from "./changes.js";
import {make} from "./dom.js";
import {state} from "./state.js";

// The cost of a change, as a word beside the field and as a sentence.
const COSTS = {
  frame: ["live", "no frame is lost"], view: ["restarts the view", "viewers of this view connect again"],
  camera: ["reopens the camera", "the camera is opened anew"],
  front: ["edged listens anew", "connections are made again"],
};

// The part of the schema that describes a path of keys and names.
export function find(schema, path) {
  let node = schema;
  for (const part of path) {
    const {properties, additionalProperties: others} = node ?? {};
    node = properties?.[part] ?? (typeof others === "object" ? others : undefined);
    node = node?.$ref ? schema.$defs[node.$ref.split("/").pop()] : node;
  }
  return node;
}

// "bitrate_kbps" as a person says it, its unit beside it: ["Bitrate", "kbit/s"].
function title(name, unit) {
  const words = (unit ? name.replace(/_(kbps|ms|us|s|px|hz)$/, "") : name).replaceAll("_", " ");
  return [words[0].toUpperCase() + words.slice(1), unit === words || unit === "factor" ? "" : unit ?? ""];
}

// The first sentence of a text, and the rest on request.
function explain(id, description = "") {
  const end = description.slice(12).search(/[.:;] [A-Za-z]/) + 12;
  return make("small", {id}, end < 12 ? description : make("details", {},
    make("summary", {}, description.slice(0, end)), description.slice(end + 2)));
}

function slider(field, value, change) {
  const whole = field.type === "integer";
  value ??= field.minimum;
  const most = Math.min(field.maximum, Math.max(4 * Math.abs(field.default ?? 0), 2 * Math.abs(value ?? 0), 4));
  const step = whole ? field.multipleOf ?? 1 : 10 ** Math.floor(Math.log10(most / 100));
  const shown = make("output", {}, String(value));
  const range = make("input", {type: "range", min: field.minimum < step ? 0 : field.minimum, max: most, step, value,
    oninput: () => {
      const next = Math.max(field.minimum, Number(range.value));
      shown.textContent = String(next);
      change(next);
    }});
  return make("span", {class: "wide"}, range, shown);
}

function pair(value, field, change) {
  const {minimum: min = 1, maximum: max = 1024} = field.items ?? {};
  const [x, y] = [0, 1].map(i => make("input", {type: "number", min, max, value: value?.[i] ?? "",
    placeholder: "auto", "aria-label": i ? "threads in y" : "threads in x",
    onchange: () => x.value && y.value && change([Number(x.value), Number(y.value)])}));
  return make("span", {class: "row"}, x, "×", y);
}

// A number, or the word that stands for one that is found out: "otsu".
function numberOrWord(field, value, change) {
  const [number, {const: word}] = field.anyOf;
  const made = slider(number, typeof value === "number" ? value : number.minimum, change);
  const range = made.querySelector("input");
  const box = make("input", {type: "checkbox", checked: value === word,
    onchange: () => change(box.checked ? word : Number(range.value))});
  range.addEventListener("input", () => { box.checked = false; });
  made.append(make("label", {}, box, ` ${word}`));
  return made;
}

function text(field, value, change) {
  const isNumber = /^(integer|number)$/.test(field.type);
  const input = make("input", {type: isNumber ? "number" : "text", value: value ?? "", step: "any",
    onchange: () => change(isNumber && input.value !== "" ? Number(input.value) : input.value)});
  return isNumber ? input : make("span", {class: "wide"}, input);
}

function control(field, value, change) {
  if (field.enum) {
    const select = make("select", {onchange: () => change(field.enum[select.selectedIndex])},
      ...field.enum.map(word => make("option", {value: word, selected: word === value}, String(word))));
    return select;
  }
  if (field.anyOf) {
    return numberOrWord(field, value, change);
  }
  if (field.type === "boolean") {
    const box = make("input", {type: "checkbox", checked: Boolean(value), onchange: () => change(box.checked)});
    return box;
  }
  if (field.type === "array") {
    return pair(value, field, change);
  }
  // A slider that is dragged changes a key many times, so each change has to cost nothing.
  const isSlider = field["x-cost"] === "frame" && field.type !== "string" && field.minimum !== undefined &&
    field.maximum !== undefined && typeof (value ?? 0) === "number";
  return (isSlider ? slider : text)(field, value ?? field.default, change);
}

// Whether a key has an effect in this object: a threshold has one only in some kinds of view.
function isUsed(field, values) {
  return Object.entries(field["x-used-by"] ?? {}).every(([key, words]) => words.includes(values[key]));
}

const isPair = field => field.type === "array" && field.maxItems === 2 && field.items?.type === "integer";

// A line of the form: the key's name, what a change costs, its control, and its explanation.
function line(path, field, value, may) {
  const id = `field-${path.join("-")}`;
  const [name, unit] = title(path.at(-1), field["x-unit"]);
  const made = control(field, value, next => changes.set(path, next));
  const inputs = made.matches("input, select") ? [made] : [...made.querySelectorAll("input")];
  const [word, sentence] = COSTS[field["x-cost"]] ?? [];
  inputs[0].id = id;
  inputs.forEach(each => {
    each.disabled = !may;
    each.setAttribute("aria-describedby", `${id}-cost ${id}-text`);
  });
  return make("div", {class: "field", "data-key": path.join(".")},
    make("label", {for: id, title: path.at(-1)}, name, unit && make("span", {class: "quiet"}, ` ${unit}`)),
    may && word ? make("span", {id: `${id}-cost`, class: "cost", "data-cost": field["x-cost"], title: sentence}, word)
      : make("span"),
    made, explain(`${id}-text`, field.description));
}

// Fields of the object at `path`, and beneath them those of the groups in it. `may`: the person may
// change something. What the network may not change is shown at the end.
function form(schema, path, may) {
  const values = dig(changes.config, path) ?? {};
  const fixed = make("details", {}, make("summary", {class: "quiet"}, "Set in edged.conf alone"));
  const all = make("div"), groups = make("div");

  for (const [name, field] of Object.entries(find(schema, path)?.properties ?? {})) {
    const here = [...path, name];
    if (field.type === "object" && field.properties) {
      groups.append(make("h3", {}, title(name)[0]), form(schema, here, may));
    } else if (field.type === "object" || (field.type === "array" && !isPair(field)) || !isUsed(field, values)) {
      continue;
    } else if (name === "armed") {
      continue;   // its switch is in Live, below the picture
    } else if (field["x-remote"]) {
      all.append(line(here, field, values[name] ?? field.default, may));
    } else if (values[name] !== undefined && values[name] !== "") {
      fixed.append(make("p", {class: "field fixed"}, make("span", {}, name),
        make("span", {}, JSON.stringify(values[name]))));
    }
  }
  return make("div", {}, all, groups, fixed.children.length > 1 ? fixed : null);
}

// Says at a field why its value was refused, which stays there to be mended.
function answer(place, key, fault) {
  const field = place.querySelector(`[data-key="${key}"]`), id = `refused-${key}`;
  const inputs = field?.querySelectorAll("input, select") ?? [];
  field?.querySelector(".fault")?.remove();
  inputs.forEach(input => input.toggleAttribute("aria-invalid", Boolean(fault)));
  if (field && fault) {
    field.append(make("small", {class: "fault", id}, fault));
  }
}

// Shows what edged has computed of a change: the end of an event follows its start until it is set.
function renewOthers(place, key) {
  for (const field of place.querySelectorAll(".field[data-key]")) {
    const input = field.querySelector("input, select"), value = dig(changes.config, field.dataset.key.split("."));
    if (field.dataset.key === key || !input || typeof value === "object" || value === undefined ||
        (input.type === "range" && typeof value !== "number") || field.contains(document.activeElement)) {
      continue;
    }
    if (input.type === "checkbox") {
      input.checked = Boolean(value);
    } else {
      input.max = input.type === "range" ? String(Math.max(Number(input.max), Number(value))) : input.max;
      input.value = String(value);
      input.defaultValue = input.value;
      field.querySelector("output")?.replaceChildren(String(value));
    }
  }
}

// A form that is built again after a change that gives or takes other fields their meaning.
export function settings(path) {
  const place = make("div");
  const build = () => {
    const focused = document.activeElement?.id;
    place.replaceChildren(form(state.schema, path, state.session.can_change));
    if (focused) {
      document.getElementById(focused)?.focus();
    }
  };
  const changed = ({key, undone, fault}) => {
    answer(place, key, fault);
    if (undone || (!fault && find(state.schema, key.split("."))?.enum)) {
      build();
    } else if (!fault) {
      renewOthers(place, key);
    }
  };
  return {place, build, changed};
}
