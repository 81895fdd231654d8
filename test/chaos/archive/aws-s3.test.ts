import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { s3Environment } from "../../support/servers/s3/s3.js";
import { S3Emulator, type S3Fault } from "../../support/servers/s3/s3-emulator.js";
import { runCampaign } from "../campaign.js";
import { agentConfig } from "../configs.js";
import type { FaultySink, Mood } from "../faulty-sink.js";
import { Ledger } from "../ledger.js";
import { kills, patience, progress, seed, summary } from "../long-form.js";
import { decodeNumbers } from "../numbered.js";
import { Victim } from "../victim.js";

let directory: string;
let emulator: S3Emulator;
let victim: Victim | undefined;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-s3-"));
  emulator = await new S3Emulator("archive").start();
  Object.assign(process.env, s3Environment);
});

afterEach(async () => {
  await victim?.end("SIGKILL");
  await emulator.close();
  for (const name of Object.keys(s3Environment)) delete process.env[name];
  rmSync(directory, { recursive: true, force: true });
});

/** Records have arrived if the objects of the bucket hold them now, however often they were stored. */
class ArchiveLedger extends Ledger {
  private readonly known = new Map<string, { readonly body: Buffer; readonly numbers: readonly number[] }>();

  /** Counts what the objects hold. To be called once, at the end. */
  count(): void {
    for (const numbers of this.archived()) this.arrive(numbers);
  }

  override missing(): number[] {
    const archived = new Set(this.archived().flat());
    return super.missing().filter((number) => !archived.has(number));
  }

  private archived(): (readonly number[])[] {
    return emulator.objects("archive").map(([key, { body }]) => {
      const known = this.known.get(key);
      if (known?.body === body) return known.numbers;
      const numbers = decodeNumbers(gunzipSync(body));
      this.known.set(key, { body, numbers });
      return numbers;
    });
  }
}

const FAULTS: Readonly<Record<Mood, readonly (S3Fault | undefined)[]>> = {
  ok: [undefined],
  slow: [undefined, "503 SlowDown"],
  unavailable: ["503 ServiceUnavailable"],
  throttled: ["503 SlowDown"],
  hangs: ["hang"],
  resets: ["cut"],
  "forgets to answer": ["cut_after", "fail_after"],
};

/** The emulator in the moods of a backend. "unavailable" also closes its port now and then. */
function moodyS3(): FaultySink {
  let mood: Mood = "ok";
  let turn = 0;
  emulator.fault = () => {
    const faults = FAULTS[mood];
    return faults[turn++ % faults.length];
  };
  return {
    url: emulator.endpoint,
    port: emulator.port,
    get mood() {
      return mood;
    },
    set mood(wanted) {
      mood = wanted;
      if (wanted === "unavailable" && turn % 2 === 0) void emulator.outage(100);
    },
    get requests() {
      return emulator.calls.length;
    },
    close: () => emulator.close(),
  };
}

it("archives what it acknowledged in S3 once, whenever it is killed and whatever S3 does", {
  timeout: patience(600_000),
}, async () => {
  const ledger = new ArchiveLedger();
  const sink = moodyS3();
  victim = Victim.agent(directory, archiveConfig(sink.url, join(directory, "queue")));
  const report = await runCampaign({ seed, ledger, sink, victim, kills: kills(8, 0.1), say: progress });
  ledger.count();
  const verdict = { ...report, ...ledger.verdict(), objects: emulator.objects("archive").length };
  expect(verdict, summary("archive in S3", verdict)).toMatchObject({
    missing: 0,
    unexplained: 0,
    rejected: 0,
    strays: 0,
  });
  expect(report.acknowledged).toBeGreaterThan(0);
  // Several requests share an object; otherwise nothing would have been put to the test.
  expect(verdict.objects).toBeLessThan(emulator.calls.length + 1);
});

/** The agent of the other campaigns, with another exporter. */
function archiveConfig(endpoint: string, queue: string): object {
  const config = agentConfig({ backend: endpoint, queue, batch: false }) as {
    exporters: { otlphttp: { endpoint: string; compression: string } };
    service: { pipelines: { logs: object } };
  };
  const { endpoint: _, compression: __, ...reliability } = config.exporters.otlphttp;
  const aws_s3 = {
    ...reliability,
    sending_queue: { num_consumers: 4, batch: { flush_timeout: "20ms", min_size: 40_000, sizer: "bytes" } },
    s3uploader: { endpoint, s3_bucket: "archive", s3_force_path_style: true, compression: "gzip" },
  };
  return {
    ...config,
    exporters: { aws_s3 },
    service: { ...config.service, pipelines: { logs: { ...config.service.pipelines.logs, exporters: ["aws_s3"] } } },
  };
}
