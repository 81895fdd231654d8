import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

/** Tests the pages of an agent in which everything has happened once. */
let agent: ConsoleAgent;
let failedId: string;
let otherFailedId: string;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  const more = {
    receivers: `redis_stream: {endpoint: "127.0.0.1:9"}`,
    processors: `filter/noise: {logs: {log_record: ['body == "noise"']}}\n  batch/unused:`,
    exporters: `otlp_http/gone: {endpoint: "http://127.0.0.1:9", circuit_breaker: {failure_threshold: 1, reset_timeout: 1h}}`,
    pipelines: "logs/noise: {receivers: [otlp, redis_stream], processors: [filter/noise], exporters: [otlp_http/gone]}",
  };
  agent = await startConsoleAgent(more);
  await agent.sendLog("an order of acme", { tenant: "acme" });
  await agent.sendLog("an order of other", { tenant: "other" });
  await agent.sendSpan("GET /queue");
  await until(async () => expect(await deadLetters()).toHaveLength(2));
  const breaker = async () =>
    (await agent.api<{ breaker: { state: string } }>("/exporters/otlp_http%2Fgone")).breaker.state;
  await until(async () => expect(await breaker()).toBe("open"));
  [otherFailedId, failedId] = (await deadLetters()).map(({ id }) => id) as [string, string];
});

afterAll(async () => {
  await agent?.stop();
});

async function deadLetters() {
  return (await agent.api<{ entries: readonly { id: string }[] }>("/dead-letters")).entries;
}

async function open(path: string): Promise<Page> {
  return openPage(`${agent.url}/${path}`, CONSOLE_TOKEN);
}

