import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * Which room may import which. A file belongs to the longest key that its path begins with; a room may always import
 * itself. `src/plugin.ts` is the door that components use, so it shows what they may see of the runtime.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  "src/runtime/telemetry/": [],
  "src/runtime/contract/": ["src/runtime/telemetry/"],
  "src/runtime/net/": ["src/runtime/contract/"],
  "src/runtime/otlp/": ["src/runtime/contract/", "src/runtime/telemetry/"],
  "src/runtime/match/": ["src/runtime/contract/", "src/runtime/telemetry/"],
  "src/runtime/pii/": ["src/runtime/contract/", "src/runtime/match/", "src/runtime/telemetry/"],
  "src/runtime/pipeline/": ["src/runtime/contract/", "src/runtime/telemetry/"],
  "src/runtime/config/": [
    "src/runtime/contract/",
    "src/runtime/telemetry/",
    "src/runtime/ottl/",
    "src/runtime/registry.ts",
  ],
  "src/runtime/plugins/": [
    "src/runtime/contract/",
    "src/runtime/telemetry/",
    "src/runtime/config/",
    "src/runtime/registry.ts",
  ],
  "src/runtime/registry.ts": ["src/runtime/contract/"],
  "src/runtime/ottl/": ["src/runtime/contract/", "src/runtime/match/", "src/runtime/telemetry/"],
  "src/runtime/sampling/": ["src/runtime/contract/", "src/runtime/telemetry/"],
  "src/runtime/text/": [],
  "src/runtime/versioning/": ["src/runtime/contract/", "src/runtime/telemetry/"],
  "src/runtime/self-telemetry/": [
    "src/runtime/contract/",
    "src/runtime/config/",
    "src/runtime/net/",
    "src/runtime/text/",
  ],
  "src/runtime/agent.ts": ["src/runtime/contract/", "src/runtime/config/", "src/runtime/pipeline/"],
  // The list, and how to load only those that a config needs.
  "src/runtime/builtin": [
    "src/runtime/contract/",
    "src/runtime/config/",
    "src/runtime/registry.ts",
    "src/receivers/",
    "src/processors/",
    "src/exporters/",
    "src/connectors/",
    "src/extensions/",
  ],
  "src/runtime/embed/": ["src/runtime/"],
  "src/runtime/pino/": ["src/runtime/embed/", "src/runtime/contract/"],
  "src/runtime/sdk/": ["src/runtime/embed/", "src/runtime/contract/", "src/runtime/telemetry/"],
  // Tests take queues that are not on disk.
  "src/runtime/testing/": ["src/runtime/", "src/extensions/reliability/"],
  "src/runtime/cli/": ["src/runtime/"],
  // Without a running agent the command line works on the queues themselves.
  "src/runtime/cli/dlq/": ["src/runtime/", "src/extensions/reliability/"],
  "src/plugin.ts": [
    "src/runtime/contract/",
    "src/runtime/telemetry/",
    "src/runtime/net/",
    "src/runtime/otlp/",
    "src/runtime/ottl/",
    "src/runtime/sampling/",
    "src/runtime/text/",
    "src/runtime/match/",
    "src/runtime/pii/",
    "src/runtime/versioning/",
  ],
  "src/index.ts": ["src/plugin.ts", "src/runtime/"],
  "src/pino.ts": ["src/runtime/pino/"],
  "src/sdk.ts": ["src/runtime/sdk/"],
  "src/testing.ts": ["src/plugin.ts", "src/runtime/"],
};

/** A component is one file, or one folder; it sees the door and itself. */
const COMPONENT = /^src\/(receivers|processors|exporters|connectors|extensions)\/[^/]+(\/|$)/;

const project = join(import.meta.dirname, "..");
const sources = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" })
  .map((file) => `src/${file.replaceAll("\\", "/")}`)
  .filter((file) => file.endsWith(".ts"));

function importsOf(file: string): string[] {
  const text = readFileSync(join(project, file), "utf8");
  const found = text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*"([^"]+)"|import\("([^"]+)"\)/g);
  return [...found].map((match) => match[1] ?? match[2]!);
}

function targetOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return relative(project, join(project, dirname(file), specifier))
    .replaceAll("\\", "/")
    .replace(/\.js$/, ".ts");
}

function isAllowed(file: string, target: string): boolean {
  const component = COMPONENT.exec(file)?.[0];
  if (component !== undefined)
    return target === "src/plugin.ts" || (component.endsWith("/") && target.startsWith(component));
  const room = Object.keys(ROOMS)
    .filter((name) => file.startsWith(name))
    .sort((a, b) => b.length - a.length)[0];
  if (room === undefined) return false;
  return target.startsWith(room) || ROOMS[room]!.some((allowed) => target.startsWith(allowed));
}

describe("the architecture", () => {
  it("has only arrows that point the right way", () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .map((specifier) => targetOf(file, specifier))
        .filter((target) => target !== undefined && !isAllowed(file, target))
        .map((target) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("keeps the telemetry room free of rxjs and of every other package", () => {
    const foreign = sources
      .filter((file) => file.startsWith("src/runtime/telemetry/"))
      .flatMap((file) =>
        importsOf(file).filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:")),
      );
    expect(foreign).toEqual([]);
  });

  it("lets only the command line touch the process, and one file of the pino room hear of its end", () => {
    const touching = sources
      .filter((file) => !file.startsWith("src/runtime/cli/") && file !== "src/runtime/pino/at-exit.ts")
      .filter((file) => /process\.(exit|on|once|env|argv)\b/.test(readFileSync(join(project, file), "utf8")));
    expect(touching).toEqual([]);
  });
});
