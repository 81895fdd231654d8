import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BuiltInHost } from "#contract/built-in";
import { TapBudget, withIsoTimes } from "#contract/operations";
import {
  type HostPort,
  type HttpServerPlace,
  isLoopbackHost,
  type ListeningServer,
  plainAddress,
  startHttpServer,
} from "#net";
import { OttlTrials } from "#ottl";
import { maskText } from "#text";
import type { Logger } from "../../plugin.js";
import { type AdminAccess, requireRole } from "./access.js";
import type { OtherAgents } from "./agents/other-agents.js";
import { readBody } from "./body.js";
import { type ConsoleFile, findConsoleFile, isConsolePage } from "./console/console-files.js";
import { EventReaders } from "./events.js";
import { isVisit, rejectForeignHost, rejectForeignPage, requireContentType } from "./guard.js";
import { asHttpError, HttpError } from "./http-error.js";
import { Alerts } from "./live/alerts.js";
import { History } from "./live/history.js";
import { LiveSamples } from "./live/live-samples.js";
import { type Actor, type OperatorInput, operatorOf } from "./operator.js";
import { readParameters } from "./parameters.js";
import type { RouteAnswer, RouteServices } from "./route.js";
import { API_ROOT, findRoute } from "./routes.js";
import { sharedPages } from "./zpages/shared-address.js";

export { tapEvents } from "./live/tap.js";
export { edgesAt } from "./live/tap-routes.js";

interface AdminServerSettings extends Omit<HttpServerPlace, "configPath"> {
  readonly address: HostPort;
  readonly allowedHosts: readonly string[];
  readonly host: BuiltInHost;
  readonly access: AdminAccess;
  /** Returns the file with the owner's token, once there is one. */
  readonly tokenFile: () => string | undefined;
  readonly traceUrl: string | undefined;
  /** The other agents that the console lists. Stopped when the server is closed. */
  readonly agents: OtherAgents;
}

const HEADERS_TIMEOUT_MS = 10_000;

/** The share of its time that the agent spends on sending samples of its traffic. */
const SAMPLE_SHARE = 0.05;

/**
 * Rejects with a `StartError` if it cannot listen. Every error is answered as `{"error": {"code", "message"}}`. Closing
 * the server cancels running replays and open connections.
 */
export async function startAdminServer(settings: AdminServerSettings): Promise<ListeningServer> {
  const { address, allowedHosts, clock, host, agents, traceUrl } = settings;
  const readers = new EventReaders(clock);
  const alerts = new Alerts(settings.host, clock);
  const history = new History(settings.host, clock, () => alerts.check());
  const trials = new OttlTrials((ms, run) => clock.after(ms, run));
  const services = {
    host,
    clock,
    agents,
    traceUrl,
    alerts,
    history,
    trials,
    samples: new LiveSamples(settings.host, clock),
    tapBudget: new TapBudget(clock),
    sampleBudget: new TapBudget(clock, SAMPLE_SHARE),
  };
  const hosts = new Set([address.host ?? "", ...allowedHosts].map((host) => host.toLowerCase()).filter(Boolean));
  const server = await startHttpServer({
    ...settings,
    configPath: ["endpoint"],
    timeouts: { headersTimeout: HEADERS_TIMEOUT_MS },
    cutsBadClients: true,
    listener: (request, response) =>
      void respond(request, response, settings, readers, (identified) =>
        answerTo(request, settings, identified, services, hosts),
      ),
  });
  history.start();
  return {
    ...server,
    async close() {
      history.stop();
      agents.stop();
      await trials.stop();
      await server.close();
    },
  };
}

async function answerTo(
  request: IncomingMessage,
  settings: AdminServerSettings,
  identified: (actor: Actor) => void,
  services: RouteServices,
  hosts: ReadonlySet<string>,
): Promise<RouteAnswer> {
  rejectForeignHost(request, hosts);
  const url = (request.url ?? "/").split("?");
  const path = url[0]!;
  const page = await debugPage(request, path, settings.host);
  if (page !== undefined) return { file: page };
  if (!isConsolePage(path) || !isVisit(request)) rejectForeignPage(request);
  // The pages themselves contain no data; the console asks for a token.
  if (path !== API_ROOT && !path.startsWith(`${API_ROOT}/`)) return { file: findConsoleFile(request, path) };
  if (path.replace(/\/$/, "") === API_ROOT && /^(GET|HEAD)$/.test(request.method ?? ""))
    return agentInfo(request, settings);
  const actor = await settings.access.identify(request);
  identified(actor);
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
  const found = findRoute(method, path.slice(API_ROOT.length));
  if (found === undefined) throw new HttpError("not_found", `there is nothing at ${path}`);
  if ("methods" in found) {
    throw new HttpError("method_not_allowed", `use ${found.methods.join(" or ")}`, {
      allow: found.methods.join(", "),
    });
  }
  if (method === "POST") requireContentType(request, found.route.contentType ?? "application/json");
  const { admin, inspection } = settings.host;
  const { needs = "queues", role, takes, maxBytes, query: known } = found.route;
  if (needs === "queues" && admin === undefined) {
    throw new HttpError(
      "unavailable",
      "there are no queues: the agent is starting, or runs without the extension reliability",
    );
  }
  if (needs === "components" && inspection === undefined) throw new HttpError("unavailable", "the agent is starting");
  const query = new URLSearchParams(url.slice(1).join("?"));
  if (role !== undefined) requireRole(actor, role);
  const operator = (given: OperatorInput = {}) => operatorOf(request, given, actor);
  return found.route.answer({
    ...services,
    admin: admin!,
    inspection: inspection!,
    id: found.params["id"] ?? "",
    query,
    request,
    actor,
    operator,
    values: known === undefined ? {} : readParameters(query, known),
    body: () => readBody(request, takes!, maxBytes),
    acting: (given) => admin!.actingAs(operator(given)),
  });
}

