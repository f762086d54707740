// Logging in: a form where the password is safe, else the browser's own question at /login.

import {post} from "./api.js";
import {$} from "./dom.js";
import {state} from "./state.js";

// `done` is called once somebody has logged in.
export function logIn(done) {
  const dialog = $("login"), form = dialog.querySelector("form");
  if (state.session.way === "prompt") {
    location.assign("login");
    return;
  }
  dialog.oncancel = event => event.preventDefault();   // there is nothing to see without
  $("login-note").textContent = location.protocol === "https:" ? ""
    : "This connection is not encrypted; the password stays on this machine.";
  form.onsubmit = async event => {
    event.preventDefault();
    try {
      await post("v1/login", {user: form.user.value, password: form.password.value});
      form.password.value = "";
      dialog.close();
      done();
    } catch (fault) {
      $("login-fault").textContent = fault.status === 401 ? "This is not the name and the password of a user."
        : fault.message;
    }
  };
  if (!dialog.open) {
    $("login-fault").textContent = "";
    dialog.showModal();
  }
}
