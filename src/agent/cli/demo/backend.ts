import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * State of the backend: "well" takes everything it can parse, "down" takes nothing, "fixed" also takes what it could
 * not parse before.
 */
type BackendMood = "well" | "down" | "fixed";

/** The demo's backend: a server for OTLP/JSON that fails on cue, and remembers every order it took. */
export interface DemoBackend {
  readonly url: string;
  mood: BackendMood;
  /** Ids of the orders it has taken. */
  readonly taken: ReadonlySet<string>;
  /** Number of orders that it got more than once. */
  readonly duplicates: number;
  /**
   * Returns a link that redirects to this address once. This keeps the secret in the address out of process lists.
   */
  linkOnce(target: string): string;
  close(): Promise<void>;
}

export async function startBackend(): Promise<DemoBackend> {
  const taken = new Set<string>();
  let duplicates = 0;
  let link: { path: string; target: string } | undefined;
  const follow = (request: IncomingMessage, response: ServerResponse) => {
    const target = request.url === link?.path ? link?.target : undefined;
    if (request.method !== "GET" || target === undefined) return response.writeHead(404).end();
    link = undefined;
    return response.writeHead(302, { location: target, "referrer-policy": "no-referrer" }).end();
  };
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const orders = ordersIn(await bodyOf(request));
    if (backend.mood === "down") return answer(response, 503, "the database is being moved");
    const unreadable = orders.find(({ total }) => typeof total !== "number");
    if (unreadable !== undefined && backend.mood !== "fixed")
      return answer(response, 400, `order.total: expected a number, got the text ${JSON.stringify(unreadable.total)}`);
    for (const { id } of orders) {
      if (taken.has(id)) duplicates++;
      taken.add(id);
    }
    answer(response, 200);
  };
  const server = process.getBuiltinModule("node:http").createServer((request, response) => {
    if (request.url !== "/v1/logs") return void follow(request, response);
    take(request, response).catch((error: Error) => answer(response, 400, error.message));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const backend: DemoBackend = {
    url,
    mood: "well",
    taken,
    get duplicates() {
      return duplicates;
    },
    linkOnce(target) {
      link = { path: `/open/${randomUUID()}`, target };
      return url + link.path;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return backend;
}

interface Order {
  readonly id: string;
  readonly total: number | string | undefined;
}

interface OrderRequest {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly attributes: readonly {
          readonly key: string;
          readonly value: { readonly stringValue?: string; readonly doubleValue?: number };
        }[];
      }[];
    }[];
  }[];
}

function ordersIn(text: string): Order[] {
  const { resourceLogs } = JSON.parse(text) as OrderRequest;
  const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
  return records.map(({ attributes }) => {
    const attribute = (name: string) => attributes.find(({ key }) => key === name)?.value;
    const total = attribute("order.total");
    return { id: attribute("order.id")?.stringValue ?? "", total: total?.doubleValue ?? total?.stringValue };
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function answer(response: ServerResponse, status: number, message?: string): void {
  const body = message === undefined ? {} : { message };
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