/** A page of the extension zpages, which shares this port. They need no token, so only this machine gets them. */
async function debugPage(
  { method, socket }: IncomingMessage,
  path: string,
  host: BuiltInHost,
): Promise<ConsoleFile | undefined> {
  const pages = sharedPages(host);
  if (pages === undefined || (path !== "/debug" && !path.startsWith("/debug/"))) return undefined;
  if (!/^(GET|HEAD)$/.test(method ?? "") || !isLoopbackHost(plainAddress(socket.remoteAddress))) return undefined;
  await host.refresh?.();
  const page = pages(path);
  if (page === undefined) return undefined;
  return { headers: { "content-type": page.type, ...page.headers }, body: Buffer.from(page.body) };
}

/** Answers without a token: that this is an agent and, on the same machine, where its owner finds a token. */
function agentInfo({ socket }: IncomingMessage, { tokenFile }: AdminServerSettings): RouteAnswer {
  const file = isLoopbackHost(plainAddress(socket.remoteAddress)) ? tokenFile() : undefined;
  return { body: { name: "sluice", api: 1, ...(file && { token_file: file }) } };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { logger }: AdminServerSettings,
  readers: EventReaders,
  answer: (identified: (actor: Actor) => void) => Promise<RouteAnswer>,
): Promise<void> {
  response.on("error", () => {});
  request.on("error", () => {});
  let actor: Actor | undefined;
  try {
    const found = await answer((identified) => {
      actor = identified;
    });
    await send(response, found, readers);
  } catch (error) {
    sendError(request, response, error, logger);
  }
  if (request.method === "POST" || request.method === "DELETE") {
    const { method, url, socket } = request;
    logger.info(
      { method, url, status: response.statusCode, actor: actor?.name, from: socket.remoteAddress },
      "a change was requested through the admin API",
    );
  }
}

async function send(response: ServerResponse, answer: RouteAnswer, readers: EventReaders): Promise<void> {
  if ("events" in answer) return readers.serve(response, answer.events, answer.counted);
  const status = answer.status ?? 200;
  if ("file" in answer) return sendFile(response, status, answer.file);
  if ("lines" in answer) return sendLines(response, status, answer.lines[Symbol.asyncIterator]());
  sendJson(response, status, "json" in answer ? answer.json : JSON.stringify(answer.body, withIsoTimes));
}

function sendFile(response: ServerResponse, status: number, { headers, body }: ConsoleFile): void {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(body);
}

/** Waits for the first line, so that an immediate failure is answered as an error. */
async function sendLines(response: ServerResponse, status: number, lines: AsyncIterator<string>): Promise<void> {
  const first = await lines.next();
  response.writeHead(status, { "content-type": "application/x-ndjson", ...COMMON_HEADERS });
  await pipeline(Readable.from(linesFrom(first, lines)), response);
}

async function* linesFrom(first: IteratorResult<string>, rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield `${next.value}\n`;
  } finally {
    await rest.return?.();
  }
}

const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function sendJson(
  response: ServerResponse,
  status: number,
  json: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const body = `${json}\n`;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...COMMON_HEADERS,
    ...headers,
  });
  response.end(body);
}

/**
 * Cuts off an answer that has begun, so that clients notice that it is incomplete. The rest of the request body is not
 * read.
 */
function sendError(request: IncomingMessage, response: ServerResponse, error: unknown, logger: Logger): void {
  const httpError = asHttpError(error);
  const isGone = request.destroyed && !request.complete;
  if (httpError === undefined && !isGone && !response.destroyed)
    logger.error({ err: error, url: request.url }, "the admin API failed");
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { status, code, message, headers } =
    httpError ?? new HttpError("internal", "the request failed; see the log of the agent");
  const closing = request.complete ? {} : { connection: "close" };
  sendJson(response, status, JSON.stringify({ error: { code, message: maskText(message) } }), {
    ...headers,
    ...closing,
  });
}
