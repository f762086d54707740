// The changes of settings made on this page: in force at once, undone in reverse order, kept on request.

import {get, patch} from "./api.js";
import {make, say} from "./dom.js";
import {state} from "./state.js";

const EVERY_MS = 80; // a slider that is dragged sends no more often

// {a: {b: value}} for ["a", "b"].
export function nest(path, value) {
  return path.reduceRight((inner, key) => ({[key]: inner}), value);
}

export function dig(object, path) {
  return path.reduce((inner, key) => inner?.[key], object);
}

function put(object, path, value) {
  path.slice(0, -1).reduce((inner, key) => (inner[key] ??= {}), object)[path.at(-1)] = value;
}

const isGroup = value => typeof value === "object" && value !== null && !Array.isArray(value);

// Puts what is in `from` into `into`.
function merge(into, from) {
  for (const [key, value] of Object.entries(from)) {
    if (isGroup(value) && isGroup(into[key])) {
      merge(into[key], value);
    } else {
      into[key] = structuredClone(value);
    }
  }
}

export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// A copy without what is at a path.
function without(object, path) {
  const rest = structuredClone(object);
  delete dig(rest, path.slice(0, -1))?.[path.at(-1)];
  return rest;
}

// The changes made on this page: sent one after the other, undone in reverse order, kept on request. Each of `done` is
// {path, value, inverse, atMs, isUndone}; the server says what takes it back, and `isUndone` that this is under way.
class Changes {
  config = null;
  tell = null;
  say = null;
  done = [];
  waiting = new Map();
  sending = false;
  count = 0;

  set(path, value) {
    this.waiting.set(path.join("."), {path, value});
    this.send();
  }

  // Takes back the last change, or the one of `path`.
  undo(path) {
    const change = this.done.findLast(each => !each.isUndone && (!path || isSame(each.path, path)));
    if (change) {
      change.isUndone = true;
      this.waiting.set(change, {path: change.path, undone: change});
      this.send();
    }
  }

  async send() {
    if (this.sending || !this.waiting.size) {
      return;
    }
    this.sending = true;
    this.count++;
    const [name, {path, value, undone}] = this.waiting.entries().next().value, key = path.join(".");
    this.waiting.delete(name);
    try {
      const said = await patch(undone ? undone.inverse : nest(path, value));
      if (undone) {
        this.done = this.done.filter(each => each !== undone);
      } else {
        this.note({path, value, inverse: said.inverse, atMs: performance.now()});
      }
      await this.adopt(path).catch(() => {});   // edged tells of the change, and the page asks again then
      this.tell({key, undone: Boolean(undone), warnings: said.warnings});
    } catch (fault) {
      if (undone) {
        undone.isUndone = false;
      }
      this.tell({key, fault: fault.message});
    }
    await new Promise(resolve => setTimeout(resolve, EVERY_MS));
    this.sending = false;
    this.send();
  }

  // A slider that is dragged makes one change, which goes back to where it was at first.
  note(change) {
    const last = this.done.at(-1), {path, value, atMs} = change;
    const goesOn = last && isSame(last.path, path) && value !== null && !isGroup(value) && atMs - last.atMs < 2000;
    this.done.push(goesOn ? {...this.done.pop(), value, atMs} : change);
  }

  // The settings as edged has them now. What others have set meanwhile is left for a form that is built anew.
  async adopt(path) {
    const object = path.slice(0, 4), now = await get("v1/config");
    if (isSame(without(now, object), without(this.config, object))) {
      Object.assign(this.config, now);
    } else {
      put(this.config, object, dig(now, object));
    }
  }

  // All changes in one patch, in their order: null for something takes the place of what was set in it. Whether they
  // are on the disk; else it is still being written.
  async keep() {
    while (this.sending || this.waiting.size) {
      await new Promise(resolve => setTimeout(resolve, EVERY_MS));
    }
    const kept = {};
    for (const {path, value} of this.done) {
      merge(kept, nest(path, value));
    }
    this.sending = true;
    const said = await patch(kept, {keep: true}).finally(() => {
      this.sending = false;
      this.send();
    });
    if (said.kept === false) {
      throw new Error(said.warnings.join("; "));
    }
    this.done = [];
    return said.kept === true;
  }
}

// All of the page; they outlive the panel that made them.
export const changes = new Changes();

// A change is under way; how many there were.
export const isChanging = () => Boolean(changes.sending || changes.waiting.size);
export const changeCount = () => changes.count;

// Undo and keep at the end of a panel, with what became of the last change. `changed` is called
// after each.
export function actions(changed) {
  const line = make("p", {role: "status"});
  const tell = (sentence, isFault) => {
    line.classList.toggle("fault", isFault);
    line.textContent = sentence;
    undo.disabled = keep.disabled = !changes.done.length;
    say(sentence);
  };
  const undo = make("button", {type: "button", onclick: () => changes.undo()}, "Undo");
  const keep = make("button", {type: "button", class: "main", onclick: () =>
    changes.keep().then(
      kept => changes.say(kept ? "Kept: it stays after a restart."
        : "In effect, and kept once the disk has written it.", false),
      fault => changes.say(fault.message, true))},
  "Keep after a restart");

  changes.config = state.config;
  changes.say = tell;
  changes.tell = told => {
    tell(told.fault ?? [`${told.key.split(".").pop()} ${told.undone ? "is as before" : "is changed"}`,
      ...(told.warnings ?? [])].join("; "), Boolean(told.fault));
    changed(told);
  };
  undo.disabled = keep.disabled = !changes.done.length;
  return make("div", {class: "row actions"}, undo, keep, line);
}
