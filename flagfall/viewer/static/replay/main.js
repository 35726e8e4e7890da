// The page of one replay.

import { el, fill } from "../common/dom.js";
import { openSource } from "./source.js";
import { mountReplay } from "./view.js";

const main = document.getElementById("page");
try {
  await mountReplay(main, await openSource());
} catch (error) {
  fill(main, el("p", { class: "notice bad", role: "alert" }, `This replay cannot be shown: ${error.message}`));
}
