"use strict";

const pad = document.getElementById("pad");
const pen = pad.getContext("2d");
const image = document.getElementById("image");
const answer = document.getElementById("answer");
const hint = document.getElementById("hint");
const state = document.getElementById("status");
const ink = () => getComputedStyle(document.body).color;

let strokes = []; // lists of [x, y] in the canvas's pixels
let drawing = false;
let waiting = false; // for the next frame, which asks the network

const bars = Array.from({length: 10}, (_, digit) => {
  const item = document.createElement("li");
  item.innerHTML = `<span>${digit}</span><span class="track"><span class="bar"></span></span><span class="share"></span>`;
  document.getElementById("bars").append(item);
  return {item, bar: item.querySelector(".bar"), share: item.querySelector(".share")};
});

function place(event) {
  const box = pad.getBoundingClientRect();
  return [(event.clientX - box.left) * pad.width / box.width, (event.clientY - box.top) * pad.height / box.height];
}

function show(probabilities) {
  const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
  answer.value = probabilities ? best : "–";
  bars.forEach(({item, bar, share}, digit) => {
    const p = probabilities ? probabilities[digit] : 0;
    item.classList.toggle("best", digit === best);
    bar.style.width = `${100 * p}%`;
    share.textContent = probabilities ? `${(100 * p).toFixed(1)} %` : "";
  });
}

function showImage(pixels) {
  const context = image.getContext("2d");
  const side = image.width / 8;
  context.clearRect(0, 0, image.width, image.height);
  context.fillStyle = ink();
  pixels.forEach((value, i) => {
    context.globalAlpha = value / 16;
    context.fillRect(i % 8 * side, Math.floor(i / 8) * side, side, side);
  });
  context.globalAlpha = 1;
}

function paint() {
  pen.clearRect(0, 0, pad.width, pad.height);
  pen.lineWidth = 36;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = ink();
  for (const stroke of strokes) {
    pen.beginPath();
    pen.moveTo(...stroke[0]);
    stroke.forEach(point => pen.lineTo(...point));
    pen.stroke();
  }
}

function ask() {
  waiting = false;
  paint();
  hint.hidden = strokes.length > 0;
  hint.style.display = strokes.length > 0 ? "none" : "";
  if (!window.recognize) {
    return;
  }
  const start = performance.now();
  const result = window.recognize(strokes);
  if (typeof result === "string") {
    state.textContent = result;
    return;
  }
  show(result && result.probabilities);
  showImage(result ? result.image : []);
  if (result) {
    state.textContent = `read in ${(performance.now() - start).toFixed(1)} ms`;
  }
}

function later() {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(ask);
  }
}

pad.addEventListener("pointerdown", event => {
  pad.setPointerCapture(event.pointerId);
  drawing = true;
  strokes.push([place(event)]);
  later();
});
pad.addEventListener("pointermove", event => {
  if (drawing) {
    strokes.at(-1).push(...(event.getCoalescedEvents?.() ?? [event]).map(place));
    later();
  }
});
for (const end of ["pointerup", "pointercancel"]) {
  pad.addEventListener(end, () => { drawing = false; });
}
document.getElementById("clear").addEventListener("click", () => {
  strokes = [];
  state.textContent = "ready";
  later();
});

// ready is called by the program when it can be asked, with an error's text or null.
window.ready = error => {
  state.textContent = error ?? "ready";
  later();
};

const go = new Go();
WebAssembly.instantiateStreaming(fetch("draw.wasm"), go.importObject)
  .then(result => go.run(result.instance))
  .catch(error => { state.textContent = `could not load: ${error}`; });
