// Requests to the server. Errors are what it says, with the key that is wrong.

export async function request(method, path, body, type = "application/json") {
  const reply = await fetch(path, {method, cache: "no-store",
    headers: body === undefined ? {} : {"Content-Type": type},
    body: body === undefined ? undefined : JSON.stringify(body)});
  const said = await reply.text();
  const told = said.startsWith("{") || said.startsWith("[") ? JSON.parse(said) : said;
  if (!reply.ok) {
    const sentence = told.detail ?? told.error ?? reply.statusText;
    throw Object.assign(new Error(sentence), {status: reply.status});
  }
  return told;
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
