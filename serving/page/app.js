// The page: choose a model, give it something, see what it answers. Everything comes from this server.

import { Drawing } from "./drawing.js";
import { readEvents } from "./events.js";

const TOP = 5;
const byId = (id) => document.getElementById(id);
let models = [];
let token = "";
let picture = null; // a file that was chosen or dropped; null when the drawing is asked about

const drawing = new Drawing(byId("drawing"), () => {
  picture = null;
  (drawing.empty ? showNothing : ask)();
  showCurl();
});

function chosen() {
  return models[byId("model").selectedIndex];
}

// "image", "text" or "json": what the model can be asked with here.
function kind(model) {
  if (writes(model)) return "text";
  const inputs = model.signatures.bytes;
  if (!inputs || Object.keys(inputs).length !== 1) return "json";
  return "images_bytes" in inputs ? "image" : "text";
}

// Whether the model goes on with a text, or translates it.
function writes(model) {
  return "generate" in model.signatures;
}

// Whether it can send the text while it writes.
function streams(model) {
  return writes(model) && "begin" in model.signatures && "next" in model.signatures;
}

function headers() {
  const given = { "Content-Type": "application/json" };
  if (token) given.Authorization = `Bearer ${token}`;
  return given;
}

async function loadModels() {
  const reply = await fetch("/models.json", { headers: headers() });
  byId("token-form").hidden = reply.status !== 401;
  if (!reply.ok) {
    showMessage((await reply.json()).error, true);
    return;
  }
  models = (await reply.json()).models;
  byId("model").replaceChildren(...models.map((model) => new Option(`${model.name} (version ${model.version})`)));
  showMessage("");
  showModel();
}

function showModel() {
  const model = chosen();
  for (const name of ["image", "text", "json"]) byId(`${name}-input`).hidden = name !== kind(model);
  byId("seed-row").hidden = !(writes(model) && "seed" in model.signatures.generate);
  if (kind(model) === "json") byId("json").value = JSON.stringify(example(model));
  showCard(model);
  showCurl();
  showNothing();
}

// One row of zeros for each input, so that there is something to change.
function example(model) {
  const filled = ([size, ...rest], value) => Array.from({ length: size ?? 4 }, () => (rest.length ? filled(rest, value) : value));
  const row = {};
  for (const [name, { dtype, shape }] of Object.entries(model.signatures.serving_default)) {
    const value = dtype === "string" ? "" : dtype === "bool" ? false : 0;
    const axes = (shape ?? [null]).slice(1);
    row[name] = axes.length ? filled(axes, value) : value;
  }
  return [row];
}

function showCard(model) {
  const entries = {
    Name: model.name,
    Version: model.version,
    Variant: model.variant,
    Task: model.task,
    About: model.summary,
    Paper: model.paper,
    Parameters: model.parameters?.toLocaleString("en"),
    Classes: model.labels.length || undefined,
    Exported: model.created,
    Signatures: Object.keys(model.signatures).join(", "),
  };
  const nodes = [];
  for (const [term, value] of Object.entries(entries)) {
    if (value === undefined) continue;
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = term;
    dd.textContent = value;
    nodes.push(dt, dd);
  }
  byId("card").replaceChildren(...nodes);
}

