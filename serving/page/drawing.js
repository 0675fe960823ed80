// The drawing field: white strokes on black, by pointer or by keyboard; a picture can be put on it.

const PEN = 22; // pixels, about a twelfth of the field, as a digit's stroke is in the usual data sets
const STEP = 8;

export class Drawing {
  // `changed` is called when a stroke is finished or the field is cleared.
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.changed = changed;
    this.at = { x: canvas.width / 2, y: canvas.height / 4 };
    this.down = false;
    this.empty = true;
    this.clear(false);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => this.lift());
    canvas.addEventListener("pointercancel", () => this.lift());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  clear(tell = true) {
    this.context.fillStyle = "#000";
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.empty = true;
    this.down = false;
    if (tell) this.changed();
  }

  // Shows a picture whole, in the middle of the field.
  show(image) {
    this.clear(false);
    const scale = Math.min(this.canvas.width / image.width, this.canvas.height / image.height);
    const [width, height] = [image.width * scale, image.height * scale];
    this.context.drawImage(image, (this.canvas.width - width) / 2, (this.canvas.height - height) / 2, width, height);
  }

  line(to) {
    const context = this.context;
    context.strokeStyle = "#fff";
    context.lineWidth = PEN;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(this.at.x, this.at.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    this.at = to;
    this.empty = false;
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) * this.canvas.width) / box.width,
      y: ((event.clientY - box.top) * this.canvas.height) / box.height,
    };
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.down = true;
    this.at = this.place(event);
    this.line(this.at);
  }

  move(event) {
    if (this.down) this.line(this.place(event));
  }

  lift() {
    if (!this.down) return;
    this.down = false;
    this.changed();
  }

  key(event) {
    const moves = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    if (event.key in moves) {
      const [x, y] = moves[event.key];
      const to = {
        x: Math.min(Math.max(this.at.x + x, 0), this.canvas.width),
        y: Math.min(Math.max(this.at.y + y, 0), this.canvas.height),
      };
      if (this.down) this.line(to);
      else this.at = to;
    } else if (event.key === " ") {
      if (this.down) this.lift();
      else {
        this.down = true;
        this.line(this.at);
      }
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
    } else {
      return;
    }
    event.preventDefault();
  }

  encoded() {
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }
}
