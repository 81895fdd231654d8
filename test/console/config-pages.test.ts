import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { CONDITION_LIMIT_MS } from "../support/limits.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { HOSTILE } from "./console-agent.js";

/** An agent whose config is a file that the tests change, which lists other agents, and whose traffic never ends. */
let agent: AgentProcess;
let sink: OtlpSink;
let other: AgentProcess;
let impostor: OtlpSink;
let folder: string;
let file: string;
let url: string;
let stopSending = async () => {};
const openPage = pagesOfTests();
const OWNER = "token-of-the-owner-of-it";
const VIEWER = "token-of-a-mere-viewer";
const OF_OTHER = "token-of-the-other-agent";

const FILTER = {
  processors: `filter: {logs: {log_record: ['body == "ping"']}}, attributes: {actions: [{key: env, value: prod, action: insert}, {key: mail, action: delete}]}`,
  use: "filter, attributes",
};

beforeAll(async () => {
  if (!hasBrowser) return;
  folder = mkdtempSync(join(tmpdir(), "sluice-console-"));
  sink = await startSink();
  impostor = await startSink();
  impostor.respond((_, response) => response.writeHead(200).end(JSON.stringify({ name: HOSTILE })));
  const [otherPort, port] = [await freePort(), await freePort()];
  other = await startAgentProcess({ yaml: configText(join(folder, "other"), otherPort, sink.url, [], {}, OF_OTHER) });
  file = join(folder, "agent.yaml");
  const agents = [
    `{name: eu-west, url: "http://127.0.0.1:${otherPort}", token: ${OF_OTHER}}`,
    `{name: eu-east, url: "http://127.0.0.1:${otherPort}", token: not-the-token-of-it}`,
    `{name: us-west, url: "http://127.0.0.1:9"}`,
    `{name: '<img src=x onerror="alert(1)">', url: "${impostor.url}"}`,
  ];
  write = (parts) => writeFileSync(file, configText(join(folder, "queue"), port, sink.url, agents, parts, OWNER));
  write({});
  agent = await startAgentProcess({ file });
  url = `http://127.0.0.1:${port}`;
  stopSending = sendAlways(agent.ports.http);
});

afterAll(async () => {
  await stopSending();
  for (const each of [agent, other]) {
    each?.child.kill("SIGTERM");
    await each?.exited;
  }
  for (const each of [sink, impostor]) await each?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface Parts {
  readonly processors?: string;
  readonly use?: string;
}

let write: (parts: Parts) => void;

function configText(
  directory: string,
  port: number,
  target: string,
  agents: readonly string[],
  parts: Parts,
  token: string,
) {
  const { processors = "", use = "" } = parts;
  return `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
processors: {${processors}}
exporters: {otlp_http: {endpoint: "${target}", compression: none}}
extensions:
  reliability: {directory: ${directory}}
  admin:
    endpoint: "127.0.0.1:${port}"
    tokens:
      - {name: owner, token: ${token}, roles: [view, reveal, replay, purge, configure]}
      - {name: viewer, token: ${VIEWER}, roles: [view]}
    agents: [${agents.join(", ")}]
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [${use}], exporters: [otlp_http]}}
`;
}

function sendAlways(port: number): () => Promise<void> {
  let isOver = false;
  const attributes = (route: string) => [
    { key: "mail", value: { stringValue: "ann@example.com" } },
    { key: "http.route", value: { stringValue: route } },
  ];
  const bodies = ["order 42 was paid", "ping", `<script>alert(3)</script>`];
  const logRecords = bodies.map((stringValue) => ({ body: { stringValue }, attributes: attributes("/orders") }));
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const headers = { "content-type": "application/json" };
  const send = async () => {
    while (!isOver) await fetch(`http://127.0.0.1:${port}/v1/logs`, { method: "POST", headers, body }).catch(() => {});
  };
  const sending = send();
  return async () => {
    isOver = true;
    await sending;
  };
}

const open = (path: string, token = OWNER): Promise<Page> => openPage(`${url}/${path}`, token);

/** Pictures in both widths and colours; nothing may be wider than the page. */
async function lookAt(page: Page, name: string): Promise<void> {
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await takePicture(page, `${name}-${width}-${colorScheme}`);
    }
    expect([name, width, await sidewaysScroll(page)]).toEqual([name, width, 0]);
  }
}

