import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { hasBrowser, pagesOfTests, takePicture } from "./browser.js";
import { CONSOLE_TOKEN } from "./console-agent.js";
import { fillWithDeadLetters } from "./many-failures.js";

const VIEWER_TOKEN = "token-of-one-who-only-looks";
/** As many as a page must cope with are a hundred thousand; they only take longer to make. */
const ENTRIES = Number(process.env["SLUICE_MANY_FAILURES"] ?? 10_000);
const CAUSES = 200;
/** Of what the page keeps: what is left for the garbage collector is the browser's own business. */
const MAX_HEAP_BYTES = 20 * 1024 * 1024;

describe.skipIf(!hasBrowser)("the console with very many dead letters", () => {
  let agent: AgentProcess;
  const openPage = pagesOfTests();
  let url: string;
  const folder = mkdtempSync(join(tmpdir(), "sluice-console-"));

  beforeAll(async () => {
    const directory = join(folder, "queue");
    await fillWithDeadLetters(directory, { exporter: "otlp_http/bad", entries: ENTRIES, causes: CAUSES });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http/bad: {endpoint: "http://127.0.0.1:9"}}
extensions:
  reliability: {directory: ${directory}}
  admin:
    endpoint: "127.0.0.1:${port}"
    tokens:
      - {name: console, token: ${CONSOLE_TOKEN}, roles: [view, reveal, replay]}
      - {name: viewer, token: ${VIEWER_TOKEN}, roles: [view]}
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http/bad]}}
`;
    agent = await startAgentProcess({ yaml });
  }, 180_000);
  afterAll(async () => {
    agent?.child.kill("SIGTERM");
    await agent?.exited;
    rmSync(folder, { recursive: true, force: true });
  });

  it("shows the largest causes and offers the others, in a page that stays small", async () => {
    const page = await openPage(`${url}/#/failures`, CONSOLE_TOKEN);
    await page.getByRole("button", { name: "Show 50 more" }).waitFor();
    await page.getByText("of 150 smaller causes").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(50);
    expect(await page.evaluate('document.getElementsByTagName("*").length')).toBeLessThan(2000);
    await page.getByRole("button", { name: "Show 50 more" }).click();
    await page.getByText("of 100 smaller causes").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(100);
    await page.goto(`${url}/#/failures?view=entries`);
    for (let pages = 1; pages <= 20; pages++) {
      await expect.poll(() => page.locator("tbody tr").count(), { timeout: 20_000 }).toBe(pages * 50);
      if (pages < 20) await page.getByRole("button", { name: "Load more" }).click();
    }
    await page.getByText("The first 1,000; filter to see others.").waitFor();
    expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);
    expect(await keptHeap(page)).toBeLessThan(MAX_HEAP_BYTES);
  }, 120_000);

  it("looks through all of them for a text, by cause and one by one", async () => {
    const page = await openPage(`${url}/#/failures`, CONSOLE_TOKEN);
    await page.getByLabel("Text").fill("record 7 of cause 7");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.locator("tbody tr").getByText("HTTP 4007").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    // The oldest are found last.
    await page.getByRole("link", { name: "Entries" }).click();
    await page.locator("tbody tr").getByText("HTTP 4007").waitFor();
    await page.getByLabel("Text").fill("is nowhere");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No dead letter matches.").waitFor();
  }, 120_000);

  it("keeps the list of them short on a telephone", async () => {
    const page = await openPage(`${url}/#/failures?view=entries`, CONSOLE_TOKEN, {
      viewport: { width: 390, height: 844 },
    });
    await expect.poll(() => page.locator("tbody tr").count()).toBe(15);
    expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThan(844 * 5);
    await page.getByRole("button", { name: "Load more" }).click();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(30);
    await takePicture(page, "many-entries-390");
  }, 60_000);

  it("replays all of them, and stops when told to", async () => {
    const page = await openPage(`${url}/#/failures?view=entries`, CONSOLE_TOKEN);
    await page.getByRole("link", { name: "Replay all that match…" }).click();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByLabel(/Entries per second/).waitFor();
    const all = ENTRIES.toLocaleString("en-US");
    await page.getByRole("button", { name: `Start replay of ${all}` }).click();
    await page.getByRole("heading", { name: `Replay of ${all}` }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled").first().waitFor();
    await page.getByRole("link", { name: "Replays" }).click();
    await page.locator("tbody tr").getByText("cancelled").first().waitFor();
  }, 120_000);

  it("does not offer to open records to users who may not see them", async () => {
    const page = await openPage(`${url}/#/failures`, VIEWER_TOKEN);
    await page.locator('input[placeholder="needs the role reveal"]').first().waitFor();
    expect(await page.locator("input:disabled").count()).toBe(3);
    await page.goto(`${url}/#/failures?text=x`);
    await page.getByText("the filter text looks into records: this needs the role reveal").waitFor();
  }, 60_000);
});

async function keptHeap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}
