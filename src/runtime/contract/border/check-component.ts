import type { ComponentKind } from "../component.js";

/** The methods that the result of a factory's `create` must have. */
const REQUIRED_METHODS: Readonly<Record<ComponentKind, readonly string[]>> = {
  receiver: ["start", "stop"],
  processor: [],
  exporter: ["send"],
  connector: [],
  extension: ["start", "stop"],
};

/** Returns the component, or throws an error for its author, because a plugin may not return what its types promise. */
export function checkComponent<T>(kind: ComponentKind, component: T): T {
  const methods = REQUIRED_METHODS[kind];
  if (typeof (component as { then?: unknown } | undefined)?.then === "function") {
    throw new TypeError("create must not be asynchronous: return the component, and do slow work in start");
  }
  if (methods.length === 0) {
    if (typeof component === "function") return component;
    throw new TypeError(
      `create returned ${describe(component)}; expected an operator: return eachRecord(...) or eachBatch(...)`,
    );
  }
  const missing = methods.filter(
    (name) => typeof (component as Record<string, unknown> | undefined)?.[name] !== "function",
  );
  if (missing.length === 0) return component;
  throw new TypeError(
    `create returned ${describe(component)} without ${missing.map((name) => `${name}()`).join(" and ")}`,
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
