import { builtins as loadBuiltins } from "../../src/agent/builtins/builtins.js";

/** The components that come with Sluice, loaded. */
export const builtins = await loadBuiltins();
