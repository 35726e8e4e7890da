// The connection of the page: a WebSocket that is opened again when it is lost.

/** Codes with which the server closes: see `flagfall/viewer/play/host.py`. */
const TAKEN = 4001;
const MOVED = 4002;

/** Pauses before the page connects again, in milliseconds; after the last one it gives up. */
const PAUSES = [200, 500, 1000, 1000, 2000, 2000, 4000, 4000, 8000, 8000];

/** Name of this tab: the same after a reload, another one in every other tab. */
function tabName() {
  const kept = sessionStorage.getItem("flagfall-tab");
  if (kept) return kept;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const name = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("flagfall-tab", name);
  return name;
}

/**
 * Connect to the match, and stay connected.
 * @param {{message: function(Object, ?Blob): void, state: function(string): void}} listener takes each message
 *   with the picture that came before it, and the state: "open", "lost", "gone", "taken" or "moved"
 * @returns {{send: function(Object): boolean, close: function(): void, again: function(): void}}
 */
export function connect(listener) {
  let socket = null;
  let picture = null;
  let failures = 0;
  let done = false;

  const open = () => {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.search = `?tab=${tabName()}`;
    socket = new WebSocket(address);
    socket.addEventListener("message", take);
    socket.addEventListener("close", closed);
  };

  const take = ({ data }) => {
    if (data instanceof Blob) {
      picture = data;
      return;
    }
    failures = 0;
    const message = JSON.parse(data);
    if (message.type === "stage") listener.state("open");
    listener.message(message, message.picture ? picture : null);
  };

  const closed = ({ code }) => {
    if (done) return;
    const state = { [TAKEN]: "taken", [MOVED]: "moved" }[code];
    const pause = PAUSES[failures];
    failures += 1;
    if (state || pause === undefined) {
      listener.state(state ?? "gone");
      return;
    }
    listener.state("lost");
    setTimeout(open, pause);
  };

  open();
  return {
    send: (message) => {
      const ready = socket.readyState === WebSocket.OPEN;
      if (ready) socket.send(JSON.stringify(message));
      return ready;
    },
    close: () => {
      done = true;
      socket.close();
    },
    again: () => {
      failures = 0;
      open();
    },
  };
}
