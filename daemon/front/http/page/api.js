// Requests to the server, and elements of the page.

// A reply as it comes. Errors are what the server says, with the key that is wrong.
export async function ask(path, options) {
  const reply = await fetch(path, {cache: "no-store", ...options});
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    const sentence = told.detail ?? told.error ?? reply.statusText;
    throw Object.assign(new Error(sentence), {status: reply.status});
  }
  return reply;
}

export const send = (body, type = "application/json") => ({headers: {"Content-Type": type}, body: JSON.stringify(body)});

export async function request(method, path, body, type) {
  const reply = await ask(path, {method, ...(body === undefined ? {} : send(body, type))});
  const text = await reply.text();
  return text && JSON.parse(text);
}

export const get = path => request("GET", path);
export const post = (path, body) => request("POST", path, body);

// Changes settings: a JSON merge patch. What it would cost is asked for by `dry`.
export function patch(change, {keep = false, dry = false} = {}) {
  const query = [keep && "keep=1", dry && "dry_run=1"].filter(Boolean).join("&");
  return request("PATCH", `/v1/config${query && `?${query}`}`, change, "application/merge-patch+json");
}

// Makes an element: make("p", {class: "quiet", onclick: f}, "text", child …).
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

// Makes an element of a drawing.
export function draw(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
}
