// The world as pictures: crisp pixels, in whole multiples of their size where the room allows it.

import { el } from "../common/dom.js";

/** Largest share of the window's height that a picture takes. */
const HEIGHT_SHARE = 0.56;

/** Largest picture in pixels of the page, so that a small board does not become a wall. */
const LARGEST = 720;

/**
 * Size at which to show a picture: a whole multiple of its device pixels if one fits, otherwise smaller.
 * @param {number} width width of the picture
 * @param {number} height height of the picture
 * @param {number} roomWidth pixels of the page that are free
 * @param {number} roomHeight pixels of the page that are free
 * @param {number} [density] device pixels for each pixel of the page
 * @returns {{width: number, height: number}} size in pixels of the page
 */
export function fitted(width, height, roomWidth, roomHeight, density = 1) {
  const scale = Math.min(roomWidth / width, roomHeight / height, Math.max(1, LARGEST / Math.max(width, height)));
  const device = scale * density;
  const whole = device >= 1 ? Math.floor(device) / density : scale;
  return { width: width * whole, height: height * whole };
}

/** Picture of a turn on a canvas. */
export class PictureView {
  constructor() {
    this.canvas = el("canvas", { class: "picture", role: "img", "aria-label": "Picture of the world" });
    this.element = el("div", { class: "picture-room" }, this.canvas);
    this.shown = null;
    this.sized = "";
  }

  /**
   * Draw the picture of a turn.
   * @param {Object} frames pictures of its chunk
   * @param {number} turn number of the turn
   * @param {"before"|"end"} which before the turn's action, or the end of the task
   * @returns {boolean} false if there is no picture of it
   */
  draw(frames, turn, which) {
    const size = frames.size(turn, which);
    if (size === null) return false;
    this.resize(size);
    const key = `${turn} ${which}`;
    if (this.shown === key) return true;
    frames.draw(this.canvas.getContext("2d"), turn, which);
    this.canvas.dataset.turn = String(turn);
    this.shown = key;
    return true;
  }

  /** Fit the canvas into the room that the page leaves. */
  resize({ width, height }) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.shown = null;
    }
    const roomWidth = this.element.clientWidth || width;
    const roomHeight = Math.max(200, window.innerHeight * HEIGHT_SHARE);
    const key = `${width} ${height} ${roomWidth} ${roomHeight} ${devicePixelRatio}`;
    if (key === this.sized) return;
    this.sized = key;
    const size = fitted(width, height, roomWidth, roomHeight, devicePixelRatio);
    this.canvas.style.width = `${size.width}px`;
    this.canvas.style.height = `${size.height}px`;
  }
}
