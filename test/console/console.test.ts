import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, HOSTILE, HUGE, startConsoleAgent } from "./console-agent.js";

let agent: ConsoleAgent;
let failedId: string;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent();
  await agent.sendLog(HOSTILE, { "user.mail": "alice@example.com", [HOSTILE]: HOSTILE, dump: HUGE });
  await agent.sendSpan("GET /cart");
  await until(async () => expect(await deadLetters()).toHaveLength(1));
  failedId = (await deadLetters())[0]!.id;
});

afterAll(async () => {
  await agent?.stop();
});

async function deadLetters() {
  return (await agent.api<{ entries: readonly { id: string }[] }>("/dead-letters")).entries;
}

async function open(path: string, options?: Parameters<typeof openPage>[2], token = CONSOLE_TOKEN): Promise<Page> {
  return openPage(`${agent.url}/${path}`, token || undefined, options);
}

const textOf = (page: Page) => page.locator("main").innerText();

describe.skipIf(!hasBrowser)("the pipelines page", () => {
  it("shows what passes, now and in the last minutes", async () => {
    const page = await open("#/pipelines?node=exporter:otlp_http/down");
    const hasRate = async () => /[1-9][.\d]*\/s/.test((await page.locator("svg .rate").allTextContents()).join(" "));
    await expect
      .poll(async () => {
        await agent.sendSpan("GET /cart");
        return hasRate();
      })
      .toBe(true);
    await page.getByRole("row", { name: /Queue size/ }).waitFor();
  });

  it("draws every component, and shows the config of a clicked one", async () => {
    const page = await open("#/pipelines");
    for (const name of ["receiver otlp", "processor attributes/stage", "exporter otlp_http/bad"])
      await page.getByRole("link", { name, exact: true }).waitFor();
    await page.getByRole("link", { name: "processor attributes/stage" }).click();
    const panel = page.getByRole("region", { name: "processor attributes/stage" });
    await panel.getByText("key: stage").waitFor();
    await takePicture(page, "pipelines");
    await panel.getByRole("link", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });
  });
});

