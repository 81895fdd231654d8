import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { FileExporter, fileExporter } from "../../../../src/exporters/archive/file/component.js";
import { Batch, batchFromJson, batchToJson, type Refusal } from "../../../../src/plugin.js";
import { isStartError } from "../../../../src/runtime/contract/errors/start-error.js";
import { bundled } from "../../../support/bundled.js";
import { runs } from "../../../support/runs.js";
import { exporterContext, listeningLogger, never, temporaryDirectory } from "../../support.js";
import { failingOpen } from "./failing-disk.js";

const started: FileExporter[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((exporter) => exporter.stop()));
});

type Written = Record<string, unknown>;

async function start(written: Written, ...rest: unknown[]): Promise<FileExporter> {
  const [context, open] = rest as [
    Parameters<typeof exporterContext>[0],
    ConstructorParameters<typeof FileExporter>[2],
  ];
  const exporter = new FileExporter(fileExporter.schema.parse(written) as never, exporterContext(context), open);
  await exporter.start();
  started.push(exporter);
  return exporter;
}

async function stop(exporter: FileExporter): Promise<void> {
  started.splice(started.indexOf(exporter), 1);
  await exporter.stop();
}

function log(body: string): Batch {
  const record = {
    body: { stringValue: body },
    timeUnixNano: "1700000000123456789",
    traceId: "0af7651916cd43dd8448eb211c80319c",
  };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
}

function bodyOf(line: string): string {
  return JSON.parse(line).resourceLogs[0].scopeLogs[0].logRecords[0].body.stringValue;
}

async function linesOf(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8");
  expect(text === "" || text.endsWith("\n")).toBe(true);
  return text.split("\n").slice(0, -1);
}

/** Bodies in all files of the exporter, backups first, in the order of their names. */
async function bodiesIn(directory: string, base = "out"): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.startsWith(base) && name.endsWith(".json")).sort();
  const current = names.indexOf(`${base}.json`);
  if (current >= 0) names.push(...names.splice(current, 1));
  const lines = await Promise.all(names.map((name) => linesOf(join(directory, name))));
  return lines.flat().map(bodyOf);
}

