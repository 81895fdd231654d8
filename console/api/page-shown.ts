import { Value } from "./value.js";

/** Whether this page is visible: a hidden tab sends no requests. */
export const pageShown = new Value(document.visibilityState === "visible");

document.addEventListener("visibilitychange", () => pageShown.set(document.visibilityState === "visible"));
