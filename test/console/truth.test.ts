import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

/** An agent with a journal, one dead letter, and an exporter that gets nothing. */
let agent: ConsoleAgent;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent({
    processors: "tail_sampling: {decision_wait: 1h, policies: [{name: all, type: always_sample}]}",
    exporters: `otlp_http/idle: {endpoint: "http://127.0.0.1:9"}`,
    pipelines: `traces/held: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp_http/good]}
    metrics: {receivers: [otlp], exporters: [otlp_http/idle]}`,
  });
  await agent.sendLog("an order");
  await agent.sendSpan("GET /cart");
  const dead = async () => (await agent.api<{ entries: readonly object[] }>("/dead-letters")).entries;
  await until(async () => expect(await dead()).toHaveLength(1));
});

afterAll(async () => {
  await agent?.stop();
});

async function open(path: string): Promise<Page> {
  return openPage(`${agent.url}/${path}`, CONSOLE_TOKEN);
}

describe.skipIf(!hasBrowser)("the exporters page", () => {
  it("counts one of a thing as one, and shows a share of failures only where something was sent", async () => {
    const page = await open("#/exporters");
    const card = (name: string) => page.getByRole("article", { name });
    await card("otlp_http/bad")
      .getByText(/^1 entry, 1 record, /)
      .waitFor();
    await card("otlp_http/bad")
      .getByText(/^100 % of 1 send in the last minute/)
      .waitFor();
    await card("otlp_http/idle").getByText("nothing was sent in the last minute").waitFor();
    expect(await page.locator("main").innerText()).not.toMatch(/\b1 (entries|records|dead letters)\b/);
    await takePicture(page, "truth-exporters");
  });

  it("asks for nothing that is not there, also with a journal among the exporters", async () => {
    const page = await open("#/pipelines");
    const missing: string[] = [];
    page.on("response", (response) => response.status() === 404 && missing.push(response.url()));
    const asked = page.waitForResponse((response) => response.url().includes("node=exporter%3Aintake"));
    await page.goto(`${agent.url}/#/exporters`);
    expect((await asked).status()).toBe(200);
    await page.getByRole("article", { name: /^intake\// }).waitFor();
    expect(missing).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the state of an exporter", () => {
  it("has the same colour on its card and in the graph", async () => {
    const pause = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    const headers = { ...pause.headers, authorization: `Bearer ${CONSOLE_TOKEN}` };
    await fetch(`${agent.url}/api/v1/exporters/otlp_http%2Fidle/pause`, { ...pause, headers });
    const tone = async (path: string, where: string) => {
      const badge = (await open(path)).locator(where).getByText("DEGRADED", { exact: true });
      return badge.evaluate("element => getComputedStyle(element).color");
    };
    const onCard = await tone("#/exporters", '[aria-label="otlp_http/idle"]');
    expect(await tone("#/pipelines?node=exporter:otlp_http/idle", ".node-panel")).toBe(onCard);
  });
});

describe.skipIf(!hasBrowser)("an address that leads nowhere", () => {
  it.each([
    ["#/nonsense", "The console has no page /nonsense"],
    ["#/exporters/otlp_http", "The console has no page /exporters/otlp_http"],
    ["#/pipelines?node=exporter:nonsense", "No component of the running config has the id exporter:nonsense"],
    ["#/failures/nonsense", 'Entry: there is no entry "nonsense".'],
    ["#/replay/nonsense", "Replay: there is no such replay, or it was forgotten."],
  ])("says so: %s", async (path, text) => {
    const page = await open(path);
    await page.getByText(text).waitFor();
  });
});
