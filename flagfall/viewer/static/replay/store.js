// Data of a match: chunks and pictures, found by turn, kept while they are near, and read row by row.

/** Chunks that stay decoded: those of a zoomed lane, and of the list of events beside it. */
const NEAR_CHUNKS = 24;

/** Pictures that stay decoded: of the chunk shown and its neighbours. */
const NEAR_FRAMES = 3;

/** Time until something that could not be read is tried again, if it is still needed. */
const RETRY_MS = 5000;

/** Seats that are shown side by side; a page of more would draw slowly. */
export const MAX_SHOWN_SEATS = 12;

/**
 * Words of several lines in one.
 * @param {string} text any text
 * @returns {string}
 */
export function inOneLine(text) {
  return text.replace(/\s*\n\s*/g, " / ");
}

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
    this.isStale = false; // the match has grown since, and the chunk is read again
    this.ends = new Set(raw.ends);
    raw.turn.forEach((turn, row) => {
      if (this.turns[this.turns.length - 1] !== turn) this.turns.push(turn);
      this.rows.set(turn * seats + raw.seat[row], row);
    });
  }

  /** True if the turn is later than what was read, and is being read. */
  misses(turn) {
    return this.isStale && turn > (this.turns[this.turns.length - 1] ?? -1);
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

/** Data of a replay: the summary, and chunks and pictures as they arrive. */
export class Store {
  /**
   * @param {Object} source source of the replay
   * @param {Object} summary its summary
   */
  constructor(source, summary) {
    this.source = source;
    this.summary = summary;
    this.failures = new Map();
    this.chunks = new Recent(NEAR_CHUNKS);
    this.pictures = new Recent(NEAR_FRAMES);
    this.waiting = new Map();
    this.isContinuous = false; // its execution has told so
    this.listeners = new Set();
  }

  /** First and last turn of the match. */
  get span() {
    return this.summary.turn_span ?? [0, 0];
  }

  /** True for a match of bytes or bits, which is shown as a tape. */
  get isTape() {
    return this.summary.view === "bytes" || this.isContinuous;
  }

  /**
   * True if a task has ended after a turn, so that there is a last state to show; a tape has none.
   * @param {number} turn number of the turn
   * @returns {boolean}
   */
  hasEnd(turn) {
    if (this.isTape) return false;
    if (turn === this.span[1]) return Boolean(this.summary.chunks.at(-1)?.ends_task);
    return Boolean(this.chunks.get(this.chunkOf(turn))?.ends.has(turn));
  }

  /**
   * Number of the listed task that a turn belongs to.
   * @param {number} turn number of a turn
   * @returns {number} its place in `summary.tasks`
   */
  taskOf(turn) {
    const { tasks } = this.summary;
    let [low, high] = [0, tasks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tasks[middle].first_turn <= turn) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Turn beside which a print or a disqualification is shown; after the last turn it is that one.
   * @param {{turn: number|string}} fact its row in the summary
   * @returns {number}
   */
  shownTurn({ turn }) {
    return Math.min(Number(turn), this.span[1]);
  }

  /**
   * What the task of a turn calls its players; their pictures are fetched for it.
   * @param {number} turn number of the turn
   * @returns {string[]} by seat; empty where it has no words for them
   */
  players(turn) {
    return this.frames(this.chunkOf(turn))?.playersAt(turn) ?? [];
  }

  /**
   * Observation or action of a seat in words: those of the task where the match was executed, or the value.
   * @param {number} turn number of the turn
   * @param {number} seat number of the seat
   * @param {"observation"|"action"} name which of them
   * @returns {?{text: string, value: ?string}} the words, and the value if it has other words in the journal; null
   *   while the turn is not there, or where the seat was not asked
   */
  words(turn, seat, name) {
    const k = this.chunkOf(turn);
    const columns = this.chunks.get(k);
    const row = columns?.row(turn, seat) ?? -1;
    if (row < 0) return null;
    const value = columns.raw[name][row];
    const text = this.pictures.get(k)?.description(turn, seat, name) ?? null;
    return text === null ? { text: this.withCharacter(columns.raw, name, row), value: null } : { text, value };
  }

  /** Value of a row, on a tape with the character of a byte beside its number. */
  withCharacter(raw, name, row) {
    const [text, byte] = [raw[name][row], raw.numbers[name]?.[row] ?? null];
    if (!this.isTape || byte === null || byte < 32 || byte > 126) return text;
    return `${text}  ${byte === 32 ? "silence" : `“${String.fromCharCode(byte)}”`}`;
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
    if (found === undefined || found.isStale) this.load(k).catch(() => undefined);
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
    if (found && !found.isStale) return Promise.resolve(found);
    return this.once(`chunk ${k}`, () => this.read(k), (columns) => this.chunks.set(k, columns));
  }

  async read(k) {
    return new Columns(await this.source.chunk(k), this.summary.seats.length);
  }

  /**
   * Fetch a chunk for one look: it is not kept, so that those in view stay.
   * @param {number} k number of the chunk
   * @returns {Promise<Columns>}
   */
  look(k) {
    const found = this.chunks.map.get(k);
    return found && !found.isStale ? Promise.resolve(found) : this.read(k).catch(() => this.load(k));
  }

  /**
   * Look at chunks one after the other, while the page draws. One that cannot be read is tried again.
   * @param {function(number): boolean} isWanted decides whether a chunk is looked at
   * @param {function(?Columns, number): void} take called with a chunk and its number, or null if it was not read
   * @param {function(): boolean} isOver decides after each chunk whether to stop
   */
  async survey(isWanted, take, isOver) {
    for (let k = 0; k < this.summary.chunks.length; k++) {
      if (!isWanted(k)) continue;
      const columns = await this.look(k).catch(() => null); // a notice says why
      if (isOver()) return;
      take(columns, k);
      if (columns === null) k -= 1;
      await new Promise((done) => setTimeout(done, columns === null ? RETRY_MS : 0));
      if (isOver()) return;
    }
  }

  /**
   * Pictures of a chunk if they are there; otherwise they are fetched.
   * @param {number} k number of the chunk
   * @returns {Object|undefined}
   */
  frames(k) {
    if (!this.summary.pictures?.available) return undefined;
    const found = this.pictures.get(k);
    if (found === undefined || found === this.oldPictures) {
      const keep = (frames) => {
        this.pictures.set(k, frames);
        this.isContinuous ||= frames.continuous && frames.kind === "none";
      };
      this.once(`frames ${k}`, () => this.source.frames(k), keep).catch(() => undefined);
    }
    return found;
  }

  /** Read once at a time for each name, and call the listeners. */
  once(name, read, keep) {
    const running = this.waiting.get(name);
    if (running) return running;
    const work = async () => {
      try {
        const value = await read();
        keep(value);
        this.failures.delete(name);
        this.waiting.delete(name);
        return value;
      } catch (error) {
        this.failures.set(name, `Part of the replay cannot be read: ${error.message}`);
        setTimeout(() => {
          this.waiting.delete(name);
          this.failures.delete(name); // it may not be needed any more
          this.changed();
        }, RETRY_MS);
        throw error;
      } finally {
        this.changed();
      }
    };
    const promise = work();
    this.waiting.set(name, promise);
    return promise;
  }

  /** Why something cannot be read, or null. */
  get failure() {
    return this.failures.values().next().value ?? null;
  }

  /** Take a summary that has grown; what was read of its last chunk stays until it is read again. */
  grow(summary) {
    const last = this.summary.chunks.length - 1;
    this.summary = summary;
    const columns = this.chunks.map.get(last);
    if (columns) columns.isStale = true;
    this.oldPictures = this.pictures.map.get(last);
    this.changed();
  }

  changed() {
    for (const listener of this.listeners) listener();
  }
}
