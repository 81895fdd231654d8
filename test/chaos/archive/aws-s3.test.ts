import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { s3Environment } from "../../support/servers/s3/s3.js";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { runCampaignOf } from "../campaign.js";
import { startClients } from "../client.js";
import { agentConfig } from "../configs.js";
import { deadLetters } from "../dead-letters.js";
import { kills, patience, progress, seed, summary } from "../long-form.js";
import { decodeNumbers } from "../numbered.js";
import { RecordBook } from "../record-book.js";
import { Victim } from "../victim.js";
import { MOODY_SERVERS, type MoodyS3 } from "./moody-s3.js";

let directory: string;
let server: MoodyS3 | undefined;
let victim: Victim | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-s3-"));
  Object.assign(process.env, s3Environment);
  useEnvironment(s3Environment);
});

afterEach(async () => {
  await victim?.end("SIGKILL");
  await server?.close();
  for (const name of Object.keys(s3Environment)) delete process.env[name];
  useEnvironment({});
  rmSync(directory, { recursive: true, force: true });
});

/** A record has arrived if an object of the bucket holds it now, however often that object was stored. */
class ArchiveBook extends RecordBook {
  private readonly s3: MoodyS3;
  private readonly unpack: (body: Buffer) => Buffer;
  private readonly archived = new Map<string, readonly number[]>();
  private seen = new Set<number>();
  private isReading = true;
  private readonly reading: Promise<void>;

  constructor(s3: MoodyS3, unpack: (body: Buffer) => Buffer) {
    super();
    this.s3 = s3;
    this.unpack = unpack;
    this.reading = this.readOnAndOn();
  }

  /** The size of the largest object. */
  largest = 0;

  get objects(): number {
    return this.archived.size;
  }

  /** Counts what the objects hold. To be called once, at the end. */
  async count(): Promise<void> {
    this.isReading = false;
    await this.reading;
    await this.read();
    for (const numbers of this.archived.values()) this.arrive(numbers);
  }

  override missing(): number[] {
    return super.missing().filter((number) => !this.seen.has(number));
  }

  private async readOnAndOn(): Promise<void> {
    while (this.isReading) {
      // The server may be down. Half an object fails at the end, when everything is read.
      if (this.s3.mood === "ok") await this.read().catch(() => {});
      await delay(100);
    }
  }

  private async read(): Promise<void> {
    await this.s3.refresh((key, body) => {
      const numbers = decodeNumbers(this.unpack(body));
      if (numbers.length === 0) throw new Error(`${key} has no records`);
      this.largest = Math.max(this.largest, body.length);
      this.archived.set(key, numbers);
      for (const number of numbers) this.seen.add(number);
    });
  }
}

interface Shape {
  readonly name: string;
  readonly kills: number;
  readonly isLarge: boolean;
  readonly marshaler: "otlp_proto" | "otlp_json";
  readonly compression: "gzip" | "none";
  readonly padding?: string;
  readonly minSize: number;
  readonly flushTimeout: string;
  readonly timeout: string;
  /** Records that each life acknowledges at least. */
  readonly load: number;
}

const SMALL: Shape = {
  ...{ name: "archive in S3", kills: kills(8, 0.1), isLarge: false, marshaler: "otlp_proto", compression: "gzip" },
  ...{ minSize: 40_000, flushTimeout: "20ms", timeout: "1s", load: 300 },
};
/** Entries of 10 MB and more are 20 MB as JSON, which escapes the quotes. Such objects are uploaded in three parts. */
const LARGE: Shape = {
  ...{
    name: "archive in S3, in parts",
    kills: kills(3, 0.1),
    isLarge: true,
    marshaler: "otlp_json",
    compression: "none",
  },
  ...{ padding: '"'.repeat(60_000), minSize: 10_000_000, flushTimeout: "5s", timeout: "10s", load: 1000 },
};

describe.each(MOODY_SERVERS)("an archive in %s", (name, start) => {
  it.each([
    ["once", SMALL],
    ["once, in objects that are uploaded in parts", LARGE],
  ])(
    "has what the agent acknowledged %s, whenever it is killed and whatever S3 does",
    { timeout: patience(600_000) },
    async (_, shape) => {
      server = await start(shape.isLarge);
      const book = new ArchiveBook(server, shape.compression === "gzip" ? gunzipSync : (body) => body);
      victim = Victim.agent(directory, archiveConfig(server.url, join(directory, "queue"), shape));
      const { padding, load } = shape;
      const report = await runCampaignOf({
        ...{ seed, book, sink: server, victim, kills: shape.kills, load, patienceMs: 300_000, say: progress },
        startLoad: (port) =>
          startClients({
            ...{ book, dice: new Dice(seed + 1), port, clients: 8, maxRecords: 20, resendUnanswered: true },
            ...(padding !== undefined && { padding }),
          }),
      });
      await book.count();
      await victim.end("SIGTERM");
      const dead = (await deadLetters(join(directory, "queue"))).length;
      const { objects, largest } = book;
      const verdict = { ...report, ...book.verdict(), dead, objects, largest, uploads: server.openUploads() };
      expect(verdict, summary(`${shape.name} (${name})`, verdict)).toMatchObject({
        ...{ missing: 0, unexplained: 0, rejected: 0, strays: 0, dead: 0, uploads: 0 },
      });
      expect(verdict.acknowledged).toBeGreaterThan(0);
      if (shape.isLarge) expect(verdict.largest).toBeGreaterThan(16 * 1024 * 1024);
      // Several requests share an object; otherwise nothing would have been put to the test.
      expect(verdict.objects).toBeLessThan(verdict.acknowledged);
    },
  );
});

/** The agent of the other campaigns, with another exporter. */
function archiveConfig(endpoint: string, queue: string, shape: Shape): object {
  const { marshaler, compression, minSize, flushTimeout, timeout } = shape;
  const config = agentConfig({ backend: endpoint, queue, batch: false }) as {
    exporters: { otlphttp: { endpoint: string; compression: string } };
    service: { pipelines: { logs: object } };
  };
  const { endpoint: _, compression: __, ...reliability } = config.exporters.otlphttp;
  const aws_s3 = {
    ...{ ...reliability, timeout, marshaler },
    sending_queue: { num_consumers: 4, batch: { flush_timeout: flushTimeout, min_size: minSize, sizer: "bytes" } },
    s3uploader: { endpoint, s3_bucket: "archive", s3_force_path_style: true, compression },
  };
  return {
    ...config,
    exporters: { aws_s3 },
    service: { ...config.service, pipelines: { logs: { ...config.service.pipelines.logs, exporters: ["aws_s3"] } } },
  };
}
