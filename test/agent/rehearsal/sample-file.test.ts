import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  encodeSampled,
  readSample,
  readSampleFile,
  SAMPLE_MAGIC,
  type SampledBatch,
  SampleFileError,
} from "../../../src/agent/rehearsal/sample-file.js";
import { anyCharacter } from "../../support/any-character.js";
import { logs } from "../../support/telemetry/batches.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const sampled = fc
  .record({
    receiver: fc.string({ unit: anyCharacter, minLength: 1 }),
    at: fc.integer({ min: 0, max: 4e12 }),
    texts: fc.array(fc.string(), { minLength: 1, maxLength: 5 }),
  })
  .map(({ receiver, at, texts }): SampledBatch => {
    return { receiver, at, signal: "logs", bytes: logs(...texts).bytes };
  });

function fileOf(entries: readonly SampledBatch[]): Buffer {
  return Buffer.concat([SAMPLE_MAGIC, ...entries.flatMap(encodeSampled)]);
}

function plain(entries: readonly SampledBatch[]): object[] {
  return entries.map(({ receiver, at, signal, bytes }) => ({ receiver, at, signal, bytes: Buffer.from(bytes) }));
}

function read(file: Uint8Array): { readonly entries: object[]; readonly damage: string | undefined } {
  const { batches, damage } = readSample(file);
  return {
    damage,
    entries: batches.map(({ receiver, at, batch: { signal, bytes } }) => ({
      receiver,
      at,
      signal,
      bytes: Buffer.from(bytes),
    })),
  };
}

describe("a sample file", () => {
  it("gives back the batches that were written", () => {
    fc.assert(
      fc.property(fc.array(sampled, { maxLength: 5 }), (entries) => {
        expect(read(fileOf(entries))).toEqual({ entries: plain(entries), damage: undefined });
      }),
    );
  });

  it("gives back all whole batches if it was cut off anywhere", () => {
    fc.assert(
      fc.property(fc.array(sampled, { minLength: 1, maxLength: 4 }), fc.nat(), (entries, at) => {
        const file = fileOf(entries);
        const length = SAMPLE_MAGIC.length + (at % (file.length - SAMPLE_MAGIC.length));
        const found = read(file.subarray(0, length));
        const whole = entries.filter((_, i) => fileOf(entries.slice(0, i + 1)).length <= length);
        expect(found.entries).toEqual(plain(whole));
        expect(found.damage === undefined).toBe(fileOf(whole).length === length);
      }),
    );
  });

  it("ends before an entry with a changed byte, and says so", () => {
    fc.assert(
      fc.property(fc.array(sampled, { minLength: 1, maxLength: 4 }), fc.nat(), (entries, at) => {
        const file = fileOf(entries);
        const changed = SAMPLE_MAGIC.length + (at % (file.length - SAMPLE_MAGIC.length));
        file[changed]! ^= 0x20;
        const found = read(file);
        const before = entries.filter((_, i) => fileOf(entries.slice(0, i + 1)).length <= changed);
        expect(found.entries).toEqual(plain(before));
        expect(found.damage).toMatch(/at byte \d+$/);
      }),
    );
  });

  it("is told from other files", () => {
    for (const text of ["", "SLUICE SAMPLE 2\n", "receivers: {}\n"])
      expect(() => readSample(Buffer.from(text))).toThrow(SampleFileError);
  });

  it("is not read to its end if it is something else, or too large", async () => {
    await expect(readSampleFile("/dev/zero")).rejects.toThrow("this is not a sample");
    const file = join(temporaryFolder(), "traffic.sample");
    const entries = [{ receiver: "otlp", at: 1, signal: "logs" as const, bytes: logs("a").bytes }];
    writeFileSync(file, fileOf(entries));
    expect((await readSampleFile(file)).batches.length).toBe(1);
    await expect(readSampleFile(file, 50)).rejects.toThrow("too large");
  });
});