describe("writing", () => {
  test("has written the line when a send resolves", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const exporter = await start({ path });
    const batch = log("first");
    await exporter.send(batch, never);
    expect(await linesOf(path)).toEqual([batchToJson(batch)]);
    expect(await readFile(path, "utf8")).toContain('"timeUnixNano":"1700000000123456789"');
    expect(await readFile(path, "utf8")).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
  });

  test("writes ids in hex whatever kind of bytes the batch came in", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const exporter = await start({ path });
    await exporter.send(Batch.admit("logs", Buffer.from(log("x").bytes)), never);
    expect(await readFile(path, "utf8")).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
  });

  test("writes many sends at once in their order, in few writes", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const disk = failingOpen();
    const exporter = await start({ path }, {}, disk.open);
    const bodies = Array.from({ length: 200 }, (_, i) => `line ${i}`);
    await Promise.all(bodies.map((body) => exporter.send(log(body), never)));
    expect((await linesOf(path)).map(bodyOf)).toEqual(bodies);
    expect(disk.writes).toBeLessThan(5);
  });

  test("resolves when the data is on the disk, with one flush for all concurrent sends", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const disk = failingOpen();
    const exporter = await start({ path }, {}, disk.open);
    const release = disk.holdFlushes();
    let delivered = 0;
    const sends = Array.from({ length: 50 }, (_, i) => exporter.send(log(`line ${i}`), never).then(() => delivered++));
    await expect.poll(() => disk.flushes).toBe(1);
    expect(await readFile(path, "utf8")).toContain("line 0");
    expect(delivered).toBe(0);
    release();
    await Promise.all(sends);
    expect(disk.flushes).toBe(2);
  });

  test("does not wait for the disk with fsync: false", async () => {
    const disk = failingOpen();
    const exporter = await start({ path: join(await temporaryDirectory(), "out.json"), fsync: false }, {}, disk.open);
    await exporter.send(log("line"), never);
    expect(disk.flushes).toBe(0);
  });

  test("keeps what is there when it starts again", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    for (const body of ["one", "two"]) {
      const exporter = await start({ path });
      await exporter.send(log(body), never);
      await stop(exporter);
    }
    expect((await linesOf(path)).map(bodyOf)).toEqual(["one", "two"]);
  });

  test("starts a new file with append: false, and keeps the old one as a backup", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    for (const body of ["one", "two"]) {
      const exporter = await start({ path, append: false });
      await exporter.send(log(body), never);
      await stop(exporter);
    }
    expect((await linesOf(path)).map(bodyOf)).toEqual(["two"]);
    expect(await bodiesIn(directory)).toEqual(["one", "two"]);
  });

  test("writes protobuf behind its length in four bytes", async () => {
    const path = join(await temporaryDirectory(), "out.bin");
    const exporter = await start({ path, format: "proto", fsync: true });
    const batches = [log("one"), Batch.merge([log("two"), log("three")])];
    await Promise.all(batches.map((batch) => exporter.send(batch, never)));
    const bytes = await readFile(path);
    let at = 0;
    for (const batch of batches) {
      expect(bytes.readUInt32BE(at)).toBe(batch.byteLength);
      expect(bytes.subarray(at + 4, at + 4 + batch.byteLength).equals(batch.bytes)).toBe(true);
      at += 4 + batch.byteLength;
    }
    expect(at).toBe(bytes.length);
  });

  test("creates the directory when told to", async () => {
    const directory = join(await temporaryDirectory(), "a", "b");
    await start({ path: join(directory, "out.json"), create_directory: true, directory_permissions: "0700" });
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  test("sets the configured permissions, owner-only by default, also on an existing file", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const rights = async () => (await stat(path)).mode & 0o777;
    await writeFile(path, "");
    await chmod(path, 0o644);
    const exporter = await start({ path });
    expect(await rights()).toBe(0o600);
    await stop(exporter);
    const shared = await start({ path, file_permissions: "0640" });
    expect(await rights()).toBe(0o640);
    await stop(shared);
    await rm(path);
    await start({ path });
    expect(await rights()).toBe(0o600);
  });

  test("writes to a device as it is", async () => {
    const exporter = await start({ path: "/dev/null", rotation: { max_megabytes: 0.0001 } });
    await Promise.all([exporter.send(log("one"), never), exporter.send(log("two"), never)]);
  });
});

describe("without its folder", () => {
  test("starts with a warning, refuses until the folder exists, and then writes", async () => {
    const folder = join(await temporaryDirectory(), "not", "mounted");
    const logger = listeningLogger();
    const exporter = await start({ path: join(folder, "out.json") }, { logger });
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      expect.stringMatching(/^warn: cannot write to .*refused until the folder exists$/),
    ]);
    for (const body of ["one", "two"])
      await expect(exporter.send(log(body), never)).rejects.toMatchObject({ kind: "transient", status: "ENOENT" });
    await mkdir(folder, { recursive: true });
    await exporter.send(log("one"), never);
    expect(await bodiesIn(folder)).toEqual(["one"]);
    await expect(start({ path: join(folder, "out.json") })).rejects.toThrow(/another file exporter/);
  });

  test("starts a new file with append: false once the folder is mounted, and keeps the existing one", async () => {
    const mounted = await temporaryDirectory();
    await writeFile(join(mounted, "out.json"), `${batchToJson(log("old"))}\n`);
    const folder = join(await temporaryDirectory(), "mount");
    const exporter = await start({ path: join(folder, "out.json"), append: false });
    await expect(exporter.send(log("early"), never)).rejects.toMatchObject({ kind: "transient" });
    await rename(mounted, folder);
    await exporter.send(log("new"), never);
    await exporter.send(log("newer"), never);
    expect((await linesOf(join(folder, "out.json"))).map(bodyOf)).toEqual(["new", "newer"]);
    expect(await bodiesIn(folder)).toEqual(["old", "new", "newer"]);
  });

  test("creates it with rotation, as the Collector does", async () => {
    const folder = join(await temporaryDirectory(), "a", "b");
    const exporter = await start({ path: join(folder, "out.json"), rotation: {} });
    await exporter.send(log("one"), never);
    expect(await bodiesIn(folder)).toEqual(["one"]);
  });
});

