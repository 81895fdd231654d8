import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture, violationsOf } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

const WIDTHS = [390, 1440];
const SCHEMES = ["light", "dark"] as const;

let agent: ConsoleAgent;
let failedId: string;
let replayId: string;
const openPage = pagesOfTests();

/** A graph of seven columns, with long names. */
const LONG = {
  processors: ["a", "b", "c", "d", "e"]
    .map((name) => `attributes/step-${name}-of-the-orders: {actions: [{key: ${name}, value: x, action: insert}]}`)
    .join("\n  "),
  exporters: `otlp_http/archive-of-everything-for-seven-years: {endpoint: "http://127.0.0.1:9"}`,
  pipelines: `logs/long: {receivers: [otlp], processors: [${["a", "b", "c", "d", "e"].map((name) => `attributes/step-${name}-of-the-orders`).join(", ")}], exporters: [otlp_http/archive-of-everything-for-seven-years]}`,
};

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent(LONG);
  for (let n = 0; n < 3; n++) await agent.sendLog(`order ${n} of bob@example.com`);
  await agent.sendSpan("GET /cart");
  const listed = async () =>
    (await agent.api<{ entries: readonly { id: string }[] }>("/dead-letters?exporter=otlp_http/bad")).entries;
  await until(async () => expect(await listed()).toHaveLength(3));
  failedId = (await listed())[0]!.id;
  const headers = { authorization: `Bearer ${CONSOLE_TOKEN}`, "content-type": "application/json" };
  const body = JSON.stringify({ ids: [failedId], by: "ann", reason: "again" });
  const answer = await fetch(`${agent.url}/api/v1/dead-letters/replay`, { method: "POST", headers, body });
  replayId = ((await answer.json()) as { id: string }).id;
  await until(async () => expect(await listed()).toHaveLength(3));
});

afterAll(async () => {
  await agent?.stop();
});

/** Each page, and what it shows when it is complete. */
const PAGES: readonly (readonly [string, () => string, string])[] = [
  ["overview", () => "#/", ".changes li"],
  ["pipelines", () => "#/pipelines?node=exporter:otlp_http/bad", ".node-panel pre.config"],
  ["exporters", () => "#/exporters", "article"],
  ["failures", () => "#/failures", "tbody tr"],
  ["entries", () => "#/failures?view=entries&exporter=otlp_http/bad", "tbody tr"],
  ["entry", () => `#/failures/${failedId}`, ".payload .branch"],
  ["replays", () => "#/replay", "tbody tr"],
  ["new-replay", () => "#/replay/new?exporter=otlp_http/bad", "form"],
  ["replay", () => `#/replay/${replayId}`, "progress"],
  ["cost-off", () => "#/cost", "section pre"],
  ["tail", () => "#/tail?at=receiver:otlp", ".tap"],
  ["ottl", () => "#/ottl", "textarea"],
  ["config", () => "#/config", "main :is(.card, .empty)"],
  ["rehearsal", () => "#/rehearsal", "main :is(form, .card, .empty)"],
  ["agents", () => "#/agents", ".empty, table"],
  ["audit", () => "#/audit", "tbody tr"],
];

describe.skipIf(!hasBrowser)("every page of the console", () => {
  it.each(PAGES)("%s is accessible and fits, on a telephone and a desk, light and dark", async (name, place, shown) => {
    const page = await openPage(`${agent.url}/${place()}`, CONSOLE_TOKEN);
    await page.locator(shown).first().waitFor();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await takePicture(page, `${name}-${width}-${colorScheme}`);
        expect([width, colorScheme, await violationsOf(page)]).toEqual([width, colorScheme, []]);
      }
      expect(await sidewaysScroll(page)).toBe(0);
    }
  });

  it("has a dialog that is accessible, keeps the focus, and gives it back", async () => {
    const page = await openPage(`${agent.url}/#/failures/${failedId}`, CONSOLE_TOKEN);
    const button = page.getByRole("button", { name: "Reveal…" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  });

  it("leads from a cause to a dry run by the keyboard alone", async () => {
    const page = await openPage(`${agent.url}/#/failures`, CONSOLE_TOKEN);
    await page.getByRole("link", { name: "Replay…" }).first().waitFor();
    await tabTo(page, "Replay…");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "New replay" }).waitFor();
    await tabTo(page, "Dry run");
    await page.keyboard.press("Enter");
    await page.getByText("would be replayed").waitFor();
  });
});

/** Presses Tab until an element with this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  const MAX_STOPS = 80;
  for (let n = 0; n < MAX_STOPS; n++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement.textContent.trim()")) === text) return;
  }
  throw new Error(`Tab does not lead to ${text}`);
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function boxesOf(page: Page, selector: string): Promise<readonly Box[]> {
  return page.evaluate<readonly Box[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => {
      const { left, right, top, bottom } = each.getBoundingClientRect();
      return { left, right, top, bottom };
    })`,
  );
}

describe.skipIf(!hasBrowser)("a graph of seven columns", () => {
  it.each([390, 800, 1024, 1440])("is seen as a whole at %i pixels, with rates beside the nodes", async (width) => {
    const page = await openPage(`${agent.url}/#/pipelines`, CONSOLE_TOKEN, { viewport: { width, height: 900 } });
    await page.locator("svg .rate").first().waitFor();
    const [canvas] = await boxesOf(page, ".canvas");
    const nodes = await boxesOf(page, "svg .node > rect:first-of-type");
    expect(nodes).toHaveLength(11);
    for (const { left, right } of nodes) {
      expect(left).toBeGreaterThanOrEqual(canvas!.left);
      expect(right).toBeLessThanOrEqual(canvas!.right + 0.5);
    }
    const texts = await boxesOf(page, "svg .rate");
    const isOn = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    expect(texts.filter((text) => nodes.some((node) => isOn(text, node)))).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    await takePicture(page, `graph-${width}`);
  });

  it("names nodes in full, and is zoomed in and fitted again", async () => {
    const page = await openPage(`${agent.url}/#/pipelines`, CONSOLE_TOKEN);
    const full = "exporter otlp_http/archive-of-everything-for-seven-years";
    await page.getByRole("link", { name: full }).waitFor();
    expect(await page.locator("svg a.node title").allTextContents()).toContain(full);
    const widthOf = async () => (await boxesOf(page, ".canvas svg")).map(({ left, right }) => right - left)[0]!;
    const fitted = await widthOf();
    await page.getByRole("button", { name: "Zoom in" }).click();
    expect(await widthOf()).toBeGreaterThan(fitted * 1.2);
    expect(await sidewaysScroll(page)).toBe(0);
    await page.getByRole("button", { name: "Fit" }).click();
    expect(await widthOf()).toBe(fitted);
  });
});
