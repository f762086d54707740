// Requests to the server, each with a deadline.

// The server sends something each second on every reply that goes on. Silence is counted in ticks, so that a page
// that was blocked or asleep first takes what came meanwhile.
const TICK_MS = 750;
const SILENT_TICKS = 4;     // 3 s
const PATIENT_TICKS = 20;   // for an answer, while other replies show that the server is there
const RETRY_MS = 1000;

let heard = 0;   // how often anything came from the server

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

const gone = why => Object.assign(new Error("No connection to edged; trying again."), {isGone: true, why});

// Waits for something that the server is to send. Fails once nothing came for 3 s, neither this nor, if `isPatient`,
// anything else.
export async function within(promise, isPatient) {
  const came = promise.then(value => ({value}), fault => { throw fault.name === "AbortError" ? fault : gone(fault); });
  for (let ticks = 0, silent = 0, before = heard; ticks < PATIENT_TICKS && silent < SILENT_TICKS; ticks++) {
    const got = await Promise.race([came, sleep(TICK_MS)]);
    if (got) {
      heard++;
      return got.value;
    }
    silent = isPatient && heard !== before ? 0 : silent + 1;
    before = heard;
  }
  came.catch(() => {});
  throw gone("silence");
}

// The bytes of a reply that goes on, as they come.
export async function* pieces(reply) {
  const reader = reply.body.getReader();
  for (;;) {
    const {done, value} = await within(reader.read(), false);
    if (done) {
      throw new Error("edged ended the reply; asking again.");
    }
    yield value;
  }
}

// Asks, and gives what `take` makes of the reply, which ends with that, with `signal` and with its deadline. Errors
// are what the server says, with the key that is wrong.
/** @param {any} options as fetch() takes them */
export async function ask(path, options, take) {
  const {signal, ...rest} = options;
  const call = new AbortController();
  const end = () => call.abort();
  signal?.addEventListener("abort", end);
  try {
    if (signal?.aborted) {
      throw signal.reason;
    }
    const reply = await within(fetch(path, {cache: "no-store", signal: call.signal, ...rest}), true);
    if (!reply.ok) {
      const told = await reply.json().catch(() => ({}));
      throw Object.assign(new Error(told.detail ?? told.error ?? reply.statusText), {status: reply.status});
    }
    return await take(reply);
  } finally {
    signal?.removeEventListener("abort", end);
    end();
  }
}

export const send = (body, type = "application/json") =>
  ({headers: {"Content-Type": type}, body: JSON.stringify(body)});

export async function request(method, path, body, type) {
  const text = await ask(path, {method, ...(body === undefined ? {} : send(body, type))},
    reply => within(reply.text(), true));
  return text && JSON.parse(text);
}

export const get = path => request("GET", path);
export const post = (path, body) => request("POST", path, body);

// Follows the server-sent events of `path` until `signal`, again and again: an EventSource would not tell of silence.
// `place.id` is the last one that came, from which on it goes. `tell` is called with each one's kind and data, and with
// "connected" whenever they begin.
export async function follow(path, signal, place, tell) {
  while (!signal.aborted) {
    const headers = place.id ? {"Last-Event-ID": place.id} : {};
    await ask(path, {signal, headers}, async reply => {
      const decoder = new TextDecoder();
      let kept = "";
      tell("connected");
      for await (const piece of pieces(reply)) {
        const messages = (kept + decoder.decode(piece, {stream: true})).split("\n\n");
        kept = messages.pop();
        for (const message of messages) {
          const field = name => message.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
          place.id = field("id") ?? place.id;
          if (field("data")) {
            tell(field("event"), JSON.parse(field("data")));
          }
        }
      }
    }).catch(() => {});   // the pictures tell of a lost connection
    await sleep(RETRY_MS);
  }
}

// Changes settings: a JSON merge patch. What it would cost is asked for by `dry`.
export function patch(change, {keep = false, dry = false} = {}) {
  const query = [keep && "keep=1", dry && "dry_run=1"].filter(Boolean).join("&");
  return request("PATCH", `v1/config${query && `?${query}`}`, change, "application/merge-patch+json");
}

// A path of this server as one of the page, which may stand below another server's /edged/.
export const below = path => path?.replace(/^\//, "");
