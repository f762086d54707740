// Polygons drawn on the picture: regions in which motion is an event, and what privacy hides.
//
// Corners are shares of the picture's width and height. A click adds a corner, a drag moves one, a click on one offers
// to remove it; with the keyboard arrows move the corner that has the focus, + adds one after it, Delete removes it.

import {draw, make} from "./dom.js";

const STEP = 0.01;

const LEAST = 3;   // corners

const clamp = share => Math.min(1, Math.max(0, Math.round(share * 1000) / 1000));

export class Shapes {
  shapes = [];
  active = null;     // the one of them that is drawn
  may = false;       // be drawn
  held = -1;         // corner under the pointer
  picked = -1;       // corner beside which its removal is offered
  isMoved = false;   // since it is held

  // `names` lies over `svg` and gets what is written. `changed` is called with the shape that was changed, once it
  // has an area.
  constructor(svg, names, changed) {
    this.svg = svg;
    this.names = names;
    this.changed = changed;
    svg.setAttribute("viewBox", "0 0 1 1");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.onpointerdown = event => this.down(event);
    svg.onpointermove = event => this.drag(event);
    svg.onpointerup = () => this.up();
  }

  // Each {name, kind: "region" or "privacy", polygon: [[x, y] …], moving}.
  show(shapes, active, may) {
    Object.assign(this, {shapes, active, may, picked: -1});
    this.svg.removeAttribute("hidden");
    this.svg.classList.toggle("drawing", Boolean(active && may));
    this.draw();
  }

  // Shows anew in which of them something moves.
  colour() {
    [...this.svg.querySelectorAll("polygon")].forEach((polygon, i) =>
      polygon.classList.toggle("moving", Boolean(this.shapes[i]?.moving)));
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return [clamp((event.clientX - box.left) / box.width), clamp((event.clientY - box.top) / box.height)];
  }

  down(event) {
    if (!this.may || !this.active) {
      return;
    }
    const corner = Number(event.target.dataset?.corner ?? -1);
    if (corner >= 0) {
      this.held = corner;
      this.isMoved = false;
    } else {
      this.isMoved = true;
      this.active.polygon.splice(this.insertAt(this.at(event)), 0, this.at(event));
      this.held = this.active.polygon.findIndex(([x, y]) => x === this.at(event)[0] && y === this.at(event)[1]);
      this.draw();
    }
    this.svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  // A new corner goes between those two whose edge it lies nearest to.
  insertAt(point) {
    const [x, y] = point;
    const corners = this.active.polygon;
    let best = corners.length, least = Infinity;
    for (let i = 0; corners.length > 2 && i < corners.length; i++) {
      const [a, b] = [corners[i], corners[(i + 1) % corners.length]];
      const detour = Math.hypot(a[0] - x, a[1] - y) + Math.hypot(b[0] - x, b[1] - y) -
        Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (detour < least) {
        [best, least] = [i + 1, detour];
      }
    }
    return best;
  }

  drag(event) {
    if (this.held >= 0 && this.active) {
      const [x, y] = this.active.polygon[this.held], [toX, toY] = this.at(event);
      if (!this.isMoved && Math.hypot(toX - x, toY - y) < STEP) {
        return;   // a finger is never quite still
      }
      [this.isMoved, this.picked] = [true, -1];
      this.active.polygon[this.held] = [toX, toY];
      this.draw();
    }
  }

  up() {
    const corner = this.held;
    this.held = -1;
    if (corner >= 0 && this.isMoved) {
      this.tell();
    } else if (corner >= 0) {
      this.picked = this.picked === corner ? -1 : corner;
      this.draw();
    }
  }

  // Names on the shapes, and beside a corner that was clicked on what may be done with it.
  write() {
    const at = (corner, element) => {
      const [x, y] = corner;
      Object.assign(element.style, {left: `${100 * x}%`, top: `${100 * y}%`});
      return element;
    };
    const middle = polygon => [0, 1].map(i => polygon.reduce((sum, corner) => sum + corner[i], 0) / polygon.length);
    this.names.replaceChildren(...this.shapes.filter(shape => shape.polygon.length >= LEAST)
      .map(shape => at(middle(shape.polygon), make("span", {class: "name"}, shape.name))));
    const corner = this.may ? this.active?.polygon[this.picked] : null;
    if (corner) {
      const isLeast = this.active.polygon.length <= LEAST;
      this.names.append(at(corner, make("button", {type: "button", class: "cut", disabled: isLeast,
        title: isLeast ? "Three corners are the least" : "", onclick: () => {
          this.active.polygon.splice(this.picked, 1);
          this.picked = -1;
          this.draw();
          this.tell();
        }}, "Remove corner")));
    }
  }

  key(event, corner) {
    const step = {ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP]}[event.key];
    if (step) {
      const [x, y] = this.active.polygon[corner];
      this.active.polygon[corner] = [clamp(x + step[0]), clamp(y + step[1])];
    } else if (event.key === "+" || event.key === "Insert") {
      const {polygon} = this.active, [x, y] = polygon[corner], [nextX, nextY] = polygon[(corner + 1) % polygon.length];
      polygon.splice(++corner, 0, [clamp((x + nextX) / 2), clamp((y + nextY) / 2)]);
    } else if ((event.key === "Delete" || event.key === "Backspace") && this.active.polygon.length > LEAST) {
      this.active.polygon.splice(corner, 1);
    } else {
      return;
    }
    event.preventDefault();
    this.draw();
    this.svg.querySelector(`[data-corner="${Math.min(corner, this.active.polygon.length - 1)}"]`)?.focus();
    this.tell();
  }

  tell() {
    if (this.active.polygon.length >= LEAST) {
      this.changed(this.active);
    }
  }

  draw() {
    const box = this.svg.getBoundingClientRect();
    const px = matchMedia("(pointer: coarse)").matches ? 14 : 7;
    const round = box.width ? [px / box.width, px / box.height] : [0.01, 0.015];
    this.svg.replaceChildren();
    for (const shape of this.shapes) {
      this.svg.append(draw("polygon", {points: shape.polygon.map(corner => corner.join(",")).join(" "),
        class: shape === this.active ? `${shape.kind} active` : shape.kind}));
    }
    for (const [i, [x, y]] of (this.active && this.may ? this.active.polygon : []).entries()) {
      const corner = draw("ellipse", {cx: x, cy: y, rx: round[0], ry: round[1], tabindex: 0, "data-corner": i,
        role: "button",
        "aria-label": `Corner ${i + 1}: ${Math.round(100 * x)} % from the left, ` +
          `${Math.round(100 * y)} % from the top`});
      corner.addEventListener("keydown", event => this.key(event, i));
      this.svg.append(corner);
    }
    this.write();
    this.colour();
  }
}
