import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { main } from "../../../../src/agent/cli/main.js";
import { processTerminal } from "../../../../src/agent/cli/terminal.js";
import { sluice, temporary } from "../dlq/support.js";

/** Writes a config with these arguments and says what `validate` says of it. */
async function written(...args: string[]) {
  const file = join(await temporary(), "new.yaml");
  const { code, out, err } = await sluice(["init", "--out", file, ...args]);
  const validated = existsSync(file) ? await sluice(["validate", "--config", file]) : undefined;
  return { code, out, err, validated, text: existsSync(file) ? readFileSync(file, "utf8") : "" };
}

/** Answers one question after the other, and tells them. */
async function interview(file: string, answers: readonly string[]) {
  const asked: string[] = [];
  let told = "";
  const write = (text: string) => void (told += text);
  const output = { write, isTerminal: true, colour: false };
  const ask = async (question: string) => answers[asked.push(question) - 1] ?? "";
  const code = await main(["init", "--out", file], { out: output, err: output, env: {}, ask });
  return { code, asked, told };
}

describe("init", () => {
  it.each([
    [[]],
    [["--endpoint", "http://localhost:4318"]],
    [["--endpoint", "https://otlp.example.com", "--signals", "traces,logs", "--pii"]],
    [["--endpoint", "localhost:4317"]],
    [["--endpoint", "https://collector.example.com:4317"]],
    [["--endpoint", "collector.example.com:443", "--protocol", "grpc", "--pii"]],
  ])("writes a config that is valid and warns of nothing: %s", async (args) => {
    const { code, out, validated } = await written(...args);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Wrote .*new\.yaml\. Next:/)]);
    expect(validated).toMatchObject({ code: 0, err: "" });
  });

  it("writes what was asked for", async () => {
    const { text, validated } = await written("--endpoint", "localhost:4317", "--signals", "logs", "--pii", "--public");
    expect(text).toContain("otlp_grpc:");
    expect(text).toContain("processors: [memory_limiter, pii, batch]");
    expect(text).toContain("endpoint: 0.0.0.0:4318");
    expect(text).not.toContain("traces:");
    expect(validated?.code).toBe(0);
  });

  it.each([
    ["Ctrl+D", "\u0004"],
    ["Ctrl+C", "\u0003"],
  ])("writes nothing when a question is ended with %s", async (_, key) => {
    const stream = () => Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    const streams = { stdin: stream(), stdout: stream(), stderr: stream() };
    let told = "";
    streams.stderr.on("data", (text) => {
      told += text;
    });
    const file = join(await temporary(), "ended.yaml");
    const terminal = processTerminal({ ...streams, env: {} } as unknown as NodeJS.Process, () => {});
    const code = main(["init", "--out", file], terminal);
    await expect.poll(() => told).toContain("Where should data go?");
    streams.stdin.write(key);
    expect(await code).toBe(1);
    expect(told).toContain("sluice: the question was not answered: stopped");
    expect(existsSync(file)).toBe(false);
  });

  it("asks when somebody is there and nothing was said", async () => {
    const file = join(await temporary(), "asked.yaml");
    const { code, asked } = await interview(file, ["http://localhost:4318", "y", ""]);
    expect([code, asked.length]).toEqual([0, 3]);
    const text = readFileSync(file, "utf8");
    expect(text).toContain('endpoint: "http://localhost:4318"');
    expect(text).toContain("  pii: {}");
    expect(text).toContain("endpoint: 127.0.0.1:4318");
    for (const signal of ["logs", "traces", "metrics"]) expect(text).toMatch(new RegExp(`^ {4}${signal}:$`, "m"));
  });

  it("asks again for what cannot be meant", async () => {
    const file = join(await temporary(), "again.yaml");
    const answers = ["nowhere", "ftp://x", "localhost:4317", "", "y"];
    const { code, asked, told } = await interview(file, answers);
    expect([code, asked.length]).toEqual([0, 5]);
    expect(told).toContain('"ftp://x" is not an endpoint');
    expect(readFileSync(file, "utf8")).toMatch(/otlp_grpc:|endpoint: 0\.0\.0\.0:4318/);
  });

  it("asks nothing when it could not write the answers", async () => {
    const file = join(await temporary(), "mine.yaml");
    writeFileSync(file, "mine");
    expect(await interview(file, [])).toMatchObject({ code: 1, asked: [] });
  });

  it("overwrites nothing", async () => {
    const file = join(await temporary(), "mine.yaml");
    writeFileSync(file, "mine");
    const { code, err } = await sluice(["init", "--out", file]);
    expect([code, err]).toEqual([1, expect.stringContaining("it exists; choose another file with --out FILE")]);
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("prints it when asked to", async () => {
    expect((await sluice(["init", "--out", "-"])).out).toContain("receivers:\n");
  });

  it.each([
    ["--endpoint", "nowhere"],
    ["--endpoint", "ftp://x"],
    ["--signals", "profiles"],
    ["--protocol", "udp"],
  ])("says what it expects: %s %s", async (...args) => {
    expect(await written(...args)).toMatchObject({ code: 2, err: expect.stringContaining("expected"), text: "" });
  });
});