function post(path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${CONSOLE_TOKEN}`, "content-type": "application/json" };
  return fetch(`${agent.url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Replays a dead letter, and waits until it is one again. */
async function replayInVain(id: string, reason: string): Promise<void> {
  expect((await post("/dead-letters/replay", { ids: [id], by: "ann", reason })).status).toBe(200);
  await until(async () => expect((await deadLetters()).map((each) => each.id)).toContain(id));
}

const rows = (page: Page): Locator => page.locator("tbody tr");

describe.skipIf(!hasBrowser)("the pipelines page", () => {
  it("shows what the config was warned of", async () => {
    const page = await open("#/pipelines");
    await page.locator(".note").getByText('processor "batch/unused" is not used').first().waitFor();
  });

  it("shows the breaker, the queue and the dead letters on exporters, and what a processor drops", async () => {
    const page = await open("#/pipelines");
    const node = (name: string) => page.locator("svg a.node").filter({ has: page.locator(`title:text-is("${name}")`) });
    await node("exporter otlp_http/gone").getByText("breaker open").waitFor();
    await node("exporter otlp_http/bad")
      .getByText(/^[2-9] dead letters|\d\d dead letters/)
      .waitFor();
    await node("exporter otlp_http/good").getByText("queue empty").waitFor();
    await node("exporter otlp_http/down")
      .getByText(/^queue \d/)
      .waitFor();
    await expect
      .poll(async () => {
        await agent.sendLog("noise", { tenant: "noise" });
        return node("processor filter/noise")
          .getByText(/dropped [\d.]+\/s/)
          .count();
      })
      .toBe(1);
    await takePicture(page, "pipelines-states");
  });

  it("taps a node from its panel, and counts what it did", async () => {
    const page = await open("#/pipelines?node=receiver:otlp");
    const panel = page.getByRole("region", { name: "receiver otlp" });
    await panel.getByRole("button", { name: "Live tap" }).click();
    await panel.getByText(/^live/).waitFor();
    await expect
      .poll(async () => {
        await agent.sendSpan("GET /tapped");
        return panel.locator(".tapped").getByText("GET /tapped").count();
      })
      .toBeGreaterThan(0);
    for (const name of ["In", "Out", "Refused"])
      await panel.getByRole("row", { name: new RegExp(`^${name}.*max`) }).waitFor();
    await panel.getByRole("button", { name: "Close tap" }).click();
    await panel.locator(".tap").waitFor({ state: "detached" });
  });
});

describe.skipIf(!hasBrowser)("the exporters page", () => {
  it("tells when a breaker probes next, the last error, and how full the queue is and was", async () => {
    const page = await open("#/exporters");
    const gone = page.getByRole("article", { name: "otlp_http/gone" });
    await gone.getByText(/next probe in (5\d|60) min/).waitFor();
    await gone.getByText("ECONNREFUSED").first().waitFor();
    await gone.getByText(/\d+ entries, \d+ records, .*oldest/).waitFor();
    const down = page.getByRole("article", { name: "otlp_http/down" });
    await down.getByText(/\d+ entr(y waits|ies wait) for (its|their) retry, the next is due in \d+ min/).waitFor();
    await gone.getByRole("img", { name: /bytes in the queue in the last \d+ (s|min)/ }).waitFor();
    await page
      .getByText(/^[1-4] of 4 (up|degraded|down)$/)
      .first()
      .waitFor();
    await takePicture(page, "exporters-states");
  });

  it("tells below which receivers are down, what they cannot read and why", async () => {
    const page = await open("#/exporters");
    await page.getByText("1 of 2 down", { exact: true }).waitFor();
    const redis = page.getByRole("article", { name: "redis_stream" });
    await redis.getByText("Cannot read otlp:logs").waitFor();
    await redis.locator("strong").getByText("otlp:logs").waitFor();
    await redis.getByText(/connect ECONNREFUSED 127\.0\.0\.1:9$/).waitFor();
    const otlp = page.getByRole("article", { name: "otlp", exact: true });
    await otlp.getByText("UP", { exact: true }).waitFor();
    expect(await otlp.getByText("Reconnects").count()).toBe(0);
    await takePicture(page, "receivers");
  });

  it("keeps the reason of what is done in the audit", async () => {
    const page = await open("#/exporters");
    const good = page.getByRole("article", { name: "otlp_http/good" });
    await good.getByRole("button", { name: "Open breaker" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("to see it fail");
    await page.getByRole("dialog").getByRole("button", { name: "Open breaker" }).click();
    await good.getByText("forced").waitFor();
    const kept = async () => (await agent.api<{ records: readonly object[] }>("/audit?action=breaker")).records[0];
    const wanted = { actor: "console", target: "otlp_http/good", reason: "to see it fail", outcome: "done" };
    await until(async () => expect(await kept()).toMatchObject(wanted));
    expect((await post("/exporters/otlp_http%2Fgood/breaker", { state: "auto" })).status).toBe(200);
  });
});

describe.skipIf(!hasBrowser)("the failures page", () => {
  it("shows how often each cause occurred, since when and until when", async () => {
    const page = await open("#/failures");
    const row = rows(page).filter({ hasText: "HTTP 400" });
    const cell = (name: string) => row.locator(`td[data-label="${name}"]`);
    await expect.poll(() => cell("Entries").innerText()).toMatch(/^[2-9]|\d\d+$/);
    expect(await cell("Exporter").innerText()).toBe("otlp_http/bad");
    expect(await cell("Reason").innerText()).toBe("permanent");
    expect(await cell("Records").innerText()).toMatch(/\d/);
    expect(await cell("Trend").locator("svg").getAttribute("aria-label")).toMatch(/how often: .*[1-9]/);
    // The newest bar is the highest: all of the height.
    expect(await cell("Trend").locator("svg path").getAttribute("d")).toContain("V0.0");
    for (const name of ["First", "Last"]) expect(await cell(name).innerText()).toMatch(/ago|now/);
  });

  it.each([
    ["Attribute", "tenant=acme", 1],
    ["OTTL condition", 'attributes["tenant"] == "acme"', 1],
    ["Text", "order of other", 1],
    ["Category", "nowhere", 0],
    ["Event name", "order.*", 2],
  ])("filters by %s", async (label, value, found) => {
    const page = await open("#/failures?view=entries&exporter=otlp_http/bad");
    await page.getByLabel(label).fill(value);
    await page.getByRole("button", { name: "Filter" }).click();
    if (found === 0) await page.getByText("No dead letter matches").waitFor();
    else if (label === "Event name") await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(found);
    else await expect.poll(() => rows(page).count()).toBe(found);
  });

  it("filters by reason and by time", async () => {
    const page = await open("#/failures?view=entries");
    await rows(page).first().waitFor();
    await page.getByLabel("Failed within").selectOption("15 minutes");
    await expect.poll(() => page.url()).toContain("minutes=15");
    await rows(page).first().waitFor();
    await page.getByLabel("Reason").selectOption("poison");
    await page.getByText("No dead letter matches").waitFor();
    await page.getByLabel("Reason").selectOption("permanent");
    await rows(page).first().waitFor();
  });

  it("says what is wrong with a condition", async () => {
    const page = await open("#/failures?where=nonsense((");
    await page.locator(".problem").getByText("where").first().waitFor();
  });

  it("tells what happened to an entry, also before it was replayed", async () => {
    await replayInVain(failedId, "again");
    const page = await open(`#/failures/${failedId}`);
    const steps = page.locator(".timeline li");
    await steps.filter({ hasText: /failed after 1 call: HTTP 400/ }).waitFor();
    await steps.filter({ hasText: /replayed by console/ }).waitFor();
    await steps.filter({ hasText: "attempt failed: HTTP 400" }).getByText("onerror").waitFor();
    expect(await steps.first().innerText()).toContain("came in");
    expect(await steps.last().innerText()).toContain("became a dead letter: permanent");
    await page.getByText("otlp (http)").waitFor();
    await page.getByRole("link", { name: "all of this cause" }).click();
    await rows(page).first().waitFor();
  });

  it("lets some be chosen and replayed", async () => {
    const page = await open("#/failures?view=entries&text=an%20order");
    await page.getByLabel(`Choose ${failedId}`, { exact: true }).check();
    await page.getByRole("button", { name: "Replay 1 chosen…" }).click();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Start replay of 1" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("the audit page", () => {
  it("is filtered by who, what and when", async () => {
    expect((await post("/exporters/otlp_http%2Fgood/retry", {})).status).toBe(200);
    await replayInVain(otherFailedId, "for the audit");
    const page = await open("#/audit");
    await page.getByLabel("Action").selectOption("replay");
    const row = rows(page).filter({ hasText: "for the audit" });
    await row.waitFor();
    const others = rows(page).filter({ hasNotText: "replay" });
    await expect.poll(() => others.count()).toBe(0);
    await row.getByText("replayed the dead letter").or(row.getByText("replayed 1 dead letter")).waitFor();
    expect(await page.locator("main").innerText()).not.toContain('"action"');
    await row.locator("summary").click();
    await row.getByText('"action": "replay"').waitFor();
    expect(await row.locator('td[data-label="Reason"]').innerText()).toBe("for the audit");
    expect(await row.locator('td[data-label="Outcome"]').innerText()).not.toBe("");
    await page.getByLabel("Within").selectOption("1 hour");
    await rows(page).first().waitFor();
    await page.getByLabel("Who").fill("nobody of that name");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("The audit is empty.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("the audit page with much in it", () => {
  it("shows more records on request, and reports when they are not available", async () => {
    const asked = 105;
    for (let n = 0; n < asked; n++) expect((await post("/exporters/otlp_http%2Fgood/retry", {})).status).toBe(200);
    const page = await open("#/audit?action=retry");
    await rows(page).first().waitFor();
    const first = await rows(page).count();
    expect(first).toBeLessThan(asked);
    const more = page.getByRole("button", { name: "Load more" });
    await page.route("**/audit?*cursor=*", (route) => route.fulfill({ status: 500, json: {} }), { times: 1 });
    await more.click();
    await page.locator(".problem").waitFor();
    await more.click();
    await expect.poll(() => rows(page).count()).toBeGreaterThan(first);
    await page.locator(".problem").waitFor({ state: "detached" });
  });
});

describe.skipIf(!hasBrowser)("the live tail", () => {
  it("looks at one edge, is paused and cleared", async () => {
    const page = await open("#/tail");
    await page.getByLabel("Where").selectOption({ label: "otlp → attributes/stage (logs)" });
    await page.getByRole("button", { name: "Tap" }).click();
    await page.getByText(/^live/).waitFor();
    const tapped = page.locator(".tapped details");
    const pass = async () => {
      await agent.sendLog("noise");
      return tapped.count();
    };
    await expect.poll(pass).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText(/^paused/).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    expect(await tapped.count()).toBe(0);
    expect(await pass()).toBe(0);
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(pass).toBeGreaterThan(0);
  });
});
