// Elements of the page.

/** @returns {any} */
export const $ = id => document.getElementById(id);

// Makes an element: make("p", {class: "quiet", onclick: f}, "text", child …).
/** @returns {any} */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// Makes an element of a drawing.
/** @returns {any} */
export function draw(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
}

// For those who hear the page instead of seeing it.
export function say(sentence) {
  $("said").textContent = sentence;
}

// Says at the top of the page what is wrong; "": nothing is.
export function complain(sentence) {
  if ($("fault").textContent !== sentence) {
    $("fault").textContent = sentence;
  }
}

// Makes of `ask`, which is called again and again, one that says what is wrong until it succeeds. `tells`: whether it
// does so of a fault.
export function complaining(ask, tells) {
  let missed = "";
  return async (...how) => {
    try {
      const came = await ask(...how);
      if (missed && $("fault").textContent === missed) {
        complain("");
      }
      missed = "";
      return came;
    } catch (fault) {
      if (tells(fault)) {
        missed = fault.message;
        complain(missed);
      }
      throw fault;
    }
  };
}
