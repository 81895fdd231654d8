import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

/** The output of a module, and the records that arrive from it. */
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
    stderr: /records emitted by the program were refused/,
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

/** These are about the end of the process: each has one to itself. The others run one after the other in one, which is quicker. */
const ENDS_THE_PROCESS = ["pino-worker.js", "pino-supervised.js"];

/** Runs programs in turn, and says on both outputs where each begins. */
const IN_TURN = `
import { writeSync } from "node:fs";
for (const file of process.argv.slice(2)) {
  for (const output of [1, 2]) writeSync(output, "==> " + file + "\\n");
  await import("./" + file);
}
`;

const partOf = (output: string, file: string) =>
  output
    .split(/^==> /m)
    .find((part) => part.startsWith(`${file}\n`))
    ?.slice(file.length) ?? "nothing: an earlier program failed";

/** Every block is a program that embeds Sluice and sends to a backend. */
export function programs(page: Page): void {
  let sink: OtlpSink;
  let folder: string;
  /** The output of the programs of the one process. */
  const said = new Map<string, { readonly stdout: string; readonly stderr: string }>();
  const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: folder });
  beforeAll(async () => {
    folder = folderOf(page);
    sink = await startSink();
    for (const { file, text } of page.blocks)
      writeFileSync(join(folder, file!), text.replaceAll("127.0.0.1:4318", `127.0.0.1:${sink.port}`));
    const together = page.blocks.map(({ file }) => file!).filter((file) => !ENDS_THE_PROCESS.includes(file));
    writeFileSync(join(folder, "in-turn.mjs"), IN_TURN);
    const { stdout, stderr } = await run("in-turn.mjs", ...together);
    for (const file of together) said.set(file, { stdout: partOf(stdout, file), stderr: partOf(stderr, file) });
  });
  afterAll(() => sink.close());

  it("has no program that is not tried", () => {
    expect(page.blocks.map(({ file }) => file).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(page.blocks)("runs $file", async ({ file }) => {
    const { stdout: prints = /^$/, stderr: complains = /^$/, arrives } = EXPECTED[file!]!;
    const { stdout, stderr } = said.get(file!) ?? (await run(file!));
    expect(stderr.trim()).toMatch(complains);
    expect(stdout.trim()).toMatch(prints);
    const logBodies = sink.batches.filter(({ signal }) => signal === "logs").flatMap(bodies);
    expect(logBodies).toEqual(expect.arrayContaining([...arrives]));
  });

  it("sends the SDK's other signals too", () => {
    expect(new Set(sink.batches.map(({ signal }) => signal))).toEqual(new Set(["logs", "traces", "metrics"]));
  });
}
