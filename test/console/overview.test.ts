import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

/** An agent with an exporter that is down, one that is paused, a dead letter and a replay. */
let agent: ConsoleAgent;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent({
    exporters: `otlp_http/gone: {endpoint: "http://127.0.0.1:9", circuit_breaker: {failure_threshold: 1, reset_timeout: 1h}}`,
    pipelines: "logs/gone: {receivers: [otlp], exporters: [otlp_http/gone]}",
  });
  await agent.sendLog("an order");
  const dead = async () => (await agent.api<{ entries: readonly object[] }>("/dead-letters")).entries;
  await until(async () => expect(await dead()).toHaveLength(1));
  const breaker = async () =>
    (await agent.api<{ breaker: { state: string } }>("/exporters/otlp_http%2Fgone")).breaker.state;
  await until(async () => expect(await breaker()).toBe("open"));
  await post("/exporters/otlp_http%2Fgood/pause", { reason: "the backend is being moved" });
  await post("/dead-letters/replay", { all: true, reason: "again" });
  await until(async () => expect(await dead()).toHaveLength(1));
});

afterAll(async () => {
  await agent?.stop();
});

async function post(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${CONSOLE_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(`${agent.url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect(response.ok).toBe(true);
}

function open(options?: Parameters<typeof openPage>[2]): Promise<Page> {
  return openPage(`${agent.url}/`, CONSOLE_TOKEN, options);
}

describe.skipIf(!hasBrowser)("the overview", () => {
  it("is the first page, and says how the agent is, what fails and why", async () => {
    const page = await open();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const health = page.getByRole("region", { name: "Health" });
    await health.getByText("1 of 4 exporters is down, 1 is degraded.").waitFor();
    await health.getByText("otlp_http/gone: its breaker is open").waitFor();
    await health.getByText("otlp_http/good: it is paused").waitFor();
    const alerts = page.getByRole("region", { name: "Alerts" });
    await alerts.getByText("otlp_http/gone cannot deliver: its circuit breaker is open").waitFor();
    const runbook = await alerts.getByRole("link", { name: "runbook" }).first().getAttribute("href");
    expect((await fetch(`${agent.url}${runbook}`)).status).toBe(200);
    expect(await (await fetch(`${agent.url}${runbook}`)).text()).toContain(`id="${runbook!.split("#")[1]}"`);
  });

  it("shows rates, the age of the queue, and dead letters by cause", async () => {
    const page = await open();
    const traffic = page.getByRole("region", { name: "Traffic" });
    await expect
      .poll(async () => {
        await agent.sendSpan("GET /cart");
        return traffic.getByRole("row", { name: /^In/ }).innerText();
      })
      .toMatch(/[1-9][\d.]*\s+records\/s/);
    await traffic.getByRole("row", { name: /^Out/ }).waitFor();
    const queues = page.getByRole("region", { name: "Queues" });
    await queues.getByText(/ago, waits for otlp_http\/gone/).waitFor();
    const causes = page.getByRole("region", { name: "Dead letters" });
    await causes.getByText(/onerror=/).waitFor();
    await causes.getByRole("link", { name: "HTTP 400" }).click();
    await page.getByRole("heading", { name: "Failures" }).waitFor();
    expect(page.url()).toContain("signature=");
  });

  it("lists what changed last: the start, the config, replays and actions", async () => {
    const page = await open();
    const changes = page.getByRole("region", { name: "What changed last" });
    await changes.getByText(/The agent was started/).waitFor();
    await changes.getByText("Config generation 1 was loaded").waitFor();
    await changes.getByText(/replay of 1 dead letter, 1 failed again/).waitFor();
    await changes.getByText(/console.*paused? otlp_http\/good/).waitFor();
  });

  it("has numbers in the navigation that lead to what they count", async () => {
    const page = await open();
    const pages = page.getByRole("navigation", { name: "Pages" });
    await pages.getByRole("link", { name: /^Exporters, [23] not up$/ }).waitFor();
    await pages.getByRole("link", { name: "Failures, 1 dead letter" }).click();
    await page.getByRole("link", { name: "HTTP 400" }).waitFor();
  });

  it("has all pages in one row of the header on a laptop", async () => {
    const page = await open();
    await page.getByText("all roles").waitFor();
    const agentName = page.locator("header .agent");
    const lastPage = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit" });
    for (const width of [1280, 1366, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const [name, link] = [(await agentName.boundingBox())!, (await lastPage.boundingBox())!];
      expect(name.y).toBeGreaterThanOrEqual(link.y);
      expect(name.x).toBeGreaterThan(link.x + link.width);
    }
  });

  it("is readable on a telephone and a large screen, in the light and in the dark", async () => {
    for (const colorScheme of ["light", "dark"] as const)
      for (const [width, height] of [
        [390, 844],
        [1024, 768],
        [1440, 900],
      ] as const) {
        const page = await open({ colorScheme, viewport: { width, height } });
        await page.getByText("Config generation 1 was loaded").waitFor();
        await page.getByRole("region", { name: "Traffic" }).getByRole("row", { name: /^In/ }).waitFor();
        expect(await sidewaysScroll(page)).toBe(0);
        const hidden = "(nav => nav.scrollWidth - nav.clientWidth)(document.querySelector('header nav'))";
        expect(await page.evaluate(hidden)).toBe(0);
        await takePicture(page, `overview-${colorScheme}-${width}`);
      }
  });
});
