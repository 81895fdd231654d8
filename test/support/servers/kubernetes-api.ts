import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface ApiObject {
  readonly metadata: { readonly name: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

/**
 * What the Kubernetes API promises of one list: pages, resource versions, watches that begin behind one, bookmarks, and 410
 * Gone for a version that it has forgotten.
 */
export interface KubernetesApiServer {
  readonly url: string;
  readonly requests: {
    readonly path: string;
    readonly query: URLSearchParams;
    readonly authorization: string | undefined;
  }[];
  /** Adds an object, or puts it in the place of the one with its name. */
  put(object: ApiObject): void;
  remove(name: string): void;
  bookmark(): void;
  /** Forgets all versions so far: watches from them get 410, those under way as an ERROR event. */
  forget(): void;
  /** Breaks the connections of all watches. */
  dropWatches(): void;
  /** The status of every answer, while it is set; 0: none comes. */
  failWith: number | undefined;
  pageSize: number;
  readonly watches: number;
  close(): Promise<void>;
}

export async function startKubernetesApi(): Promise<KubernetesApiServer> {
  const objects = new Map<string, ApiObject>();
  const events: { readonly version: number; readonly type: string; readonly object: ApiObject }[] = [];
  const watchers = new Set<ServerResponse>();
  let version = 100;
  let oldest = 0;

  const versioned = (object: ApiObject): ApiObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(version) },
  });
  const emit = (type: string, object: ApiObject) => {
    version += 1;
    const event = { version, type, object: versioned(object) };
    events.push(event);
    for (const watcher of watchers) watcher.write(lineOf(event));
  };
  const lineOf = ({ type, object }: { type: string; object: object }) => `${JSON.stringify({ type, object })}\n`;
  const gone = { kind: "Status", status: "Failure", reason: "Expired", code: 410, message: "too old resource version" };

  function list(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get("continue") ?? 0);
    const limit = Math.min(server.pageSize, Number(query.get("limit") ?? server.pageSize));
    const all = [...objects.values()];
    const next = from + limit;
    const metadata = { resourceVersion: String(version), ...(next < all.length && { continue: String(next) }) };
    response.end(JSON.stringify({ kind: "List", metadata, items: all.slice(from, next) }));
  }

  function watch(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get("resourceVersion"));
    if (from < oldest) return void response.writeHead(410).end(JSON.stringify(gone));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const event of events) if (event.version > from) response.write(lineOf(event));
    watchers.add(response);
    response.on("close", () => watchers.delete(response));
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    server.requests.push({ path: pathname, query: searchParams, authorization: request.headers.authorization });
    if (server.failWith === 0) return;
    if (server.failWith !== undefined)
      return void response.writeHead(server.failWith).end(JSON.stringify({ kind: "Status", message: "as told" }));
    if (searchParams.get("watch")) watch(searchParams, response);
    else list(searchParams, response);
  }

  const http = createServer(answer).listen(0, "127.0.0.1");
  await once(http, "listening");
  const server: KubernetesApiServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    put(object) {
      const { name } = object.metadata;
      const type = objects.has(name) ? "MODIFIED" : "ADDED";
      emit(type, object);
      objects.set(name, versioned(object));
    },
    remove(name) {
      const object = objects.get(name)!;
      objects.delete(name);
      emit("DELETED", object);
    },
    bookmark: () => {
      version += 1;
      const object = { metadata: { resourceVersion: String(version) } };
      for (const watcher of watchers) watcher.write(lineOf({ type: "BOOKMARK", object }));
    },
    forget() {
      version += 1;
      oldest = version;
      for (const watcher of watchers) watcher.end(lineOf({ type: "ERROR", object: gone }));
      watchers.clear();
    },
    dropWatches() {
      for (const watcher of watchers) watcher.destroy();
      watchers.clear();
    },
    failWith: undefined,
    pageSize: 500,
    get watches() {
      return watchers.size;
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return server;
}
