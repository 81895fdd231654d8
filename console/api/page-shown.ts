import { Value } from "./value.js";

/** Whether somebody can see this page: in a tab behind others nothing is asked for. */
export const pageShown = new Value(document.visibilityState === "visible");

document.addEventListener("visibilitychange", () => pageShown.set(document.visibilityState === "visible"));
