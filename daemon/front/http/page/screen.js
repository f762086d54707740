// Full screen, the full window where a browser has no full screen (iPhones), and picture in picture.
//
// A phone that lies on its side shows the pictures alone.

import {$, complain, make} from "./dom.js";
import {state} from "./state.js";

const SIDEWAYS = matchMedia("(orientation: landscape) and (max-height: 32rem) and (pointer: coarse)");

let isWanted = false;      // the full window

export function showFull() {
  if (isWanted && state.place !== "live") {
    leave();
    return;
  }
  const isFull = state.place === "live" && (isWanted || SIDEWAYS.matches);
  document.body.classList.toggle("full", isFull);
  $("leave").hidden = !isWanted;
  $("full").setAttribute("aria-pressed", String(isWanted));
}

async function enter() {
  isWanted = true;
  showFull();
  // Without it, or where it is refused, the window is all there is.
  await document.documentElement.requestFullscreen?.().catch(() => {});
}

export function leave() {
  isWanted = false;
  if (document.fullscreenElement) {
    document.exitFullscreen();
  }
  showFull();
}

// Shows the clip that plays, or the live picture, in a small window above all others.
async function inPicture() {
  if (document.pictureInPictureElement) {
    await document.exitPictureInPicture();
    return;
  }
  let video = $("film").querySelector("video");
  if (!video) {
    video = make("video", {playsinline: true});
    Object.assign(video, {muted: true, srcObject: $("large").captureStream()});
    await video.play();
    video.addEventListener("leavepictureinpicture", () => video.srcObject.getTracks().forEach(track => track.stop()));
  }
  await video.requestPictureInPicture();
}

export function beginScreen() {
  $("full").onclick = () => isWanted ? leave() : enter();
  $("leave").onclick = leave;
  $("pip").hidden = !document.pictureInPictureEnabled;
  $("pip").onclick = () => inPicture().catch(fault => complain(fault.message));
  SIDEWAYS.addEventListener("change", showFull);
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || leave());
}