describe("refusing to start", () => {
  test.each<[string, (directory: string) => Promise<string>]>([
    [
      "a directory that is a file",
      async (directory) => {
        await writeFile(join(directory, "file"), "");
        return join(directory, "file", "out.json");
      },
    ],
    ["a path that is a directory", async (directory) => directory],
    [
      "a loop of links",
      async (directory) => {
        await symlink(join(directory, "loop"), join(directory, "loop"));
        return join(directory, "loop");
      },
    ],
  ])("blames the path for %s", async (_, prepare) => {
    const path = await prepare(await temporaryDirectory());
    const error = await start({ path }).catch((thrown: unknown) => thrown);
    expect(isStartError(error) && error.path).toEqual(["path"]);
    expect(isStartError(error) && error.message).toContain(path);
  });

  test.skipIf(process.getuid?.() === 0)("blames the path for a file it may not write", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    await writeFile(path, "");
    await chmod(path, 0o400);
    const error = await start({ path }).catch((thrown: unknown) => thrown);
    expect(isStartError(error) && error.path).toEqual(["path"]);
  });

  test("lets no two exporters write one file, and frees it on stop", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const first = await start({ path });
    await expect(start({ path })).rejects.toThrow(/another file exporter/);
    await stop(first);
    await start({ path });
  });

  test.each([
    [{}, "path"],
    [{ path: "x", compression: "zstd" }, "compression"],
    [{ path: "x", compression: "gzip" }, "compression"],
    [{ path: "x", group_by: { enabled: true, resource_attribute: "a" } }, "group_by"],
    [{ path: "x", directory_permissions: "rwx" }, "directory_permissions"],
    [{ path: "x", file_permissions: "888" }, "file_permissions"],
    [{ path: "x", rotation: { max_megabytes: -1 } }, "rotation"],
    [{ path: "x", rotations: {} }, undefined],
  ])("finds %j wrong", (written, key) => {
    const result = fileExporter.schema.safeParse(written);
    expect(result.error?.issues[0]?.path[0]).toBe(key);
  });

  test("accepts the Collector's keys and an empty rotation", () => {
    const config = { path: "x", rotation: null, format: "JSON", flush_interval: "1s", group_by: { enabled: false } };
    expect(fileExporter.schema.parse(config)).toMatchObject({
      rotation: { max_megabytes: 100, max_backups: 100, max_days: 0, localtime: false },
      format: "json",
      append: true,
    });
  });
});

describe("rotation", () => {
  const small = { max_megabytes: 300 / 1024 / 1024 };

  test("never lets a file grow over the limit, and loses no line", async () => {
    const directory = await temporaryDirectory();
    const exporter = await start({ path: join(directory, "out.json"), rotation: small });
    const bodies = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    await Promise.all(bodies.map((body) => exporter.send(log(body), never)));
    const names = await readdir(directory);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect((await stat(join(directory, name))).size).toBeLessThanOrEqual(300);
    expect(await bodiesIn(directory)).toEqual(bodies);
  });

  test("gives a line that is larger than the limit a file of its own", async () => {
    const directory = await temporaryDirectory();
    const exporter = await start({ path: join(directory, "out.json"), rotation: small });
    const bodies = ["a", "b".repeat(2000), "c"];
    for (const body of bodies) await exporter.send(log(body), never);
    expect(await readdir(directory)).toHaveLength(3);
    expect(await bodiesIn(directory)).toEqual(bodies);
  });

  test("names backups in order, even if the clock goes backwards", async () => {
    const directory = await temporaryDirectory();
    let now = Date.UTC(2026, 0, 31, 23, 59, 58, 123);
    const clock = { now: () => (now -= 3_600_000), monotonic: () => 0, after: () => () => {} };
    const exporter = await start({ path: join(directory, "out.json"), rotation: small }, { clock });
    const bodies = Array.from({ length: 8 }, (_, i) => `line ${i}`.padEnd(100));
    for (const body of bodies) await exporter.send(log(body), never);
    expect(await bodiesIn(directory)).toEqual(bodies);
    expect((await readdir(directory)).sort()[0]).toBe("out-2026-01-31T22-59-58.123.json");
  });

  test("keeps the configured number of backups, and touches no other file", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "out-of-here.json"), "mine");
    await writeFile(join(directory, "out-2026-99-99T00-00-00.000.json"), "mine");
    const exporter = await start({ path: join(directory, "out.json"), rotation: { ...small, max_backups: 2 } });
    for (let i = 0; i < 6; i++) await exporter.send(log(`line ${i}`.padEnd(200)), never);
    const names = await readdir(directory);
    expect(names.filter((name) => name.startsWith("out-2026-99") || name === "out-of-here.json")).toHaveLength(2);
    expect(names).toHaveLength(2 + 2 + 1);
    expect(bodyOf((await linesOf(join(directory, "out.json")))[0]!).trim()).toBe("line 5");
  });

  test("deletes backups that are older than max_days", async () => {
    const directory = await temporaryDirectory();
    const old = "out-2020-01-01T00-00-00.000.json";
    await writeFile(join(directory, old), "");
    const exporter = await start({ path: join(directory, "out.json"), rotation: { ...small, max_days: 3 } });
    for (let i = 0; i < 2; i++) await exporter.send(log(`line ${i}`.padEnd(200)), never);
    const names = await readdir(directory);
    expect(names).toHaveLength(2);
    expect(names).not.toContain(old);
  });
});

