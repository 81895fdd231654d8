import { builtins as loadBuiltins } from "../../src/runtime/host/builtins.js";

/** The components that come with Sluice, loaded. */
export const builtins = await loadBuiltins();
