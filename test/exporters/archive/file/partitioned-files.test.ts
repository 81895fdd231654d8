import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fileExporter } from "../../../../src/exporters/archive/file/component.js";
import { Batch, batchFromJson, type Exporter, isRefusal } from "../../../../src/plugin.js";
import { logs } from "../../../support/telemetry/batches.js";
import { exporterContext, never, temporaryDirectory } from "../../support.js";

const AT = Date.UTC(2026, 1, 3, 4, 5, 6);
const optionsOf = (idempotencyKey: string) => ({
  idempotencyKey,
  delivery: { attempt: 1, firstSeenAt: AT, receiver: "otlp" },
});

function exporterOf(path: string, partition: object, more: object = {}): Exporter {
  const config = fileExporter.schema.parse({ path, partition: { timezone: "UTC", ...partition }, ...more });
  return fileExporter.create(config as never, exporterContext());
}

const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe("the file exporter with partition", () => {
  it("writes each batch as a file, laid out as in S3", async () => {
    const folder = await temporaryDirectory();
    const exporter = exporterOf(folder, { compression: "gzip", file_prefix: "f-" });
    const batch = logs("a", "b");
    await exporter.send(batch, never, optionsOf("entry-1"));
    const [file = expect.unreachable(), ...others] = await filesIn(folder);
    expect(others).toEqual([]);
    expect(file.slice(folder.length)).toMatch(
      /^\/year=2026\/month=02\/day=03\/hour=04\/minute=05\/f-logs_[0-9a-f]{24}\.json\.gz$/,
    );
    expect(batchFromJson("logs", gunzipSync(await readFile(file)).toString()).bytes).toEqual(batch.bytes);
  });

  it("replaces the file of an entry that is sent again, and leaves no part of it behind", async () => {
    const folder = await temporaryDirectory();
    const exporter = exporterOf(folder, { format: "%Y" }, { format: "proto" });
    for (const key of ["1", "2", "1"]) await exporter.send(logs(key), never, optionsOf(key));
    const files = await filesIn(folder);
    expect(files.length).toBe(2);
    const bodies = await Promise.all(files.map(async (file) => Batch.admit("logs", await readFile(file)).count));
    expect(bodies).toEqual([1, 1]);
  });

  it("refuses what it cannot write, so that it is tried again", async () => {
    const folder = await temporaryDirectory();
    const exporter = exporterOf(join(folder, "file"), {});
    await exporterOf(folder, { format: "file" }).send(logs("x"), never, optionsOf("1"));
    const { rename } = await import("node:fs/promises");
    const [file = ""] = await filesIn(folder);
    await rename(file, `${folder}/f`);
    await (await import("node:fs/promises")).rm(join(folder, "file"), { recursive: true });
    await rename(`${folder}/f`, join(folder, "file"));
    const error = await exporter.send(logs("x"), never, optionsOf("1")).catch((thrown: unknown) => thrown);
    expect(isRefusal(error) && [error.kind, error.code]).toEqual(["transient", "SLUICE_FILE_WRITE"]);
  });

  it("refuses batches while its folder is missing, and creates it only with create_directory", async () => {
    const parent = await temporaryDirectory();
    const folder = join(parent, "mount");
    const exporter = exporterOf(folder, {});
    await exporter.start?.();
    const refused = async () => {
      const error = await exporter.send(logs("x"), never, optionsOf("1")).catch((thrown: unknown) => thrown);
      expect(isRefusal(error) && [error.kind, error.status]).toEqual(["transient", "ENOENT"]);
      expect(await readdir(parent)).toEqual([]);
    };
    await refused();
    await mkdir(folder);
    await exporter.send(logs("x"), never, optionsOf("1"));
    await exporter.send(logs("y"), never, optionsOf("2"));
    expect((await filesIn(folder)).length).toBe(2);
    await rm(folder, { recursive: true });
    await refused();
    await exporterOf(folder, {}, { create_directory: true }).send(logs("x"), never, optionsOf("1"));
    expect((await filesIn(folder)).length).toBe(1);
  });

  it("leaves nothing behind of a file that it cannot complete", async () => {
    const folder = await temporaryDirectory();
    const exporter = exporterOf(folder, { format: "%Y" });
    await exporter.send(logs("x"), never, optionsOf("1"));
    const [file = expect.unreachable()] = await filesIn(folder);
    await rm(file);
    await mkdir(file);
    const error = await exporter.send(logs("x"), never, optionsOf("1")).catch((thrown: unknown) => thrown);
    expect(isRefusal(error) && error.kind).toBe("transient");
    expect(await filesIn(folder)).toEqual([]);
  });

  it("rejects keys of a file that grows", () => {
    const parse = (more: object) => fileExporter.schema.safeParse({ path: "/a", partition: {}, ...more }).success;
    expect([parse({}), parse({ rotation: {} }), parse({ append: false })]).toEqual([true, false, false]);
  });
});
