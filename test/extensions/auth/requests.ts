import type { ExtensionContext } from "../../../src/plugin.js";
import type { ServerAuthRequest } from "../../../src/runtime/contract/auth.js";
import { type Clock, systemClock } from "../../../src/runtime/contract/clock.js";
import type { Logger } from "../../../src/runtime/contract/observability.js";
import { FakeMetrics } from "../../receivers/otlp/harness.js";

/** The head of a request with these headers, on its own connection. */
export function head(headers: Readonly<Record<string, string>> = {}, remoteAddress = "192.0.2.1"): ServerAuthRequest {
  return {
    header: (name) => headers[name],
    remoteAddress,
    connection: {},
    peerCertificate: () => undefined,
  };
}

export function basic(user: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

export interface TestContext extends ExtensionContext {
  readonly metrics: FakeMetrics;
  /** The log lines, as JSON. */
  readonly lines: string[];
}

export function contextOf(id: string, clock: Clock = systemClock): TestContext {
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }));
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const metrics = new FakeMetrics();
  return { id, kind: "extension", logger, metrics, clock, random: () => 0.5, host: { state: "starting" }, lines };
}

/** Returns what the call throws or rejects with; fails if it accepts the client. */
export async function refusalOf(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
  } catch (error) {
    return error;
  }
  throw new Error("was let in");
}
