import { readFileSync } from "node:fs";
import { get, request as httpRequest } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Logger } from "../../../src/plugin.js";
import { type FedAgent, type FedOptions, startFed } from "../../support/fed-agent.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any;

export interface ServerEvent {
  readonly event: string;
  readonly data: Json;
}

export interface EventReader {
  /** Everything received so far. */
  readonly events: readonly ServerEvent[];
  /** Everything received besides events: comments and the retry time. */
  readonly others: readonly string[];
  readonly isEnded: boolean;
  of(event: string): Json[];
  pause(): void;
  resume(): void;
  close(): void;
}

export interface RunningApi extends FedAgent {
  readonly url: string;
  /** The header that authenticates the owner. */
  readonly authorization: string;
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
  read(path: string): Promise<EventReader>;
}

/** `extensions` are further ones, in YAML's flow style: `insight: {}`. */
export interface RunningApiOptions extends FedOptions {
  readonly extensions?: string;
}

/** An agent in this process with its admin API on its own port; the test is its only receiver. */
export async function startRunningApi(pipelines: string, options: RunningApiOptions = {}): Promise<RunningApi> {
  let endpoint = "";
  const note = (fields: object, message: string) => {
    if (message === "admin API is listening") endpoint = (fields as { endpoint: string }).endpoint;
  };
  const logger: Logger = { debug() {}, info: note, warn() {}, error() {}, child: () => logger };
  const file = join(temporaryFolder(), "admin-token");
  const { extensions: others, ...fedOptions } = options;
  const more = others === undefined ? "" : `, ${others}`;
  const extensions = (directory: string) =>
    `extensions: {reliability: {directory: ${directory}}, admin: {endpoint: "127.0.0.1:0", token_file: ${file}}${more}}`;
  const fed = await startFed((directory) => `${extensions(directory)}\n${pipelines}`, { logger, ...fedOptions });
  onTestFinished(() => fed.agent.stop(0));
  const url = `http://${endpoint}/api/v1`;
  const headers = { authorization: `Bearer ${readFileSync(file, "utf8").trim()}` };
  return {
    ...fed,
    url,
    ...headers,
    ask: (...args) => ask(url, headers, ...args),
    read: (path) => readEvents(url + path, headers),
  };
}

function ask(url: string, owner: Record<string, string>, method: string, path: string, body?: unknown) {
  return new Promise<{ status: number; body: Json }>((resolve, reject) => {
    const headers = { ...owner, ...(method === "POST" && { "content-type": "application/json" }) };
    const request = httpRequest(url + path, { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode!, body: text === "" ? "" : JSON.parse(text) }));
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Resolves when the answer has begun. */
export function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers }, (response) => {
      if (response.headers["content-type"] !== "text/event-stream")
        return reject(new Error(`${response.statusCode} ${response.headers["content-type"]}`));
      const events: ServerEvent[] = [];
      const others: string[] = [];
      let rest = "";
      let isEnded = false;
      response.setEncoding("utf8").on("data", (chunk: string) => {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop()!;
        for (const block of blocks) {
          const match = /^event: (\S+)\ndata: ([^\n]*)$/.exec(block);
          if (match === null) others.push(block);
          else events.push({ event: match[1]!, data: JSON.parse(match[2]!) });
        }
      });
      response.on("close", () => (isEnded = true)).on("error", () => {});
      resolve({
        events,
        others,
        get isEnded() {
          return isEnded;
        },
        of: (event) => events.filter((each) => each.event === event).map(({ data }) => data),
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        close: () => request.destroy(),
      });
    });
    onTestFinished(() => void request.destroy());
    request.on("error", reject);
  });
}
