// Decoder of the pictures of a chunk. The format is described in flagfall/viewer/replay/frames.py.

import { inflate } from "../common/blocks.js";

const FRAMES_FORMAT = 2;

/**
 * Decode the pictures of a chunk.
 * @param {Uint8Array} bytes  the zlib stream
 * @returns {Promise<Frames>}
 */
export async function decodeFrames(bytes) {
  return new Frames(await inflate(bytes));
}

/** The pictures and texts of one chunk. */
export class Frames {
  /** @param {Uint8Array} data  the inflated bytes */
  constructor(data) {
    const length = new DataView(data.buffer, data.byteOffset, 4).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
    if (head.format !== FRAMES_FORMAT) {
      throw new Error(`pictures of format ${head.format}; this page reads format ${FRAMES_FORMAT}`);
    }
    this.kind = head.kind;
    this.why = head.why;
    this.texts = head.texts;
    this.continuous = head.continuous;
    this.players = head.players;
    const { turn, seat, observation, action } = head.described;
    const text = (number) => this.texts[number] ?? null;
    this.described = new Map(turn.map((one, row) =>
      [`${one} ${seat[row]}`, { observation: text(observation[row]), action: text(action[row]) }]));
    this.lengths = head.lengths;
    this.sceneOf = head.scene;
    let offset = 4 + length;
    this.scenes = head.scenes.map((scene) => {
      const bytes = scene.tiles * scene.tile * scene.tile * 3;
      const made = new FrameScene(scene, data.subarray(offset, offset + bytes));
      offset += bytes;
      return made;
    });
    this.width = Math.max(0, ...head.scenes.map((scene) => scene.width));
    this.height = Math.max(0, ...head.scenes.map((scene) => scene.height));
    this.numbers = { before: new Map(), end: new Map() };
    this.data = [];
    head.turns.forEach((turn, frame) => {
      this.numbers[head.which[frame] === "e" ? "end" : "before"].set(turn, frame);
      const bytes = head.scene[frame] < 0 ? 0 : head.lengths[frame];
      this.data.push(data.subarray(offset, offset + bytes));
      offset += bytes;
    });
  }

  /** Return whether there is a picture or a text of a turn. */
  has(turn, which = "before") {
    return this.numbers[which].has(turn);
  }

  /** Return the size of the picture of a turn, `{width, height}`; null where there is none. */
  size(turn, which = "before") {
    const scene = this.scenes[this.sceneOf[this.numbers[which].get(turn)]];
    return scene === undefined ? null : { width: scene.width, height: scene.height };
  }

  /**
   * Draw the picture of a turn at the left top of a canvas, and return whether there is one.
   * @param {CanvasRenderingContext2D} context
   * @param {number} turn
   * @param {"before"|"end"} which  before the action of the turn, or the end of the task
   */
  draw(context, turn, which = "before") {
    const frame = this.numbers[which].get(turn);
    const scene = this.scenes[this.sceneOf[frame]];
    if (scene === undefined) return false;
    if (this.scenes.length > 1) context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    context.putImageData(scene.picture(this.data, this.sceneOf, frame), 0, 0);
    return true;
  }

  /** Return the text of a turn; null where there is none. */
  text(turn, which = "before") {
    const frame = this.numbers[which].get(turn);
    return frame !== undefined && this.sceneOf[frame] < 0 ? this.texts[this.lengths[frame]] : null;
  }

  /** Return what the task says of the `observation` or `action` of a seat's turn; null where the chunk says it. */
  description(turn, seat, name) {
    return this.described.get(`${turn} ${seat}`)?.[name] ?? null;
  }

  /** Return the seats of a turn in the words of the task; an empty list where it has none. */
  playersAt(turn) {
    return this.players.findLast(([from]) => from <= turn)?.[1] ?? [];
  }
}

/** The pictures of one size. It keeps one decoded picture, and changes what differs from it. */
class FrameScene {
  constructor(head, tiles) {
    this.width = head.width;
    this.height = head.height;
    this.tile = head.tile;
    this.columns = Math.ceil(head.width / head.tile);
    this.places = this.columns * Math.ceil(head.height / head.tile);
    this.tiles = opaquePixels(tiles);
    this.image = null;
    // By place: the tile of the decoded frame, and the tile whose pixels are in the image.
    this.wanted = new Int32Array(this.places);
    this.drawn = new Int32Array(this.places).fill(-1);
    this.frame = -1;
  }

  /** Return the picture of a frame as ImageData, which the next call changes. */
  picture(data, sceneOf, frame) {
    this.seek(data, sceneOf, frame);
    this.image ??= new ImageData(this.width, this.height);
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let place = 0; place < this.places; place += 1) {
      if (this.drawn[place] !== this.wanted[place]) {
        this.copy(pixels, place, this.wanted[place]);
        this.drawn[place] = this.wanted[place];
      }
    }
    return this.image;
  }

  /** Decode the tiles of a frame, from the last key frame or from the frame that is decoded already. */
  seek(data, sceneOf, frame) {
    if (frame === this.frame) return;
    let first = frame;
    while (data[first][0] !== 1 && first - 1 !== this.frame) first -= 1;
    for (let next = first; next <= frame; next += 1) this.apply(data[next]);
    this.frame = frame;
  }

  apply(bytes) {
    const read = numberReader(bytes);
    if (read() === 1) {
      for (let place = 0; place < this.places; place += 1) this.wanted[place] = read();
      return;
    }
    let place = -1;
    for (let left = read(); left > 0; left -= 1) {
      place += 1 + read();
      this.wanted[place] = read();
    }
  }

  copy(pixels, place, number) {
    const { tile, width, height } = this;
    const left = (place % this.columns) * tile;
    const top = Math.floor(place / this.columns) * tile;
    const wide = Math.min(tile, width - left);
    const high = Math.min(tile, height - top);
    for (let row = 0; row < high; row += 1) {
      const from = (number * tile + row) * tile;
      pixels.set(this.tiles.subarray(from, from + wide), (top + row) * width + left);
    }
  }
}

/** Return pixels of three bytes as pixels of four, opaque, as canvases have them. */
function opaquePixels(colours) {
  const bytes = new Uint8Array((colours.length / 3) * 4);
  for (let from = 0, to = 0; from < colours.length; from += 3, to += 4) {
    bytes[to] = colours[from];
    bytes[to + 1] = colours[from + 1];
    bytes[to + 2] = colours[from + 2];
    bytes[to + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}

/** Return a function that reads one LEB128 number after another. */
function numberReader(bytes) {
  let at = 0;
  return () => {
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at];
      at += 1;
      number |= (byte & 127) << shift;
      if (byte < 128) return number;
    }
  };
}
