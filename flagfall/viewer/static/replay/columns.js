// Chunks of a match: found by turn, kept while they are near, and read row by row.

/** Chunks that stay decoded: those of a zoomed lane, and of the list of events beside it. */
const NEAR_CHUNKS = 24;

/** Pictures that stay decoded: of the chunk shown and its neighbours. */
const NEAR_FRAMES = 3;

/** Time until a part that could not be read is read again, in milliseconds. */
const REREAD_MS = 2000;

/** Rows of one chunk by turn and seat. */
class Columns {
  /**
   * @param {Object} raw the columns of the chunk
   * @param {number} seats number of seats of the match
   */
  constructor(raw, seats) {
    this.raw = raw;
    this.seats = seats;
    this.turns = [];
    this.rows = new Map();
    raw.turn.forEach((turn, row) => {
      if (this.turns[this.turns.length - 1] !== turn) this.turns.push(turn);
      this.rows.set(turn * seats + raw.seat[row], row);
    });
  }

  /**
   * Row of a seat in a turn.
   * @param {number} turn number of the turn
   * @param {number} seat number of the seat
   * @returns {number} the row, or -1 if the seat was not asked in that turn
   */
  row(turn, seat) {
    return this.rows.get(turn * this.seats + seat) ?? -1;
  }
}

/** Map of bounded size; what was used least recently goes first. */
class Recent {
  constructor(limit) {
    this.limit = limit;
    this.map = new Map();
  }

  get(key) {
    const value = this.map.get(key);
    if (value !== undefined) {
      this.map.delete(key);
      this.map.set(key, value);
    }
    return value;
  }

  set(key, value) {
    this.map.set(key, value);
    if (this.map.size > this.limit) this.map.delete(this.map.keys().next().value);
  }
}

/** What a replay reads: the summary, and chunks and pictures as they arrive. */
export class Store {
  /**
   * @param {Object} source source of the replay
   * @param {Object} summary its summary
   */
  constructor(source, summary) {
    this.source = source;
    this.summary = summary;
    this.failure = null;
    this.chunks = new Recent(NEAR_CHUNKS);
    this.pictures = new Recent(NEAR_FRAMES);
    this.waiting = new Map();
    this.listeners = new Set();
  }

  /** First and last turn of the match. */
  get span() {
    return this.summary.turn_span ?? [0, 0];
  }

  /**
   * Number of the chunk that holds a turn.
   * @param {number} turn number of a turn
   * @returns {number}
   */
  chunkOf(turn) {
    const { chunks } = this.summary;
    let [low, high] = [0, chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chunks[middle].first <= turn) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Chunk if it is there; otherwise it is fetched, and the listeners are called when it comes.
   * @param {number} k number of the chunk
   * @returns {Columns|undefined}
   */
  peek(k) {
    const found = this.chunks.get(k);
    if (found === undefined) this.load(k).catch(() => undefined);
    return found;
  }

  /**
   * Chunk that holds a turn, if it is there.
   * @param {number} turn number of a turn
   * @returns {Columns|undefined}
   */
  at(turn) {
    return this.summary.chunks.length ? this.peek(this.chunkOf(turn)) : undefined;
  }

  /**
   * Fetch a chunk.
   * @param {number} k number of the chunk
   * @returns {Promise<Columns>}
   */
  load(k) {
    const found = this.chunks.get(k);
    if (found) return Promise.resolve(found);
    const read = async () => new Columns(await this.source.chunk(k), this.summary.seats.length);
    return this.once(`chunk ${k}`, read, (columns) => this.chunks.set(k, columns));
  }

  /**
   * Pictures of a chunk if they are there; otherwise they are fetched.
   * @param {number} k number of the chunk
   * @returns {Object|undefined}
   */
  frames(k) {
    if (!this.summary.pictures?.available) return undefined;
    const found = this.pictures.get(k);
    if (found === undefined) {
      this.once(`frames ${k}`, () => this.source.frames(k), (frames) => this.pictures.set(k, frames)).catch(() => undefined);
    }
    return found;
  }

  /** Do one read at a time for each name, and tell the listeners; one that has failed is tried again later. */
  once(name, read, keep) {
    const running = this.waiting.get(name);
    if (running) return running;
    const work = async () => {
      try {
        const value = await read();
        keep(value);
        this.waiting.delete(name);
        this.failure = null;
        this.changed();
        return value;
      } catch (error) {
        this.failure = `Part of the replay cannot be read: ${error.message}`;
        this.changed();
        setTimeout(() => this.retry(name), REREAD_MS);
        throw error;
      }
    };
    const promise = work();
    this.waiting.set(name, promise);
    return promise;
  }

  /** Let a read that has failed be tried again; a listener that still needs it asks for it. */
  retry(name) {
    this.waiting.delete(name);
    this.changed();
  }

  /** Take a summary that has grown; what was read of its last chunk is read again. */
  grow(summary) {
    const last = this.summary.chunks.length - 1;
    this.summary = summary;
    this.chunks.map.delete(last);
    this.pictures.map.delete(last);
    this.changed();
  }

  changed() {
    for (const listener of this.listeners) listener();
  }
}
