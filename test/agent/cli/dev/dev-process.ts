import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { until } from "../../../support/until.js";

const project = join(import.meta.dirname, "../../../..");

/** A config of one pipeline with the processor `tag` of a plugin, on ports of its own. */
export const CONFIG = (plugin: string) => `plugins: [${plugin}]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {tag: {}}
exporters: {nop: {}}
extensions:
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  extensions: [admin, health_check]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], processors: [tag], exporters: [nop]}
`;

/** The processor \`tag\`: `first` runs for each record. */
export const PLUGIN = (first = "", imports = "") => `import { defineProcessor, eachRecord } from "sluice/plugin";
${imports}
export default defineProcessor({
  type: "tag",
  create: () =>
    eachRecord((record) => {
      ${first};
      return "keep";
    }),
});
`;

/** `sluice dev` as people run it, in a folder of its own, without a terminal. */
export interface DevProcess {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly output: { out: string; err: string };
  /** Resolves with the exit code, or the name of the signal. */
  readonly ended: Promise<number | string>;
  write(file: string, text: string): void;
  /** Sends a log record, and resolves with the status of the answer. */
  post(body: string): Promise<number>;
  /** Resolves when this has been printed to stderr, after what was waited for before. */
  says(text: string): Promise<void>;
}

interface DevOptions {
  readonly files: Readonly<Record<string, string>>;
  /** The folder of another run, instead of a new one. */
  readonly folder?: string;
  readonly args?: readonly string[];
  readonly command?: (program: readonly string[]) => readonly string[];
  /** Packages of this checkout that are beside the plugin. */
  readonly packages?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function startDev({ onTestFinished }: TestContext, options: DevOptions): DevProcess {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "sluice-dev-test-"));
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  for (const name of options.packages ?? [])
    symlinkSync(join(project, "node_modules", name), join(folder, "node_modules", name));
  for (const [file, text] of Object.entries({ "package.json": '{"type": "module"}', ...options.files }))
    write(file, text);
  const program = [
    process.execPath,
    join(project, "bin/sluice.js"),
    "dev",
    "--config",
    "c.yaml",
    ...(options.args ?? []),
  ];
  const [command, ...args] = options.command?.(program) ?? program;
  const child = spawn(command!, args, { cwd: folder, env: { ...process.env, ...options.env } });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const ended = new Promise<number | string>((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal!)));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  let heard = 0;
  return {
    ...{ child, folder, output, ended, write },
    async post(body) {
      const port = [...(output.err + output.out).matchAll(/http["\\]*[:=]"?127\.0\.0\.1:(\d+)/g)].at(-1)![1];
      const record = { body: { stringValue: body }, severityNumber: 9 };
      const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
        signal: AbortSignal.timeout(10_000),
      });
      return response.status;
    },
    says: (text) =>
      until(() => {
        const at = output.err.indexOf(text, heard);
        if (at < 0) throw new Error(`"${text}" was not said:\n${output.err.slice(heard)}`);
        heard = at + text.length;
      }),
  };
}
