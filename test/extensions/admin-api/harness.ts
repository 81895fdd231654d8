import { existsSync, readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { loadedMask, maskBatch } from "../../../src/agent/mask-batch.js";
import { adminApi } from "../../../src/extensions/admin-api/component.js";
import type { Host } from "../../../src/plugin.js";
import type { ServerAuthenticator } from "../../../src/runtime/contract/auth.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import type { Admin } from "../../../src/runtime/contract/operations/admin.js";
import { deadLetterLanguage } from "../../../src/runtime/ottl/compile/dead-letter-language.js";
import { createAdmin } from "../../../src/runtime/queue/operate/admin.js";
import type { OperatorRecords } from "../../../src/runtime/queue/records/operator-records.js";
import { control, type FakeControl, memoryRecords } from "../../runtime/queue/operate/controls.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any;

export interface Api {
  readonly url: string;
  /** The headers that authenticate the owner. */
  readonly owner: Readonly<Record<string, string>>;
  readonly said: { readonly level: string; readonly message: string; readonly fields: object }[];
  readonly a: FakeControl;
  readonly b: FakeControl;
  readonly records: OperatorRecords;
  readonly host: { state: Host["state"]; admin: Admin | undefined };
  /** Returns status and JSON of a request; a body is sent as JSON. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Json }>;
}

/** The extension on its own port, with two exporters whose sends the test answers. The test has all roles. */
export async function startApi(
  config: object = { endpoint: "127.0.0.1:0" },
  authenticator?: ServerAuthenticator,
): Promise<Api> {
  await loadedMask();
  const [a, b] = [await control("a"), await control("b/x")];
  const said: Api["said"] = [];
  const note = (level: string) => (fields: object, message: string) => void said.push({ level, message, fields });
  let endpoint = "";
  const logger = {
    debug: note("debug"),
    info(fields: { endpoint?: string }, message: string) {
      endpoint ||= fields.endpoint ?? "";
      said.push({ level: "info", message, fields });
    },
    warn: note("warn"),
    error: note("error"),
    child: () => logger,
  };
  const records = memoryRecords(systemClock, logger);
  const services = {
    clock: systemClock,
    logger,
    metrics: noMetrics,
    running: { config: { generation: "2" } },
    mask: maskBatch,
    language: deadLetterLanguage,
    records,
  };
  const host: Api["host"] = {
    state: "ready",
    admin: createAdmin(
      new Map([
        ["a", a],
        ["b/x", b],
      ]),
      services,
    ),
  };
  const context = {
    id: "admin",
    kind: "extension",
    logger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    host,
    ...(authenticator && {
      authenticators: { server: () => authenticator, client: () => undefined as never },
    }),
  } as const;
  const isLocked = "tokens" in config || "auth" in config || "token_file" in config;
  const file = join(temporaryFolder(), "admin-token");
  const extension = adminApi.create(
    adminApi.schema.parse(isLocked ? config : { token_file: file, ...config }),
    context,
  );
  onTestFinished(() => extension.stop());
  await extension.start();
  const url = `${"tls" in config ? "https" : "http"}://${endpoint}/api/v1`;
  const owner: Record<string, string> =
    isLocked || !existsSync(file) ? {} : { authorization: `Bearer ${readFileSync(file, "utf8").trim()}` };
  return {
    url,
    owner,
    said,
    a,
    b,
    records,
    host,
    ask: (method, path, body, headers = {}) => ask(url, method, path, body, { ...owner, ...headers }),
  };
}

async function ask(url: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const type = method === "POST" ? { "content-type": "application/json" } : {};
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise<{ status: number; body: Json }>((resolve, reject) => {
    const request = httpRequest(url + path, { method, headers: { ...type, ...headers } }, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (chunk) => (answer += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const isJson = response.headers["content-type"] === "application/json" && answer !== "";
        resolve({ status: response.statusCode!, body: isJson ? JSON.parse(answer) : answer });
      });
    });
    request.on("error", reject);
    request.end(text);
  });
}
