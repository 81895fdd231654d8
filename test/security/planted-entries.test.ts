import { createCipheriv, randomBytes } from "node:crypto";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { ClassicLevel } from "classic-level";
import { afterEach, describe, expect, it } from "vitest";
import { createQueueKey, deriveKey } from "../../src/runtime/queue/store/encryption/keyring.js";
import { RANGES } from "../../src/runtime/queue/store/format/layout.js";
import { cleanUp, startWrapped } from "../runtime/queue/agent.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

const KEY = randomBytes(32);
/** The first byte of the keys of entries. */
const ENTRY = RANGES.entry.charCodeAt(0);
const encryption = (more = "") => `, encryption: {keys: [{id: k, key: "${KEY.toString("hex")}"}]${more}}`;

/** Leaves these in the queue of a new directory, encrypted or not. */
async function queueWith(defaults: string, ...texts: string[]): Promise<string> {
  const directory = temporaryFolder();
  const { agent, send } = await startWrapped("  otlp_http: {endpoint: 'http://127.0.0.1:9'}", { directory, defaults });
  agent.admin!.pause("otlp_http");
  for (const text of texts) await send(text);
  await agent.stop(0);
  return directory;
}

/** Returns the records that an agent delivers from the queue in a directory. */
async function delivered(directory: string, defaults: string) {
  const sink = await startSink();
  sinks.push(sink);
  await startWrapped(`  otlp_http: {endpoint: '${sink.url}'}`, { directory, defaults });
  return () => sink.batches.flatMap(bodies);
}

/** The directory of the queue's database. */
function databaseIn(directory: string): string {
  const current = readdirSync(directory, { recursive: true, withFileTypes: true }).find(
    ({ name }) => name === "CURRENT",
  );
  return current!.parentPath;
}

type RawDb = ClassicLevel<Buffer, Buffer>;

async function withDatabase<T>(directory: string, work: (db: RawDb) => Promise<T>): Promise<T> {
  const options = { keyEncoding: "buffer", valueEncoding: "buffer", compression: false } as const;
  const db: RawDb = new ClassicLevel<Buffer, Buffer>(databaseIn(directory), options);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const entriesIn = (directory: string) =>
  withDatabase(directory, async (db) => (await db.iterator().all()).filter(([key]) => key[0] === ENTRY));

/** Puts the entries of one queue over those of another, in the same places. */
async function plant(from: string, to: string): Promise<void> {
  const entries = await entriesIn(from);
  expect(entries.length).toBeGreaterThan(0);
  await withDatabase(to, async (db) => {
    for (const [key, value] of entries) await db.put(key, value, { sync: true });
  });
}

/** A plain value encrypted as former versions did: format 3, for no queue in particular. */
function encryptedForNone(plain: Buffer): Buffer {
  const key = createQueueKey("k", Buffer.from(KEY));
  const salt = randomBytes(16);
  const header = Buffer.concat([plain.subarray(4, 16), Buffer.from(key.check, "hex"), salt, Buffer.alloc(6)]);
  header[1] = 3;
  const cipher = createCipheriv("aes-256-gcm", deriveKey(key, salt), Buffer.alloc(12)).setAAD(header);
  const rest = Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(rest));
  return Buffer.concat([sum, rest]);
}

describe("somebody who can write to the directory of encrypted queues", () => {
  it("cannot have an entry of one queue sent by another that has the same key", async () => {
    const [victim, other] = [await queueWith(encryption(), "of the victim"), await queueWith(encryption(), "a", "b")];
    await plant(victim, other);
    const texts = await delivered(other, encryption());
    await expect.poll(texts).toEqual(["b"]);
  });

  it("cannot have a plain entry sent with refuse_plain, and changes nothing by it", async () => {
    const [plain, queue] = [await queueWith("", "planted"), await queueWith(encryption(), "a", "b")];
    const [own] = await entriesIn(queue);
    await plant(plain, queue);
    const strict = encryption(", refuse_plain: true");
    await expect(delivered(queue, strict)).rejects.toThrow(/is not encrypted, and .*refuse_plain is on/);
    await withDatabase(queue, (db) => db.put(own![0], own![1], { sync: true }));
    const texts = await delivered(queue, strict);
    await expect.poll(texts).toEqual(["a", "b"]);
  });

  it("cannot make a queue take two kinds of entries by removing its id", async () => {
    const [victim, other] = [await queueWith(encryption(), "of the victim"), await queueWith(encryption(), "a", "b")];
    await plant(victim, other);
    rmSync(join(databaseIn(other), "QUEUE"));
    await expect(delivered(other, encryption())).rejects.toThrow(/QUEUE .* is missing, and .* different queues/);
  });
});

describe("an encrypted queue", () => {
  it("is read where it was moved to, with refuse_plain too", async () => {
    const queue = await queueWith(encryption(), "a", "b");
    const moved = temporaryFolder();
    cpSync(queue, moved, { recursive: true });
    const texts = await delivered(moved, encryption(", refuse_plain: true"));
    await expect.poll(texts).toEqual(["a", "b"]);
  });

  it("is read without the file of its id, which is restored from the entries", async () => {
    const queue = await queueWith(encryption(), "a", "b");
    writeFileSync(join(databaseIn(queue), "QUEUE"), "damaged");
    const texts = await delivered(queue, encryption(", refuse_plain: true"));
    await expect.poll(texts).toEqual(["a", "b"]);
  });

  it("of a former version is read, and with refuse_plain only says what to do", async () => {
    const queue = await queueWith("", "a", "b");
    await withDatabase(queue, async (db) => {
      for (const [key, value] of (await db.iterator().all()).filter(([key]) => key[0] === ENTRY))
        await db.put(key, encryptedForNone(value), { sync: true });
    });
    await expect(delivered(queue, encryption(", refuse_plain: true"))).rejects.toThrow(
      /as by older versions.*turn refuse_plain off until it is delivered/,
    );
    const texts = await delivered(queue, encryption());
    await expect.poll(texts).toEqual(["a", "b"]);
  });

  it("cannot be told to refuse what it writes itself", async () => {
    await expect(
      startWrapped("  otlp_http: {endpoint: 'http://127.0.0.1:9'}", {
        defaults: encryption(", enabled: false, refuse_plain: true"),
      }),
    ).rejects.toThrow(/enabled: false/);
  });
});