function address(model) {
  return `${location.origin}/v1/models/${encodeURIComponent(model.name)}:${streams(model) ? "stream" : "predict"}`;
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function showCurl() {
  const model = chosen();
  if (!model) return;
  const login = token ? '-H "Authorization: Bearer $CANON_TOKEN" ' : "";
  if (kind(model) === "image") {
    const file = shellQuoted(picture?.name ?? "picture.png");
    const body = `{"signature_name":"bytes","instances":[{"b64":"%s"}]}`;
    byId("curl").textContent = `printf '${body}' "$(base64 < ${file} | tr -d '\\n')" | curl ${login}-d @- ${address(model)}`;
  } else {
    const unbuffered = streams(model) ? "-N " : "";
    byId("curl").textContent = `curl ${unbuffered}${login}-d ${shellQuoted(JSON.stringify(otherBody(model) ?? {}))} ${address(model)}`;
  }
}

// One row for `generate`: the text, and a seed where the model draws.
function writingRow(model) {
  const row = {};
  for (const name of Object.keys(model.signatures.generate)) row[name] = name === "seed" ? Number(byId("seed").value) : byId("text").value;
  return row;
}

function otherBody(model) {
  if (streams(model)) return writingRow(model);
  if (writes(model)) return { signature_name: "generate", instances: [writingRow(model)] };
  if (kind(model) === "text") return { signature_name: "bytes", instances: [byId("text").value] };
  try {
    return { instances: JSON.parse(byId("json").value) };
  } catch {
    return null;
  }
}

async function pictureBody() {
  const data = new Uint8Array(await (picture ?? (await drawing.encoded())).arrayBuffer());
  let text = "";
  for (let start = 0; start < data.length; start += 0x8000) text += String.fromCharCode(...data.subarray(start, start + 0x8000));
  return { signature_name: "bytes", instances: [{ b64: btoa(text) }] };
}

let asked = 0;

async function ask() {
  const model = chosen();
  if (!model) return;
  const turn = ++asked;
  const body = kind(model) === "image" ? await pictureBody() : otherBody(model);
  if (body === null) {
    showMessage("The rows are not valid JSON.", true);
    return;
  }
  const started = performance.now();
  try {
    const reply = await fetch(address(model), { method: "POST", headers: headers(), body: JSON.stringify(body) });
    if (reply.ok && streams(model)) {
      await showWriting(reply, turn, started);
      return;
    }
    const answer = await reply.json();
    if (turn !== asked) return; // a later question is under way
    const took = performance.now() - started;
    if (!reply.ok) showMessage(answer.error, true);
    else if (writes(model)) showText(answer.predictions[0], took);
    else showAnswer(model, answer.predictions, took);
  } catch (error) {
    if (turn === asked) showMessage(`The server cannot be reached (${error.message}).`, true);
  }
}

// Shows a text while it comes in; a later question ends it.
async function showWriting(reply, turn, started) {
  showMessage("Writing.");
  byId("classes").hidden = true;
  byId("raw").textContent = "";
  byId("raw").hidden = false;
  for await (const { text, error } of readEvents(reply)) {
    if (turn !== asked) return;
    if (error) {
      showMessage(error, true);
      return;
    }
    byId("raw").textContent += text ?? "";
  }
  if (turn === asked) showText(byId("raw").textContent, performance.now() - started);
}

function showText(text, took) {
  byId("classes").hidden = true;
  byId("raw").hidden = false;
  byId("raw").textContent = text;
  showMessage(`Answered in ${took.toFixed(0)} ms, there and back.`);
}

function showMessage(text, isError = false) {
  byId("message").textContent = text;
  byId("message").classList.toggle("error", isError);
  if (isError) hideAnswer();
}

function showNothing() {
  asked += 1;
  showMessage("Nothing asked yet.");
  hideAnswer();
}

function hideAnswer() {
  byId("classes").hidden = true;
  byId("raw").hidden = true;
}

function showAnswer(model, predictions, took) {
  const probabilities = predictions[0]?.probabilities;
  const classes = Array.isArray(probabilities) && typeof probabilities[0] === "number";
  byId("classes").hidden = !classes;
  byId("raw").hidden = classes;
  if (classes) showClasses(model, probabilities);
  else byId("raw").textContent = JSON.stringify(predictions, null, 1);
  showMessage(`Answered in ${took.toFixed(0)} ms, there and back.`);
}

function showClasses(model, probabilities) {
  const best = probabilities.map((probability, index) => ({ probability, name: model.labels[index] ?? `class ${index}` }));
  best.sort((one, other) => other.probability - one.probability);
  const rows = best.slice(0, TOP).map(({ probability, name }) => {
    const row = document.createElement("tr");
    const [title, bar, number] = [document.createElement("th"), document.createElement("td"), document.createElement("td")];
    title.scope = "row";
    title.textContent = name;
    const progress = document.createElement("progress");
    progress.max = 1;
    progress.value = probability;
    progress.setAttribute("aria-label", name);
    bar.append(progress);
    number.textContent = `${(100 * probability).toFixed(1)} %`;
    row.append(title, bar, number);
    return row;
  });
  byId("classes").tBodies[0].replaceChildren(...rows);
}

async function take(file) {
  try {
    drawing.show(await createImageBitmap(file));
  } catch {
    showMessage("The file is no picture that this browser can show.", true);
    return;
  }
  picture = file;
  showCurl();
  ask();
}

function allowDropping(field) {
  field.addEventListener("dragover", (event) => {
    event.preventDefault();
    field.classList.add("over");
  });
  field.addEventListener("dragleave", () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    field.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
}

async function copyCurl() {
  try {
    await navigator.clipboard.writeText(byId("curl").textContent);
    byId("copy").textContent = "Copied";
    setTimeout(() => (byId("copy").textContent = "Copy"), 1500);
  } catch {
    getSelection().selectAllChildren(byId("curl")); // no clipboard without https; the text is marked for Ctrl-C
  }
}

byId("model").addEventListener("change", showModel);
byId("clear").addEventListener("click", () => drawing.clear());
byId("ask").addEventListener("click", ask);
byId("copy").addEventListener("click", copyCurl);
for (const name of ["text", "seed", "json"]) byId(name).addEventListener("input", showCurl);
byId("file").addEventListener("change", (event) => event.target.files.length && take(event.target.files[0]));
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value;
  loadModels();
});
allowDropping(byId("drawing"));
loadModels();
