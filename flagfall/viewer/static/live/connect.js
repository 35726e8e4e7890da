// The events of the server, and whether they arrive.

/** Time until a connection that the browser has given up is tried again, in milliseconds. */
const RETRY_MS = 5000;

/**
 * Follow the events of the server for as long as the page is open. A browser connects again by itself after an
 * interruption; after a refusal it does not, and this does.
 * @param {string} url address of the events
 * @param {Object<string, function(Object): void>} handlers by the name of the event
 * @param {function(boolean): void} onState called with true when connected, and false when not
 */
export function connect(url, handlers, onState) {
  const source = new EventSource(url);
  source.onopen = () => onState(true);
  source.onerror = () => {
    onState(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(url, handlers, onState), RETRY_MS);
  };
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
}

/**
 * Send a command to the run.
 * @param {string} token token of the page
 * @param {Object} body the command
 * @returns {Promise<string>} a line that says why it was refused; empty if it was carried out
 */
export async function sendCommand(token, body) {
  try {
    const answer = await fetch("command", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Flagfall-Command": token },
      body: JSON.stringify(body),
    });
    return answer.ok ? "" : (await answer.text()).trim();
  } catch {
    return "The server of this page does not answer.";
  }
}
