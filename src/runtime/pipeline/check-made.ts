import type { ComponentKind } from "../contract/component.js";

/** What a factory's create must return, told by the methods it has. */
const METHODS: Readonly<Record<ComponentKind, readonly string[]>> = {
  receiver: ["start", "stop"],
  processor: [],
  exporter: ["send"],
  connector: [],
  extension: ["start", "stop"],
};

/** Gives back what was made, or throws in words for its author: what a plugin returns need not be what its types say. */
export function checkMade<T>(kind: ComponentKind, made: T): T {
  const methods = METHODS[kind];
  if (typeof (made as { then?: unknown } | undefined)?.then === "function") {
    throw new TypeError(
      "create is asynchronous; it returns the component at once, and what takes time belongs in start",
    );
  }
  if (methods.length === 0) {
    if (typeof made === "function") return made;
    throw new TypeError(
      `create returned ${describe(made)}; expected an operator: return eachRecord(...) or eachBatch(...)`,
    );
  }
  const missing = methods.filter((name) => typeof (made as Record<string, unknown> | undefined)?.[name] !== "function");
  if (missing.length === 0) return made;
  throw new TypeError(`create returned ${describe(made)} without ${missing.map((name) => `${name}()`).join(" and ")}`);
}

function describe(made: unknown): string {
  if (made === null || made === undefined) return "nothing";
  return typeof made === "object" ? "an object" : `a ${typeof made}`;
}
