// Data that stands in the page.

/**
 * Read a block of the page.
 * @param {string} id its id
 * @returns {*} the value of JSON, a Uint8Array for bytes, or undefined if there is no such block
 */
export function readBlock(id) {
  const element = document.getElementById(id);
  if (!(element instanceof HTMLScriptElement)) return undefined;
  if (element.type === "application/json") return JSON.parse(element.textContent);
  if (element.type !== "application/octet-stream") return undefined;
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/**
 * Decompress bytes of zlib's format (`zlib.compress` of Python).
 * @param {Uint8Array} bytes compressed bytes
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
