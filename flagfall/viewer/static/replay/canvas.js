// Canvases that are as sharp as the screen.

/**
 * Context of a canvas that has as many pixels as the screen shows of it, cleared.
 * @param {HTMLCanvasElement} canvas the canvas
 * @param {number} width width in pixels of the page
 * @param {number} height height in pixels of the page
 * @returns {CanvasRenderingContext2D}
 */
export function sizedContext(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