describe("after a crash", () => {
  test("sets a torn last line aside, keeps the others, and continues", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    const [whole, torn] = [`${batchToJson(log("whole"))}\n`, batchToJson(log("torn")).slice(0, 30)];
    await writeFile(path, whole + torn, { mode: 0o600 });
    const logger = listeningLogger();
    const exporter = await start({ path }, { logger });
    await exporter.send(log("next"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["whole", "next"]);
    const aside = (await readdir(directory)).filter((name) => name.includes(".torn-"));
    expect(await readFile(join(directory, aside[0]!), "utf8")).toBe(torn);
    expect(logger.lines).toMatchObject([{ level: "warn", fields: { bytes: 30 } }]);
  });

  test("completes a last line that only lacks its line end", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    await writeFile(path, batchToJson(log("whole")));
    const exporter = await start({ path });
    await exporter.send(log("next"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["whole", "next"]);
    expect(await readdir(directory)).toHaveLength(1);
  });

  test("sets a torn protobuf frame aside", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.bin");
    let exporter = await start({ path, format: "proto" });
    await exporter.send(log("one"), never);
    await stop(exporter);
    const good = await readFile(path);
    await writeFile(path, Buffer.concat([good, good.subarray(0, good.length - 5)]));
    exporter = await start({ path, format: "proto" });
    await exporter.send(log("one"), never);
    expect((await readFile(path)).equals(Buffer.concat([good, good]))).toBe(true);
    expect((await readdir(directory)).length).toBe(2);
  });

  test.each(["json", "proto"])("moves a file of another format away as a whole (%s)", async (format) => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out");
    const foreign = format === "proto" ? `${batchToJson(log("x"))}\n` : "\0\0\0\u0005hello\n";
    await writeFile(path, foreign);
    const exporter = await start({ path, format });
    await exporter.send(log("mine"), never);
    const aside = (await readdir(directory)).filter((name) => name.includes(".torn-"));
    expect(await readFile(join(directory, aside[0]!), "utf8")).toBe(foreign);
  });

  test("has every acknowledged line after a SIGKILL", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    const acknowledged: string[] = [];
    const script = await bundled(join(import.meta.dirname, "file-writer-child.mjs"), await temporaryDirectory());
    for (let round = 0; round < 3; round++) acknowledged.push(...(await writeAndKill(script, path, round)));
    const exporter = await start({ path });
    await exporter.send(log("last"), never);
    const bodies = new Set(await bodiesIn(directory));
    expect(acknowledged.filter((body) => !bodies.has(body))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(bodies.has("last")).toBe(true);
  });
});

/** Runs a child that writes as fast as it can, kills it in the middle, and returns what was acknowledged. */
async function writeAndKill(script: string, path: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, path, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    told += chunk;
    if (told.split("\n").length > 100) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return told.split("\n").slice(0, -1);
}

