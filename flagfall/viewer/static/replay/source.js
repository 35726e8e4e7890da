// Where the data of a replay comes from: blocks of the page, or the server that sent the page.

import { inflate, readBlock } from "../common/blocks.js";
import { decodeFrames } from "./frames.js";

/** Chunks of turns, and chunks of pictures, that are kept decoded. */
const KEPT_CHUNKS = 4;

/** Time between two looks at a match that is being played, and at one without an end, in milliseconds. */
const GROWING_MS = 1000;
const TRUNCATED_MS = 10000;

/**
 * @typedef {Object} Source
 * @property {function(): Promise<Object>} summary the summary
 * @property {function(number): Promise<Object>} chunk turns and events of a chunk
 * @property {function(number): Promise<Frames>} frames pictures of a chunk
 * @property {function(function(Object): void): function(): void} subscribe calls the listener with each new
 *   summary while the match grows, or is played again, and returns a function that ends that
 */

/**
 * Open the data of a replay.
 * @param {string} [prefix] beginning of the ids of its blocks, where a page holds several replays
 * @returns {Promise<Source>}
 */
export async function openSource(prefix = "") {
  const summary = readBlock(`${prefix}summary`);
  return summary === undefined ? new ServedSource("data/") : new EmbeddedSource(prefix, summary);
}

/**
 * Whether a summary is of another attempt to play the same match: it began at another time.
 * @param {Object} now a summary
 * @param {?Object} before an earlier summary
 * @returns {boolean}
 */
export function isPlayedAgain(now, before) {
  return now.match.begun !== before?.match.begun;
}

/** Values that were asked for last, by key; promises, so that a value is made once. */
class KeptPromises {
  constructor() {
    this.kept = new Map();
  }

  /** Return what is kept for a key, or what `make` returns. */
  get(key, make) {
    const found = this.kept.get(key) ?? make();
    this.kept.delete(key);
    this.kept.set(key, found);
    found.catch(() => this.kept.get(key) === found && this.kept.delete(key));
    if (this.kept.size > KEPT_CHUNKS) this.kept.delete(this.kept.keys().next().value);
    return found;
  }
}

/** Data in the blocks of the page. */
class EmbeddedSource {
  constructor(prefix, summary) {
    this.prefix = prefix;
    this.whole = summary;
    this.chunks = new KeptPromises();
    this.pictures = new KeptPromises();
  }

  async summary() {
    return this.whole;
  }

  chunk(number) {
    return this.chunks.get(number, async () => {
      const text = await inflate(this.block("chunk", number));
      return JSON.parse(new TextDecoder().decode(text));
    });
  }

  frames(number) {
    return this.pictures.get(number, async () => decodeFrames(this.block("frames", number)));
  }

  block(kind, number) {
    const bytes = readBlock(`${this.prefix}${kind}-${number}`);
    if (bytes === undefined) throw new Error(`this page does not hold part ${number} of the match`);
    return bytes;
  }

  subscribe() {
    return () => {};
  }
}

/** Data of the server. */
class ServedSource {
  constructor(base) {
    this.base = base;
    this.latest = null;
    this.chunks = new KeptPromises();
    this.pictures = new KeptPromises();
    this.listeners = new Set();
    this.timer = null;
  }

  async summary() {
    this.latest = await (await this.fetch("summary")).json();
    return this.latest;
  }

  chunk(number) {
    return this.chunks.get(this.key(number), async () => (await this.fetch(`chunk/${number}`)).json());
  }

  frames(number) {
    return this.pictures.get(this.key(number), async () =>
      decodeFrames(new Uint8Array(await (await this.fetch(`frames/${number}`)).arrayBuffer())),
    );
  }

  /** The key of a chunk as it is now: the last one grows with the match. */
  key(number) {
    const chunk = this.latest?.chunks[number];
    const isLast = number + 1 >= (this.latest?.chunks.length ?? 0);
    return `${number} ${chunk?.turns} ${isLast ? this.latest?.state : ""}`;
  }

  async fetch(path) {
    const response = await fetch(this.base + path);
    if (!response.ok) throw new Error((await response.text()).trim().slice(0, 500) || `status ${response.status}`);
    return response;
  }

  subscribe(listener) {
    this.listeners.add(listener);
    this.plan();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) clearTimeout(this.timer);
    };
  }

  /** Look again after a while, as long as there may be something new for a listener. */
  plan() {
    clearTimeout(this.timer);
    const wait = { growing: GROWING_MS, truncated: TRUNCATED_MS }[this.latest?.state ?? "growing"];
    if (wait === undefined || this.listeners.size === 0) return;
    this.timer = setTimeout(() => this.look(), wait);
  }

  async look() {
    const before = this.latest;
    try {
      const now = await this.summary();
      const isAgain = isPlayedAgain(now, before);
      if (isAgain) {
        this.chunks = new KeptPromises();
        this.pictures = new KeptPromises();
      } else if (now.state === "growing" && now.turns < before.turns) {
        this.latest = before; // the server reads the journal anew
      }
      const isNew = isAgain || (this.latest === now && (now.turns !== before?.turns || now.state !== before?.state
        || now.state_detail !== before?.state_detail));
      if (isNew) for (const listener of this.listeners) listener(now);
    } catch {
      // The server may come back.
    }
    this.plan();
  }
}
