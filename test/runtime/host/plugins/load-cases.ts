import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Problem } from "../../../../src/runtime/config/text/problem.js";

const project = join(import.meta.dirname, "../../../..");

/** A config and the files beside it. */
export interface LoadCase {
  readonly yaml: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Links, and the files or folders they lead to. */
  readonly links?: Readonly<Record<string, string>>;
  readonly plugins?: readonly string[];
}

export interface LoadAnswer {
  readonly valid: boolean;
  readonly problems: readonly Problem[];
  /** `kind type` of what came from plugins. */
  readonly types: readonly string[];
  readonly folder: string;
}

/**
 * Loads configs with their plugins by the built package, all in one process of its own: there `import` is Node's, and
 * the classes are those that people run.
 */
export async function loadCases(cases: Readonly<Record<string, LoadCase>>): Promise<Record<string, LoadAnswer>> {
  const root = mkdtempSync(join(tmpdir(), "sluice-plugins-"));
  const folders = Object.fromEntries(
    Object.entries(cases).map(([name, { yaml, files = {}, links = {} }], i) => {
      const folder = join(root, String(i));
      for (const [path, text] of Object.entries({ ...files, "config.yaml": yaml })) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      for (const [path, target] of Object.entries(links)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        symlinkSync(join(folder, target), join(folder, path));
      }
      return [name, { folder, plugins: cases[name]?.plugins ?? [] }];
    }),
  );
  const child = spawn(process.execPath, ["--input-type=module", "-e", SCRIPT, JSON.stringify(folders)], {
    cwd: project,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  await new Promise((resolve) => child.on("close", resolve));
  rmSync(root, { recursive: true, force: true });
  return JSON.parse(out) as Record<string, LoadAnswer>;
}

const SCRIPT = `
import { join } from "node:path";
import { builtins } from "./dist/agent/builtins/builtins.js";
import { loadConfigWithPlugins } from "./dist/runtime/host/plugins/load-config-with-plugins.js";
import { Registry } from "./dist/runtime/config/resolve/registry.js";
const answers = {};
for (const [name, { folder, plugins }] of Object.entries(JSON.parse(process.argv[1]))) {
  const sources = [{ file: join(folder, "config.yaml") }];
  const { config, problems, registry } = await loadConfigWithPlugins({ sources, registry: new Registry(await builtins()), plugins });
  const types = registry.all().filter((f) => registry.originOf(f) !== undefined).map((f) => f.kind + " " + f.type);
  answers[name] = { valid: config !== undefined, problems, types, folder };
}
console.log(JSON.stringify(answers));
process.exit();
`;

/** A config that has the plugins and the processors given, in a pipeline from otlp to nop. */
export function withPlugins(plugins: string, processors = "{}", used = "[]"): string {
  return `plugins: ${plugins}
receivers: {otlp: {protocols: {http: }}}
processors: ${processors}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], processors: ${used}, exporters: [nop]}}}
`;
}
