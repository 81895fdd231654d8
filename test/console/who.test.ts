import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent, VIEWER_TOKEN } from "./console-agent.js";

let agent: ConsoleAgent;
let failedId: string;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent();
  await agent.sendLog("an order of alice@example.com");
  const dead = async () => (await agent.api<{ entries: readonly { id: string }[] }>("/dead-letters")).entries;
  await until(async () => expect(await dead()).toHaveLength(1));
  failedId = (await dead())[0]!.id;
});

afterAll(async () => {
  await agent?.stop();
});

function open(path: string, token: string | undefined, options?: Parameters<typeof openPage>[2]): Promise<Page> {
  return openPage(`${agent.url}/${path}`, token, options);
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

describe.skipIf(!hasBrowser)("the console", () => {
  it("says who is signed in and what they may do, and signs them out", async () => {
    const page = await open("#/exporters", undefined);
    await signIn(page, VIEWER_TOKEN);
    const menu = page.locator("summary", { hasText: "vera" });
    await menu.getByText("view only").waitFor();
    await menu.click();
    await page.getByText("The audit records what you do as vera.").waitFor();
    await takePicture(page, "user-menu");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "hidden" });
    await menu.click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByText("vera").count()).toBe(0);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(page, CONSOLE_TOKEN);
    await page.locator("summary", { hasText: "console" }).getByText("all roles").waitFor();
  });

  it("shows the menu on a telephone", async () => {
    const page = await open("#/exporters", CONSOLE_TOKEN, { viewport: { width: 390, height: 844 } });
    await page.locator("summary", { hasText: "console" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await takePicture(page, "user-menu-telephone");
    expect(await sidewaysScroll(page)).toBe(0);
    const box = (await page.locator(".user-card").boundingBox())!;
    expect([box.x >= 0, box.x + box.width <= 390]).toEqual([true, true]);
  });
});

describe.skipIf(!hasBrowser)("a user who may only look", () => {
  it.each([
    [
      "#/exporters",
      "Pausing exporters, retrying and holding breakers needs the role configure",
      /^(Pause|Retry now|Open breaker)$/,
    ],
    ["#/failures?view=entries", "Replaying dead letters needs the role replay", /Replay/],
    ["#/replay/new?exporter=otlp_http/bad", "Replaying dead letters needs the role replay", /Dry run|Start/],
    ["#/config", "Reloading needs the role configure", /Reload/],
    ["#/tail", "Watching records needs the role reveal", /Tap/],
    ["failure", "Unmasking it needs the role reveal", /Reveal|Edit|Replay…/],
  ])("sees at %s why actions are missing, and none that would fail", async (place, why, actions) => {
    const page = await open(place === "failure" ? `#/failures/${failedId}` : place, VIEWER_TOKEN);
    await page.getByText(why).first().waitFor();
    expect(await page.locator("main").getByRole("button", { name: actions }).count()).toBe(0);
    expect(await page.locator("main a.button", { hasText: actions }).count()).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the audit", () => {
  it("names a person as their token does, whether they act in the console or by the API", async () => {
    const headers = { authorization: `Bearer ${CONSOLE_TOKEN}`, "content-type": "application/json" };
    const retry = `${agent.url}/api/v1/exporters/otlp_http%2Fgood/retry`;
    await fetch(retry, { method: "POST", headers, body: JSON.stringify({ by: "root", reason: "from a script" }) });
    const page = await open("#/exporters", CONSOLE_TOKEN);
    await page.getByRole("article", { name: "otlp_http/good" }).getByRole("button", { name: "Retry now" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("with your name, console").waitFor();
    await dialog.getByRole("button", { name: "Retry now" }).click();
    await dialog.waitFor({ state: "detached" });
    const actors = async () => {
      const { records } = await agent.api<{ records: readonly { actor: string }[] }>("/audit?action=retry");
      return records.map(({ actor }) => actor);
    };
    await until(async () => expect(await actors()).toEqual(["console", "console"]));
  });
});
