import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Logger } from "../../../../src/plugin.js";
import { crc32c } from "../../../../src/runtime/codecs/crc32c.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { directoryNameOf } from "../../../../src/runtime/queue/operate/directory-name.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "../agent.js";

let sink: OtlpSink;
const warnings: object[] = [];
const messages: string[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (fields: object, message: string) => {
    warnings.push(fields);
    messages.push(message);
  },
  child: () => logger,
};

beforeEach(async () => {
  warnings.length = 0;
  messages.length = 0;
  sink = await startSink();
});
afterEach(async () => {
  await cleanUp();
  await sink.close();
});

/** Says in a summary file that another version has written it. */
function writeFormat(path: string, format: number): void {
  const text = readFileSync(path, "utf8")
    .slice(0, 502)
    .replace(/"format":\d/, `"format":${format}`);
  const checksum = crc32c(Buffer.from(text)).toString(16).padStart(8, "0");
  writeFileSync(path, `${text} ${checksum}\n`);
}

const exporter = (id: string, more = "") => `
  ${id}:
    endpoint: ${sink.url}
    ${more}`;

describe("queues that no exporter uses", () => {
  it.each([
    ["renamed", "otlp_http/new", ""],
    ["left without a queue", "otlp_http/old", "sending_queue: {enabled: false}"],
  ])("are warned of when an exporter was %s with something in its queue", async (_, id, more) => {
    sink.respond((_request, response) => response.writeHead(503).end());
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    expect(await before.send("a", "b")).toMatchObject({ ok: true });
    await before.agent.stop(0);
    warnings.length = 0;
    const after = await startWrapped(exporter(id, more), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toContainEqual(expect.objectContaining({ exporter: "otlp_http/old", pending: 1, deadLetters: 0 }));
  });

  it("get no advice but to run the newer version that has written them, which may need what is not known here", async () => {
    sink.respond((_request, response) => response.writeHead(503).end());
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    await before.send("a");
    await before.agent.stop(0);
    writeFormat(`${join(before.directory, directoryNameOf("otlp_http/old"))}.witness`, 9);
    messages.length = 0;
    const after = await startWrapped(exporter("otlp_http/new"), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(messages).toEqual([expect.stringMatching(/newer version.*run that version, or move.*away/)]);
  });

  it("cause a warning even if there are other files in the directory", async () => {
    sink.respond((_request, response) => response.writeHead(503).end());
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    await before.send("a");
    await before.agent.stop(0);
    writeFileSync(join(before.directory, "100%.witness"), "not ours", { mode: 0o600 });
    warnings.length = 0;
    const after = await startWrapped(exporter("otlp_http/new"), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toEqual([expect.objectContaining({ exporter: "otlp_http/old", pending: 1 })]);
  });

  it("cause no warning if they are empty or in use", async () => {
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    await before.send("a");
    await expect.poll(() => sink.count).toBe(1);
    await before.agent.stop();
    const after = await startWrapped(exporter("otlp_http/new"), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toEqual([]);
  });

  it("cause a warning even if their summary file was removed", async () => {
    const { directory } = await leftBehind("otlp_http/old");
    rmSync(join(directory, "otlp_http%2fold.witness"));
    await (await restarted("otlp_http/new", directory)).agent.stop(0);
    expect(warnings).toEqual([{ exporter: "otlp_http/old", directory: join(directory, "otlp_http%2fold") }]);
    expect(messages[0]).toContain("summary file is missing");
  });

  it("are identified by their directory: one that was moved to an exporter's directory is in use", async () => {
    const { directory } = await leftBehind("otlp_http/old");
    for (const ending of ["", ".witness"])
      renameSync(join(directory, `otlp_http%2fold${ending}`), join(directory, `otlp_http%2fnew${ending}`));
    sink.respond(undefined);
    const after = await restarted("otlp_http/new", directory);
    await expect.poll(() => sink.count).toBe(1);
    await after.agent.stop();
    expect(warnings).toEqual([]);
  });

  it("should be renamed, not removed, if no exporter could use that directory", async () => {
    const { directory } = await leftBehind("otlp_http");
    for (const ending of ["", ".witness"])
      renameSync(join(directory, `otlp_http${ending}`), join(directory, `otlp_http.before${ending}`));
    await (await restarted("otlp_http", directory)).agent.stop(0);
    expect(warnings).toMatchObject([{ exporter: "otlp_http", directory: join(directory, "otlp_http.before") }]);
    expect(messages[0]).toContain("rename it and its .witness file to otlp_http");
    expect(messages[0]).not.toContain("remove");
  });
});

describe("a queue of an exporter whose type has several names", () => {
  it.each([
    ["otlphttp/a", "otlp_http/a"],
    ["otlp_http", "otlphttp"],
  ])("is found again when %s is renamed to %s, and back", async (before, after) => {
    const { directory } = await leftBehind(before);
    const renamed = await restarted(after, directory);
    await renamed.agent.stop(0);
    expect(warnings).toEqual([]);
    sink.respond(undefined);
    const again = await restarted(before, directory);
    await expect.poll(() => sink.count).toBe(1);
    await again.agent.stop();
    expect(readdirSync(directory).filter((name) => name.endsWith(".witness"))).toHaveLength(1);
  });

  it("belongs to the exporter with its exact name, if there is one", async () => {
    const { directory } = await leftBehind("otlphttp");
    sink.respond(undefined);
    const both = await startWrapped(`${exporter("otlp_http")}${exporter("otlphttp")}`, { directory, logger });
    await expect.poll(() => sink.count).toBe(1);
    await both.agent.stop();
    expect(readdirSync(directory).filter((name) => name.endsWith(".witness"))).toHaveLength(2);
  });
});

/** An agent that has stopped with one entry in its exporter's queue. */
async function leftBehind(id: string): Promise<{ readonly directory: string }> {
  sink.respond((_request, response) => response.writeHead(503).end());
  const { agent, send, directory } = await startWrapped(exporter(id), { logger });
  await send("a");
  await agent.stop(0);
  warnings.length = 0;
  messages.length = 0;
  return { directory };
}

/** The warnings have been given when it has stopped. */
function restarted(id: string, directory: string) {
  return startWrapped(exporter(id), { directory, logger });
}
