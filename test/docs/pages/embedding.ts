import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

/** What a module prints, and what arrives of it. */
interface Expected {
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
  readonly arrives: readonly string[];
}
const EXPECTED: Readonly<Record<string, Expected>> = {
  "first.js": { arrives: ["order paid"] },
  "components.js": { arrives: ["from the eu"] },
  "problems.js": { stdout: /^1 13 exporters.otlp_htp there is no exporter.*"otlp_http"\?\n.*\[app\]/s, arrives: [] },
  "fail-on-error.js": {
    stdout: /^transient SLUICE_SHUTTING_DOWN$/,
    stderr: /emitted was refused/,
    arrives: ["payment approved", "payment sent"],
  },
  "operate.js": { stdout: /^ready otlp_http closed\napp 1\ndead letters: 0 0\n.*selected: 0/s, arrives: ["hello"] },
  "sdk.js": { arrives: ["from the SDK"] },
  "pino.js": { arrives: ["from pino"] },
  "pino-worker.js": { arrives: ["from pino's worker"] },
  "pino-supervised.js": { arrives: ["from a worker that is looked after"] },
  "stream.js": { arrives: ["from a stream"] },
  "console.js": { stdout: /^from the console$/, arrives: ["from the console"] },
};

/** Every block is a program that embeds Sluice and sends to a backend. */
export function programs(page: Page): void {
  let sink: OtlpSink;
  let folder: string;
  beforeAll(async () => {
    folder = folderOf(page);
    sink = await startSink();
  });
  afterAll(() => sink.close());

  it("has no program that is not tried", () => {
    expect(page.blocks.map(({ file }) => file).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(page.blocks)("runs $file", async ({ file, text }) => {
    const { stdout: prints = /^$/, stderr: complains = /^$/, arrives } = EXPECTED[file!]!;
    writeFileSync(join(folder, file!), text.replaceAll("127.0.0.1:4318", `127.0.0.1:${sink.port}`));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file!], { cwd: folder });
    expect(stderr).toMatch(complains);
    expect(stdout.trim()).toMatch(prints);
    const logBodies = sink.batches.filter(({ signal }) => signal === "logs").flatMap(bodies);
    expect(logBodies).toEqual(expect.arrayContaining([...arrives]));
  });

  it("sends the SDK's other signals too", () => {
    expect(new Set(sink.batches.map(({ signal }) => signal))).toEqual(new Set(["logs", "traces", "metrics"]));
  });
}