describe("a disk that fails", () => {
  test("refuses transiently when it is full, and leaves no half line", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const disk = failingOpen();
    const exporter = await start({ path }, {}, disk.open);
    await exporter.send(log("one"), never);
    disk.failAfter(20);
    const refusal = (await exporter.send(log("two"), never).catch((error: unknown) => error)) as Refusal;
    expect(refusal).toMatchObject({ kind: "transient", code: "SLUICE_FILE_WRITE", status: "ENOSPC" });
    await exporter.send(log("three"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["one", "three"]);
  });

  test("repairs the file before its next use when even the partial line could not be removed", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    const disk = failingOpen();
    const exporter = await start({ path }, {}, disk.open);
    await exporter.send(log("one"), never);
    disk.failAfter(20, { truncate: true });
    await expect(exporter.send(log("two"), never)).rejects.toMatchObject({ kind: "transient" });
    await exporter.send(log("three"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["one", "three"]);
  });

  test("refuses while its directory is missing, and continues when it is back", async () => {
    const directory = join(await temporaryDirectory(), "inner");
    const path = join(directory, "out.json");
    await mkdir(directory);
    const exporter = await start({ path });
    await exporter.send(log("one"), never);
    await rm(directory, { recursive: true });
    await expect(exporter.send(log("two"), never)).rejects.toMatchObject({ kind: "transient", status: "ENOENT" });
    await mkdir(directory);
    await exporter.send(log("three"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["three"]);
  });

  test("continues in a new file when somebody else rotates the file", async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, "out.json");
    const exporter = await start({ path });
    await exporter.send(log("one"), never);
    await rm(path);
    await exporter.send(log("two"), never);
    await writeFile(path, "");
    await exporter.send(log("three"), never);
    expect((await linesOf(path)).map(bodyOf)).toEqual(["three"]);
  });

  test("drops unwritten data when it is aborted", async () => {
    const path = join(await temporaryDirectory(), "out.json");
    const exporter = await start({ path });
    const abort = new AbortController();
    const first = exporter.send(log("one"), never);
    const second = exporter.send(log("two"), abort.signal);
    abort.abort();
    await expect(second).rejects.toMatchObject({ kind: "transient" });
    await first;
    await expect(exporter.send(log("three"), abort.signal)).rejects.toMatchObject({ kind: "transient" });
    expect((await linesOf(path)).map(bodyOf)).toEqual(["one"]);
  });
});

type Step = { send: number[] } | { restart: true } | { fail: number } | { tear: number };

test("every accepted line is in the files, once, in order, whatever the sizes, restarts and failures", async () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ send: fc.array(fc.nat(400), { minLength: 1, maxLength: 8 }) }) },
    { weight: 1, arbitrary: fc.constant<Step>({ restart: true }) },
    { weight: 1, arbitrary: fc.record({ fail: fc.nat(900) }) },
    { weight: 1, arbitrary: fc.record({ tear: fc.integer({ min: 1, max: 60 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.integer({ min: 1, max: 1500 }), runSteps),
    runs(25),
  );
});

async function runSteps(steps: Step[], maxBytes: number): Promise<void> {
  const directory = await temporaryDirectory();
  const path = join(directory, "out.json");
  const written = { path, rotation: { max_megabytes: maxBytes / 1024 / 1024, max_backups: 0 } };
  const disk = failingOpen();
  let exporter = await start(written, {}, disk.open);
  const accepted: string[] = [];
  let sent = 0;
  for (const step of steps) {
    if ("send" in step) {
      const bodies = step.send.map((size) => `${sent++}:`.padEnd(size, "x"));
      const outcomes = await Promise.allSettled(bodies.map((body) => exporter.send(log(body), never)));
      accepted.push(...bodies.filter((_, index) => outcomes[index]!.status === "fulfilled"));
    } else if ("fail" in step) {
      disk.failAfter(step.fail);
    } else {
      await stop(exporter);
      if ("tear" in step) await writeFile(path, batchToJson(log("torn".repeat(50))).slice(0, step.tear), { flag: "a" });
      exporter = await start(written, {}, disk.open);
    }
  }
  await stop(exporter);
  expect(await bodiesIn(directory)).toEqual(accepted);
}
