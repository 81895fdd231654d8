import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, type TestContext } from "vitest";
import { until } from "../../../support/until.js";

const temporary = mkdtempSync(join(tmpdir(), "sluice-demos-"));
afterAll(() => rmSync(temporary, { recursive: true }));

interface DemoEvent {
  readonly event: string;
  readonly origin: string;
  readonly folder: string;
  readonly [fact: string]: unknown;
}

/** Runs the built `sluice demo` as people do, with a folder of its own for what is temporary. */
function startDemo({ onTestFinished }: TestContext, ...args: string[]) {
  const folder = mkdtempSync(join(temporary, "run-"));
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, ["bin/sluice.js", "demo", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const ended = new Promise<number | string | null>((resolve) =>
    child.on("close", (code, signal) => resolve(code ?? signal)),
  );
  const events = () =>
    output.out
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as DemoEvent);
  return { child, output, ended, events, left: () => readdirSync(folder) };
}

const answers = (origin: string) =>
  fetch(origin).then(
    () => true,
    () => false,
  );

describe.concurrent("sluice demo", () => {
  it("goes from an outage over dead letters to a replay that delivers all, and leaves nothing behind", async (context) => {
    const { ended, events, left } = startDemo(context, "--json", "--port", "0");
    expect(await ended).toBe(0);
    const reached = events().filter(({ event }) => event === "reached");
    expect(reached.map(({ scene }) => scene)).toEqual(["well", "outage", "recovery", "poison", "replay"]);
    expect(reached[1]).toMatchObject({ deadLetters: 0, breaker: expect.stringMatching(/open/) });
    expect(reached[2]).toMatchObject({ waiting: 0, deadLetters: 0, breaker: "closed" });
    expect(reached[3]!["deadLetters"]).toBeGreaterThan(2);
    const end = events().at(-1)!;
    expect(end).toMatchObject({ event: "ended", isComplete: true, lost: 0, duplicates: 0, waiting: 0, deadLetters: 0 });
    expect(end["delivered"]).toBe(end["acknowledged"]);
    expect(await answers(events()[0]!.origin)).toBe(false);
    expect(left()).toEqual([]);
  });

  it("is an agent as any other for the console and commands, and ends with a signal", async (context) => {
    const { child, ended, events, left } = startDemo(context, "--json", "--port", "0");
    await until(() => expect(events()).not.toEqual([]));
    const { origin, folder, console } = events()[0]!;
    expect(existsSync(join(folder, "queue"))).toBe(true);
    const page = await fetch(origin);
    expect(await page.text()).toContain("<title>");
    const headers = { authorization: `Bearer ${String(console).split("#token=")[1]}` };
    const { exporters } = (await (await fetch(`${origin}/api/v1/exporters`, { headers })).json()) as {
      exporters: object[];
    };
    expect(exporters).toEqual([expect.objectContaining({ id: "otlp_http/backend" })]);
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    expect(events().at(-1)).toMatchObject({ event: "ended", isComplete: false });
    expect(await answers(origin)).toBe(false);
    expect(left()).toEqual([]);
  });

  it("says which port is taken, and leaves nothing behind", async (context) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { ended, output, left } = startDemo(context, "--port", String(port));
    expect(await ended).toBe(1);
    expect(output.err).toContain(`127.0.0.1:${port}`);
    expect(output.err).not.toContain("bug");
    expect(left()).toEqual([]);
  });

  it("refuses a value that is not a port", async (context) => {
    const { ended, output } = startDemo(context, "--port", "eighty");
    expect(await ended).toBe(2);
    expect(output.err).toContain("--port eighty is not a port");
  });
});
