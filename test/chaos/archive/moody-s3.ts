import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { S3Client } from "../../../src/runtime/net/aws/s3/s3-client.js";
import { hasMinio, type S3Server, startEmulator, startMinio } from "../../support/servers/s3/s3.js";
import type { S3Fault } from "../../support/servers/s3/s3-emulator.js";
import type { FaultySink, Mood } from "../faulty-sink.js";

/** An S3 server in the moods of a backend, and what its bucket `archive` holds. */
export interface MoodyS3 extends FaultySink {
  /** Reads the objects that were not read before. `read` gets the bytes of each of them. */
  refresh(read: (key: string, body: Buffer) => void): Promise<void>;
  /** Uploads in parts that were begun, and neither completed nor aborted. */
  openUploads(): number;
}

/** Where a disk can be mounted, that of MinIO is small, so that a test can fill it. */
const DISK_MEBIBYTES = process.getuid?.() === 0 ? 96 : undefined;

/** The servers to test with. `isLarge`: they get more than a small disk holds. */
export const MOODY_SERVERS: readonly (readonly [string, (isLarge: boolean) => Promise<MoodyS3>])[] = [
  ["an emulator of S3", async () => moodyEmulator(await startEmulator())],
  ...(hasMinio ? [["MinIO", startMoodyMinio] as const] : []),
];

const FAULTS: Readonly<Record<Mood, readonly (S3Fault | undefined)[]>> = {
  ok: [undefined],
  slow: [undefined, "503 SlowDown"],
  unavailable: ["503 ServiceUnavailable"],
  throttled: ["503 SlowDown"],
  hangs: ["hang"],
  resets: ["cut"],
  "forgets to answer": ["cut_after", "fail_after"],
};

/** "unavailable" also closes the port now and then. */
function moodyEmulator({ emulator: found, close }: S3Server): MoodyS3 {
  const emulator = found!;
  let mood: Mood = "ok";
  let turn = 0;
  const known = new Map<string, Buffer>();
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
    async refresh(read) {
      for (const [key, { body }] of emulator.objects("archive")) {
        if (known.get(key) === body) continue;
        known.set(key, body);
        read(key, body);
      }
    },
    openUploads: () => emulator.uploads.size,
    close,
  };
}

async function startMoodyMinio(isLarge: boolean): Promise<MoodyS3> {
  return new MoodyMinio(
    await startMinio(isLarge ? undefined : DISK_MEBIBYTES),
    !isLarge && DISK_MEBIBYTES !== undefined,
  );
}

/** Each mood is a blow to the process of MinIO. One blow begins when the one before has ended. */
class MoodyMinio implements MoodyS3 {
  readonly url: string;
  readonly port: number;
  private readonly server: S3Server;
  private readonly hasSmallDisk: boolean;
  private readonly client: S3Client;
  private readonly known = new Map<string, string>();
  private current: Mood = "ok";
  private blows: Promise<void> = Promise.resolve();
  /** How often each mood came about. */
  readonly counts: Partial<Record<Mood, number>> = {};

  constructor(server: S3Server, hasSmallDisk: boolean) {
    this.server = server;
    this.hasSmallDisk = hasSmallDisk;
    this.url = server.endpoint;
    const endpoint = new URL(server.endpoint);
    this.port = Number(endpoint.port);
    const address = { region: "us-east-1", bucket: "archive", endpoint, isPathStyle: true };
    this.client = new S3Client(address, "", { clock: systemClock, random: Math.random, logger: console as never });
  }

  get mood(): Mood {
    return this.current;
  }

  set mood(wanted: Mood) {
    this.current = wanted;
    this.counts[wanted] = (this.counts[wanted] ?? 0) + 1;
    this.blows = this.blows.then(() => this.strike(wanted));
  }

  get requests(): number {
    return this.known.size;
  }

  async refresh(read: (key: string, body: Buffer) => void): Promise<void> {
    const never = new AbortController().signal;
    for await (const { key, etag } of this.client.listObjects("", never)) {
      if (this.known.get(key) === etag) continue;
      const chunks: Buffer[] = [];
      for await (const chunk of (await this.client.getObject(key, never)).chunks) chunks.push(chunk);
      read(key, Buffer.concat(chunks));
      this.known.set(key, etag);
    }
  }

  /** MinIO lists uploads only by the whole key, so they are counted in its files: a folder per object, one per upload in it. */
  openUploads(): number {
    const folder = join(this.server.folder!, ".minio.sys/multipart");
    return readdirSync(folder).flatMap((object) => readdirSync(join(folder, object))).length;
  }

  async close(): Promise<void> {
    await this.blows;
    this.client.close();
    await this.server.close();
  }

  private async strike(mood: Mood): Promise<void> {
    const server = this.server.process!;
    const ballast = join(this.server.folder!, "ballast");
    switch (mood) {
      case "ok":
        rmSync(ballast, { force: true });
        server.resume();
        if (!server.isRunning) await server.start();
        return;
      case "slow":
        server.pause();
        await delay(100);
        return server.resume();
      case "unavailable":
        return server.kill();
      case "throttled":
        if (this.hasSmallDisk) fill(ballast);
        return;
      case "hangs":
        return server.pause();
      case "resets":
        await server.kill();
        await server.start();
        return;
      case "forgets to answer":
        await delay(20);
        server.pause();
        await delay(50);
        await server.kill();
        await server.start();
    }
  }
}

/** Writes until the disk has no room. */
function fill(file: string): void {
  try {
    for (const some = Buffer.alloc(1024 * 1024); ; ) writeFileSync(file, some, { flag: "a" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