describe.skipIf(!hasBrowser)("the config page", () => {
  it("tells which config runs, what a reload would change, and reloads", async () => {
    write(FILTER);
    const page = await open("#/config");
    const running = page.getByRole("region", { name: "Running config" });
    await running.getByText("differ from the running config").waitFor();
    await running.getByText("none since the start").waitFor();
    const plan = page.getByRole("region", { name: "What a reload would change" });
    await plan.getByRole("row").filter({ hasText: "processor filter" }).getByText("add", { exact: true }).waitFor();
    await lookAt(page, "config-differs");
    await page.getByRole("button", { name: "Reload…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
    await page.getByRole("status", { name: "Reload" }).getByText("applied").waitFor();
    await running.getByText("are the same as the running config").waitFor();
    await lookAt(page, "config-reloaded");
  });

  it("shows why a config is refused, with the place, and that the old one runs on", async () => {
    const good = readFileSync(file, "utf8");
    writeFileSync(file, good.replace("exporters: [otlp_http]", "exporters: [otlp_htp]"));
    const page = await open("#/config");
    await page.getByText("The files have errors. A reload would be refused").waitFor();
    await page.getByRole("button", { name: "Reload…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
    await page.getByRole("status", { name: "Reload" }).getByText("refused: the config has errors").waitFor();
    await page
      .locator(".problem")
      .filter({ hasText: /agent\.yaml:\d+:\d+.*otlp_htp/ })
      .first()
      .waitFor();
    await lookAt(page, "config-refused");
    writeFileSync(file, good);
  });

  it("offers no reload to those who may not", async () => {
    const page = await open("#/config", VIEWER);
    await page.getByRole("region", { name: "Running config" }).waitFor();
    expect(await page.getByRole("button", { name: "Reload…" }).count()).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the rehearsal page", () => {
  it("starts a rehearsal, follows it, shows the difference, and reloads what was rehearsed", async () => {
    write({});
    await reload();
    write(FILTER);
    const page = await open("#/rehearsal");
    await page.getByText("There has been no rehearsal since the agent started.").waitFor();
    const form = page.getByRole("form", { name: "New rehearsal" });
    await form.getByLabel("Take a sample for").selectOption("10");
    await form.getByLabel("Share of the batches").selectOption("1");
    await form.getByLabel("Fail if").fill("nosuch>1");
    await form.getByRole("button", { name: "Start" }).click();
    await form.getByRole("alert").getByText("nosuch>1 is not a condition").waitFor();
    await form.getByLabel("Fail if").fill("errors>0");
    await form.getByRole("button", { name: "Start" }).click();
    const card = page.getByRole("region", { name: "Rehearsal" });
    await card.getByText(/^\d+ (s|ms) left to take the sample$/).waitFor();
    await lookAt(page, "rehearsal-sampling");
    // The rehearsal has a low priority, so it takes long on a busy machine.
    await card.getByText("passed").waitFor({ timeout: CONDITION_LIMIT_MS });
    const row = page.getByRole("region", { name: "Exporters" }).getByRole("row").filter({ hasText: "otlp_http" });
    await row.getByText("logs").waitFor();
    const fields = page.getByRole("region", { name: "Changed fields" });
    await fields.getByRole("row").filter({ hasText: 'attributes["env"]' }).getByText("prod").waitFor();
    await fields.getByRole("row").filter({ hasText: 'attributes["mail"]' }).getByText("removed").waitFor();
    await page.getByRole("region", { name: "Examples" }).getByText("ping").first().waitFor();
    expect(await page.locator("main").innerText()).not.toContain("ann@");
    await lookAt(page, "rehearsal-done");
    await card.getByRole("button", { name: "Reload…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
    await card.getByText("applied").waitFor();
  });

  it("cancels a rehearsal, and says what is wrong with the files", async () => {
    write({});
    const page = await open("#/rehearsal");
    const form = page.getByRole("form", { name: "New rehearsal" });
    await form.getByRole("button", { name: "Start" }).click();
    const card = page.getByRole("region", { name: "Rehearsal" });
    await card.getByRole("button", { name: "Cancel" }).click();
    await card.getByText("cancelled").waitFor();
    const good = readFileSync(file, "utf8");
    writeFileSync(file, good.replace("exporters: [otlp_http]", "exporters: [otlp_htp]"));
    await form.getByRole("button", { name: "Start" }).click();
    await card.getByText("the config has errors").waitFor();
    await card.locator(".problem").filter({ hasText: "otlp_htp" }).first().waitFor();
    await lookAt(page, "rehearsal-failed");
    writeFileSync(file, good);
  });

  it("shows a viewer the result without values of records, and no button", async () => {
    write(FILTER);
    const headers = { authorization: `Bearer ${OWNER}`, "content-type": "application/json" };
    await fetch(`${url}/api/v1/config/rehearsal`, { method: "POST", headers, body: '{"seconds":1,"share":1}' });
    const page = await open("#/rehearsal", VIEWER);
    await page.getByRole("region", { name: "Exporters" }).waitFor({ timeout: CONDITION_LIMIT_MS });
    expect(await page.getByRole("form", { name: "New rehearsal" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Reload…" }).count()).toBe(0);
    expect(await page.getByRole("region", { name: "Examples" }).count()).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the agents page", () => {
  it("lists the agents of the config as they are, with links, and without their tokens", async () => {
    const page = await open("#/agents", VIEWER);
    const answers: string[] = [];
    page.on("response", async (response) => answers.push(await response.text().catch(() => "")));
    await page.reload();
    const row = (text: string) => page.getByRole("row").filter({ hasText: text });
    await row("eu-west").getByText("UP", { exact: true }).waitFor();
    expect(await row("eu-west").getByRole("link").getAttribute("href")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    await row("eu-east").getByText("DENIED").waitFor();
    await row("us-west").getByText("UNREACHABLE").waitFor();
    await row("<img").getByText("INVALID").waitFor();
    await page.getByText("1 of 4").waitFor();
    await lookAt(page, "agents");
    expect(answers.join("")).not.toMatch(/token-of-the-other|not-the-token/);
  });
});

async function reload(): Promise<void> {
  const headers = { authorization: `Bearer ${OWNER}`, "content-type": "application/json" };
  const response = await fetch(`${url}/api/v1/config/reload`, { method: "POST", headers, body: "{}" });
  expect(["applied", "unchanged"]).toContain(((await response.json()) as { outcome: string }).outcome);
}
