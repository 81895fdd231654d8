import { appendFileSync, copyFileSync, existsSync, renameSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";

/** `SLUICE_ROTATIONS=200 npx vitest run test/receivers/file-log/kills.slow.test.ts` is the long form. */
const ROTATIONS = Number(process.env.SLUICE_ROTATIONS ?? 15);
const ROTATIONS_A_LIFE = 3;

/** A file that a program writes, and that is rotated as logrotate does it. */
class RotatedFile {
  readonly written: string[] = [];
  private readonly path: string;
  private readonly mode: "create" | "copytruncate";
  private rotations = 0;

  constructor(path: string, mode: "create" | "copytruncate") {
    this.path = path;
    this.mode = mode;
  }

  write(count: number): void {
    const lines = Array.from(
      { length: count },
      (_, i) => `${this.mode} ${this.written.length + i} ${"x".repeat(i % 50)}`,
    );
    this.written.push(...lines.map((line) => line.trim()));
    appendFileSync(this.path, `${lines.join("\n")}\n`);
  }

  /** a.log.1 becomes a.log.2 and so on, and a.log becomes a.log.1. */
  rotate(): void {
    this.rotations++;
    for (let i = this.rotations - 1; i > 0; i--) {
      if (existsSync(`${this.path}.${i}`)) renameSync(`${this.path}.${i}`, `${this.path}.${i + 1}`);
    }
    if (this.mode === "create") renameSync(this.path, `${this.path}.1`);
    else {
      copyFileSync(this.path, `${this.path}.1`);
      truncateSync(this.path);
    }
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it("loses no line over rotations and kills", async () => {
  const folder = temporaryFolder();
  const sink = await startSink();
  const yaml = `
receivers:
  file_log:
    include: ["${folder}/*.log*"]
    start_at: beginning
    poll_interval: 20ms
    offsets_directory: ${join(folder, "offsets")}
exporters:
  otlp_http: { endpoint: "${sink.url}" }
extensions:
  reliability: { directory: ${join(folder, "queue")} }
  health_check: { endpoint: "127.0.0.1:0" }
  admin: { endpoint: "127.0.0.1:0" }
service:
  extensions: [reliability, health_check, admin]
  telemetry: { metrics: { level: none } }
  pipelines:
    logs: { receivers: [file_log], exporters: [otlp_http] }
`;
  const files = [
    new RotatedFile(join(folder, "a.log"), "create"),
    new RotatedFile(join(folder, "b.log"), "copytruncate"),
  ];
  for (const file of files) file.write(50);
  let agent: AgentProcess | undefined;
  for (let rotations = 0; rotations < ROTATIONS; ) {
    agent = await startAgentProcess({ yaml });
    for (let i = 0; i < ROTATIONS_A_LIFE && rotations < ROTATIONS; i++, rotations++) {
      for (const file of files) {
        file.write(1 + ((rotations * 37) % 200));
        await pause((rotations * 7) % 40);
        file.write(100);
        file.rotate();
        file.write(20);
      }
    }
    await pause((rotations * 13) % 50);
    agent.child.kill("SIGKILL");
    await agent.exited;
    for (const file of files) {
      file.write(10);
      if (rotations % 2 === 0) file.rotate();
      file.write(10);
    }
  }
  agent = await startAgentProcess({ yaml });
  const wanted = new Set(files.flatMap(({ written }) => written));
  const received = () => new Set(sink.batches.flatMap(bodies));
  await until(() => expect(lost(wanted, received())).toBe(0));
  agent.child.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  await sink.close();
});

function lost(wanted: ReadonlySet<string>, received: ReadonlySet<string>): number {
  return [...wanted].filter((line) => !received.has(line)).length;
}
