// The address of each place: "#" all cameras, "#street/plain" one view, "#street/plain@2026-11-28T15:48:11Z" the same
// as it was recorded then, "#recorded", and "#settings/street/plain".

// {place: "live", "recorded" or "settings", path, atMs} of an address; path is "" and atMs null where it names none.
export function readLink(hash) {
  let text = hash.replace(/^#/, "");
  try {
    text = decodeURIComponent(text);
  } catch {
    // A percent sign that is none stays as it is.
  }
  if (text === "recorded") {
    return {place: "recorded", path: "", atMs: null};
  }
  if (/^settings(\/[^/]+\/[^/]+)?$/.test(text)) {
    return {place: "settings", path: text.slice("settings/".length), atMs: null};
  }
  const [path, time = ""] = text.split("@"), atMs = Date.parse(time);
  return {place: "live", path, atMs: Number.isNaN(atMs) ? null : atMs};
}

// Without milliseconds where there are none.
const isoTime = ms => new Date(ms).toISOString().replace(".000Z", "Z");

export function writeLink({place = "live", path = "", atMs = null}) {
  const to = path.split("/").map(encodeURIComponent).join("/");
  return place === "recorded" ? "#recorded" : place === "settings" ? `#settings${to && `/${to}`}`
    : `#${to}${atMs === null ? "" : `@${isoTime(atMs)}`}`;
}

// Goes there; the browser's "back" leads here again.
export function go(link) {
  location.hash = writeLink(link);
}

// Goes there in place of where the page is.
export function goInstead(link) {
  location.replace(writeLink(link));
}