describe.skipIf(!hasBrowser)("the exporters page", () => {
  it("shows how each exporter is", async () => {
    const page = await open("#/exporters");
    const card = page.getByRole("article", { name: "otlp_http/bad" });
    await card.getByText("1 entry").waitFor();
    await takePicture(page, "exporters");
    await card.getByRole("link", { name: "1 entry" }).click();
    await page.getByRole("link", { name: "HTTP 400" }).waitFor();
  });

  it("pauses and resumes one after asking", async () => {
    const page = await open("#/exporters");
    const card = page.getByRole("article", { name: "otlp_http/good" });
    const isPaused = async () => (await agent.api<{ paused: boolean }>("/exporters/otlp_http%2Fgood")).paused;
    await card.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await isPaused()).toBe(false);
    for (const [name, paused] of [
      ["Pause", true],
      ["Resume", false],
    ] as const) {
      await card.getByRole("button", { name }).click();
      await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
      await expect.poll(isPaused).toBe(paused);
    }
    await card.getByRole("button", { name: "Pause" }).waitFor();
  });

  it("holds a breaker open and lets it go", async () => {
    const page = await open("#/exporters");
    const card = page.getByRole("article", { name: "otlp_http/good" });
    await card.getByRole("button", { name: "Open breaker" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Open breaker" }).click();
    await card.getByText("forced").waitFor();
    await card.getByRole("button", { name: "Make the breaker automatic" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Let go" }).click();
    await card.getByText("forced").waitFor({ state: "detached" });
  });
});

describe.skipIf(!hasBrowser)("the failures page", () => {
  it("leads from a cause to its entries to one of them", async () => {
    const page = await open("#/failures");
    await page.getByRole("link", { name: "HTTP 400" }).click();
    await page.getByRole("link", { name: failedId }).click();
    await page.getByText("became a dead letter").waitFor();
    await page.getByText("service.name").or(page.getByText("stage")).first().waitFor();
    await takePicture(page, "entry");
  });

  it("leads to the trace of a record", async () => {
    const page = await open(`#/failures/${failedId}`);
    const link = page.getByRole("link", { name: "5b8efff798038103d269b633813fc60c" });
    expect(await link.getAttribute("href")).toBe("https://traces.example/5b8efff798038103d269b633813fc60c?from=sluice");
  });

  it("filters by exporter and by name", async () => {
    const page = await open("#/failures?view=entries");
    await page.getByRole("link", { name: failedId }).waitFor();
    await page.getByLabel("Event name").fill("user.*");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No dead letter matches").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => page.url()).not.toContain("event=");
    await page.locator(".filters").getByLabel("Exporter").selectOption("otlp_http/bad");
    await expect.poll(() => page.url()).toContain("exporter=otlp_http%2Fbad");
    await page.getByRole("link", { name: failedId }).waitFor();
    await page.getByLabel("Text").fill("onerror");
    await page.getByRole("button", { name: "Filter" }).click();
    await expect.poll(() => page.url()).toContain("text=onerror");
    await page.getByRole("link", { name: failedId }).waitFor();
    await page.getByRole("link", { name: "By cause" }).click();
    await page.getByRole("link", { name: "HTTP 400" }).waitFor();
    expect(page.url()).toContain("exporter=otlp_http%2Fbad");
  });

  it("loses no filter of a user who is faster than the page", async () => {
    const page = await open("#/failures?view=entries&event=user.*");
    await page.getByText("No dead letter matches").waitFor();
    await page.getByLabel("Text").waitFor();
    const option = page.locator(".filters").getByLabel("Exporter").locator("option", { hasText: "otlp_http/bad" });
    await option.waitFor({ state: "attached" });
    // Each step is an event of its own. No timer, drawn frame or hashchange comes between them.
    await page.evaluate(`(async () => {
      const field = (label) => [...document.querySelectorAll(".filters label")]
        .find((each) => each.innerText.startsWith(label)).querySelector("input, select");
      const button = (text) => [...document.querySelectorAll(".filters button")].find((each) => each.innerText === text);
      const put = (label, value, kind) => {
        field(label).value = value;
        field(label).dispatchEvent(new Event(kind, { bubbles: true }));
      };
      const steps = [
        () => button("Clear").click(),
        () => put("Exporter", "otlp_http/bad", "change"),
        () => put("Text", "onerror", "input"),
        () => put("Category", "client", "input"),
        () => put("Category", "", "input"),
        () => button("Filter").click(),
      ];
      for (const step of steps) {
        step();
        for (let n = 0; n < 10; n++) await undefined;
      }
    })()`);
    await page.getByRole("link", { name: failedId }).waitFor();
    const filters = Object.fromEntries(new URLSearchParams(page.url().split("?")[1]));
    expect(filters).toEqual({ view: "entries", exporter: "otlp_http/bad", text: "onerror" });
    expect(await page.getByLabel("Text").inputValue()).toBe("onerror");
    expect(await page.locator(".filters").getByLabel("Exporter").inputValue()).toBe("otlp_http/bad");
  });

  it("shows what a stranger wrote as text, with what is hidden in it, and cuts what is huge", async () => {
    const page = await open(`#/failures/${failedId}`);
    const payload = page.locator(".payload");
    await payload.getByText("show more").first().waitFor();
    const text = await textOf(page);
    expect(text).toContain('<img src=x onerror="alert(1)"><script>alert(2)</script>');
    expect(text).toMatch(/ESC\s*\[31mred/);
    expect(text).toMatch(/U\+202E\s*txt\.exe\s*U\+202C/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text).not.toMatch(/[\u0000\u001b\u202a-\u202e]/);
    expect(text.length).toBeLessThan(20_000);
    expect(await page.locator("main img, main script").count()).toBe(0);
    await payload.getByText("show more").first().click();
    expect((await textOf(page)).length).toBeGreaterThan(20_000);
  });
});

describe.skipIf(!hasBrowser)("the live tail", () => {
  it("shows records as they pass, masked and as text", async () => {
    const page = await open("#/tail");
    await page.getByLabel("Where").selectOption({ label: "receiver otlp" });
    await page.getByLabel("OTTL condition").fill('IsMatch(span.name, "onerror")');
    await page.getByRole("button", { name: "Tap" }).click();
    await page.getByText(/^live/).waitFor();
    const row = page.locator(".tapped details").first();
    await expect
      .poll(async () => {
        await agent.sendSpan("GET /cart");
        await agent.sendSpan(`${HOSTILE} of alice@example.com`);
        return row.count();
      })
      .toBeGreaterThan(0);
    await row.click();
    const text = await page.locator(".tapped").innerText();
    expect(text).toContain("<script>alert(2)</script>");
    expect(text).not.toContain("alice@example.com");
    expect(text).not.toContain("GET /cart");
    await takePicture(page, "tail");
  });

  it("says what is wrong with a condition", async () => {
    const page = await open("#/tail?at=receiver:otlp&where=nonsense((");
    await page.locator(".problem").waitFor();
  });
});

describe.skipIf(!hasBrowser)("the OTTL playground", () => {
  it("shows what each statement makes of a record, and what is wrong with one", async () => {
    const page = await open("#/ottl");
    await page.getByLabel("Statements").fill('set(log.attributes["stage"], "prod")\nset(log.nonsense, 1)');
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Result 1" }).getByText('"stringValue": "prod"').waitFor();
    await page.getByRole("region", { name: "Result 2" }).getByText("error", { exact: true }).waitFor();
    await takePicture(page, "ottl");
    await page.getByLabel("Record").fill("{");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").waitFor();
  });
});

const PLACES = [
  "",
  "#/pipelines",
  "#/exporters",
  "#/replay",
  "#/tail",
  "#/ottl",
  "#/audit",
  "#/failures",
  "#/failures?view=entries",
];

describe.skipIf(!hasBrowser)("every page", () => {
  it("fits a telephone", async () => {
    for (const place of [...PLACES, `#/failures/${failedId}`]) {
      const page = await open(place, { viewport: { width: 390, height: 844 } });
      await page.locator("main :is(table, article, svg, .card, .empty, form)").first().waitFor();
      expect(await sidewaysScroll(page), place).toBe(0);
      await takePicture(page, `telephone-${place.replace(/\W+/g, "-")}`);
    }
  });

  it("is light or dark as the system is, and as the switch says", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open("#/exporters", { colorScheme });
      const isDark = async () =>
        (await page.evaluate<string>("getComputedStyle(document.body).backgroundColor"))
          .match(/\d+/g)!
          .map(Number)[0]! < 128;
      await page.getByRole("article").first().waitFor();
      expect(await isDark()).toBe(colorScheme === "dark");
      await takePicture(page, `exporters-${colorScheme}`);
      await page.getByRole("button", { name: /Colours: auto/ }).click();
      expect(await isDark()).toBe(false);
      await page.getByRole("button", { name: /Colours: light/ }).click();
      expect(await isDark()).toBe(true);
      await page.reload();
      expect(await isDark()).toBe(true);
    }
  });

  it("is reached and used by the keyboard alone", async () => {
    const page = await open("#/exporters");
    await page.getByRole("article").first().waitFor();
    const reached = async () => {
      await page.keyboard.press("Tab");
      return page.evaluate<string>("document.activeElement.textContent");
    };
    const seen: string[] = [];
    while (seen.length < 20 && seen.at(-1) !== "Pause") seen.push(await reached());
    expect(seen).toContain("Failures");
    expect(seen.at(-1)).toBe("Pause");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => page.evaluate<string>("document.activeElement.textContent")).toBe("Pause");
  });

  it("says that the agent is gone, and goes on by itself when it is back", async () => {
    const page = await open("#/exporters");
    await page.getByRole("article").first().waitFor();
    await agent.restart(async () => {
      await page.getByText("The agent cannot be reached").waitFor();
      await page.locator("header.lost").getByText("cannot be reached").waitFor();
      await takePicture(page, "agent-gone");
    });
    await page.locator("header.lost").waitFor({ state: "detached" });
    await page.getByText("Connected again").waitFor();
    await page.getByRole("article", { name: "otlp_http/bad" }).getByText("1 entry").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a visitor without a token", () => {
  it("sees nothing before it has signed in", async () => {
    const page = await open("#/exporters", {}, "");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByRole("article").count()).toBe(0);
    await page.getByLabel("Token").fill("wrong-token-wrong-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("the token is not valid").waitFor();
    await page.getByLabel("Token").fill(CONSOLE_TOKEN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("article", { name: "otlp_http/bad" }).waitFor();
  });
});
