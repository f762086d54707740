// Forms made from the server's schema: a field for each setting that may be changed from here. A
// change is in force at once, and each field says before what a change costs.

import {make, patch} from "./api.js";

const COSTS = {frame: "no frame is lost", view: "this view begins anew", camera: "the camera is opened anew",
  front: "edged listens anew"};
const EVERY_MS = 80; // a slider that is dragged sends no more often

// The part of the schema that describes a path of keys and names.
export function find(schema, path) {
  let node = schema;
  for (const part of path) {
    node = node?.properties?.[part] ?? (typeof node?.additionalProperties === "object" ? node.additionalProperties : undefined);
    node = node?.$ref ? schema.$defs[node.$ref.split("/").pop()] : node;
  }
  return node;
}

// {a: {b: value}} for ["a", "b"].
export function nest(path, value) {
  return path.reduceRight((inner, key) => ({[key]: inner}), value);
}

function dig(object, path) {
  return path.reduce((inner, key) => inner?.[key], object);
}

// What was changed from here: sent one after the other, undone in reverse order, kept on request.
export class Changes {
  constructor(config, tell) {
    Object.assign(this, {config, tell});
    this.done = [];
    this.waiting = new Map();
    this.sending = false;
  }

  set(path, value) {
    this.waiting.set(path.join("."), {path, value, before: dig(this.config, path)});
    this.send();
  }

  async send() {
    if (this.sending || !this.waiting.size) {
      return;
    }
    this.sending = true;
    const [key, change] = this.waiting.entries().next().value;
    this.waiting.delete(key);
    try {
      const said = await patch(nest(change.path, change.value));
      const last = this.done.at(-1);
      if (!change.undo && (last?.path.join(".") !== key || performance.now() - last.atMs > 2000)) {
        this.done.push({...change, atMs: performance.now()});
      } else if (!change.undo) {
        last.value = change.value;
        last.atMs = performance.now();
      }
      this.put(change.path, change.value);
      this.tell({key, cost: said.cost, changed: said.changed, warnings: said.warnings});
    } catch (fault) {
      this.tell({key, fault: fault.message});
    }
    await new Promise(resolve => setTimeout(resolve, EVERY_MS));
    this.sending = false;
    this.send();
  }

  put(path, value) {
    const inner = path.slice(0, -1).reduce((object, key) => (object[key] ??= {}), this.config);
    if (value === null) {
      delete inner[path.at(-1)];
    } else {
      inner[path.at(-1)] = value;
    }
  }

  // A shape that was changed without set(): it is undone and kept with the rest.
  note(path, value) {
    const before = dig(this.config, path);
    this.done.push({path, value, before: before ? {polygon: before.polygon} : null, atMs: performance.now()});
    this.put(path, value);
  }

  undo() {
    const last = this.done.pop();
    if (last) {
      this.waiting.set(last.path.join("."), {path: last.path, value: last.before ?? null, undo: true});
      this.send();
    }
  }

  async keep() {
    for (const change of this.done.splice(0)) {
      await patch(nest(change.path, dig(this.config, change.path) ?? null), {keep: true});
    }
  }
}

function slider(field, value, change) {
  const whole = field.type === "integer";
  value ??= field.minimum;
  const most = Math.min(field.maximum, Math.max(4 * Math.abs(field.default ?? 0), 2 * Math.abs(value ?? 0), field.minimum + 4));
  const shown = make("output", {}, String(value ?? ""));
  const range = make("input", {type: "range", min: field.minimum, max: most,
    step: whole ? field.multipleOf ?? 1 : (most - field.minimum) / 200, value,
    oninput: () => {
      shown.textContent = whole ? range.value : Number(range.value).toPrecision(3);
      change(Number(range.value));
    }});
  return [range, shown];
}

function pair(value, field, change) {
  const [x, y] = [0, 1].map(i => make("input", {type: "number", min: field.items?.minimum ?? 1, max: field.items?.maximum ?? 1024,
    value: value?.[i] ?? "", "aria-label": i ? "threads in y" : "threads in x",
    onchange: () => x.value && y.value && change([Number(x.value), Number(y.value)])}));
  return [make("span", {class: "row"}, x, "×", y)];
}

