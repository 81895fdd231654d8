import { expect, it } from "vitest";
import type { ComponentFactory } from "../../../src/plugin.js";
import { builtins } from "../../support/builtins.js";
import type { Page } from "../pages.js";

/** The table of modes lists every component but extensions, once, with the mode that its factory declares. */
export function workers({ text }: Page): void {
  it("lists every component with its mode", () => {
    const table = text.slice(text.indexOf("<!-- modes -->"), text.indexOf("<!-- /modes -->"));
    const listed = table.split("\n").flatMap((line) => {
      const [, components = "", mode = ""] = line.split("|").map((cell) => cell.trim());
      const [kind = ""] = components.split(/s? /, 1);
      const types = [...components.matchAll(/`(\w+)`/g)].map((match) => match[1]!);
      return types.map((type) => `${kind} ${type}: ${mode.replaceAll("`", "")}`);
    });
    const declared = builtins.flatMap((factory) =>
      factory.kind === "extension" ? [] : [`${factory.kind} ${factory.type}: ${modesOf(factory)}`],
    );
    expect(listed.sort()).toEqual(declared.sort());
  });
}

function modesOf(factory: Exclude<ComponentFactory, { kind: "extension" }>): string {
  const { workers: mode = "each" } = factory;
  if (typeof mode === "string") return mode;
  return BY_CONFIG[factory.type] ?? "by its config";
}

/** The modes of components that choose by their config. */
const BY_CONFIG: Readonly<Record<string, string>> = {
  metric_start_time: "series or one",
  otlp: "each or one",
  span_metrics: "series or one",
};
