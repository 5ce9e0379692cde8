// Asks the browser for a passkey when a form with data-passkey is sent: "get" uses one, "create" makes one.
// Without this script, or in a browser without passkeys, these forms stay hidden.
"use strict";

const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

const encode = (buffer) =>
  buffer && btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function readOptions(form) {
  const options = JSON.parse(form.dataset.options);
  options.challenge = decode(options.challenge);
  if (options.user) options.user.id = decode(options.user.id);
  for (const known of [...(options.allowCredentials ?? []), ...(options.excludeCredentials ?? [])]) known.id = decode(known.id);
  return { publicKey: options };
}

function writeAnswer(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = encode(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: encode(credential.rawId), type: credential.type, response });
}

async function ask(form, button) {
  const problems = [...form.querySelectorAll("[data-problem]")];
  for (const problem of problems) problem.hidden = true;
  button.disabled = true;
  try {
    const credential = await navigator.credentials[form.dataset.passkey](readOptions(form));
    form.elements.answer.value = writeAnswer(credential);
    form.submit();
  } catch (error) {
    const told = problems.find((problem) => problem.dataset.problem === error.name) ?? problems[0];
    told.hidden = false;
  } finally {
    button.disabled = false;
  }
}

if (window.PublicKeyCredential) {
  for (const text of document.querySelectorAll("[data-without-passkeys]")) text.hidden = true;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      ask(form, form.querySelector("button"));
    });
  }
}
