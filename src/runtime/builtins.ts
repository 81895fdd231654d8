import type { ComponentFactory } from "./contract/component.js";

/** The components that come with Sluice. */
export const builtins: readonly ComponentFactory[] = [];