function control(field, value, change) {
  if (field.enum) {
    const select = make("select", {onchange: () => change(field.enum[select.selectedIndex])},
      ...field.enum.map(word => make("option", {value: word, selected: word === value}, String(word))));
    return [select];
  }
  if (field.anyOf) {
    return numberOrWord(field, value, change);
  }
  switch (field.type) {
  case "boolean": {
    const box = make("input", {type: "checkbox", checked: Boolean(value), onchange: () => change(box.checked)});
    return [box];
  }
  case "integer":
  case "number":
    if (field.minimum !== undefined && field.maximum !== undefined && typeof (value ?? 0) === "number") {
      return slider(field, value ?? field.default, change);
    }
    break;
  case "array":
    return pair(value, field, change);
  default:
  }
  const text = make("input", {type: "text", value: value ?? "",
    onchange: () => change(/^(integer|number)$/.test(field.type) && text.value !== "" ? Number(text.value) : text.value)});
  return [text];
}

// Whether a key means anything beside what the object is: a threshold for a view that has one.
function isUsed(field, values) {
  return Object.entries(field["x-used-by"] ?? {}).every(([key, words]) => words.includes(values[key]));
}

// A number, or the word that stands for one that is found out: "otsu".
function numberOrWord(field, value, change) {
  const [number, {const: word}] = field.anyOf;
  const [range, shown] = slider(number, typeof value === "number" ? value : number.minimum, change);
  const box = make("input", {type: "checkbox", checked: value === word, "aria-label": word,
    onchange: () => change(box.checked ? word : Number(range.value))});
  range.addEventListener("input", () => { box.checked = false; });
  return [make("span", {class: "row"}, range, make("label", {}, box, ` ${word}`)), shown];
}

const isPair = field => field.type === "array" && field.maxItems === 2 && field.items?.type === "integer";

// A line of the form: name, what sets it, what a change costs, what it means.
function line(path, field, value, changes, may) {
  const id = `field-${path.join("-")}`;
  const name = path.at(-1);
  const inputs = control(field, value, next => changes.set(path, next));
  const input = inputs[0].matches("input, select") ? inputs[0] : inputs[0].querySelector("input");
  input.id = id;
  inputs.forEach(each => [each, ...each.querySelectorAll("input")].forEach(one => { one.disabled = !may; }));
  return make("div", {class: "field", "data-key": path.join(".")},
    make("label", {for: id}, field["x-unit"] ? `${name} (${field["x-unit"]})` : name), ...inputs,
    make("span", {class: "cost", "data-cost": field["x-cost"], title: COSTS[field["x-cost"]] ?? ""}, field["x-cost"] ?? ""),
    make("small", {}, field.description ?? ""));
}

// Fields of the object at `path`, with those of a plain group in it. `may`: the person may change
// something. What the network may not change is shown beneath.
export function form(schema, changes, path, may) {
  const values = dig(changes.config, path) ?? {};
  const fixed = make("details", {}, make("summary", {}, "Set in edged.conf alone"));
  const all = make("div", {});

  for (const [name, field] of Object.entries(find(schema, path)?.properties ?? {})) {
    const here = [...path, name];
    if (field.type === "object" && field.properties) {
      all.append(make("h2", {}, name), form(schema, changes, here, may));
    } else if (field.type === "object" || (field.type === "array" && !isPair(field)) || !isUsed(field, values)) {
      continue;
    } else if (field["x-remote"]) {
      all.append(line(here, field, values[name] ?? field.default, changes, may));
    } else if (values[name] !== undefined && values[name] !== "") {
      fixed.append(make("p", {class: "field fixed"}, make("span", {}, name), make("span", {}, JSON.stringify(values[name]))));
    }
  }
  return make("div", {}, all, fixed.children.length > 1 ? fixed : null);
}
