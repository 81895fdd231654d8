import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface ApiObject {
  readonly metadata: { readonly name: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

/** The kinds of objects by the last part of the paths of their lists; an object without a kind is in every list. */
const KINDS: Readonly<Record<string, string>> = {
  pods: "Pod",
  namespaces: "Namespace",
  nodes: "Node",
  services: "Service",
  endpoints: "Endpoints",
  endpointslices: "EndpointSlice",
  ingresses: "Ingress",
  replicasets: "ReplicaSet",
  replicationcontrollers: "ReplicationController",
  resourcequotas: "ResourceQuota",
  persistentvolumes: "PersistentVolume",
  persistentvolumeclaims: "PersistentVolumeClaim",
  deployments: "Deployment",
  daemonsets: "DaemonSet",
  statefulsets: "StatefulSet",
  jobs: "Job",
  cronjobs: "CronJob",
  horizontalpodautoscalers: "HorizontalPodAutoscaler",
  events: "Event",
};

/** The groups of the API with what they have, in the shape of a real server's discovery. */
const DISCOVERY: Readonly<Record<string, unknown>> = {
  "/apis": {
    kind: "APIGroupList",
    groups: [
      { name: "apps", preferredVersion: { groupVersion: "apps/v1", version: "v1" } },
      { name: "events.k8s.io", preferredVersion: { groupVersion: "events.k8s.io/v1", version: "v1" } },
    ],
  },
  "/api/v1": { resources: [{ name: "pods" }, { name: "pods/log" }, { name: "events" }, { name: "namespaces" }] },
  "/apis/apps/v1": { resources: [{ name: "deployments" }, { name: "deployments/scale" }] },
  "/apis/events.k8s.io/v1": { resources: [{ name: "events" }] },
};

/**
 * What the Kubernetes API promises of its lists: pages, resource versions, watches that begin behind one, bookmarks, and 410
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
  remove(name: string, kind?: string): void;
  bookmark(): void;
  /** Forgets all versions so far: watches from them get 410, those under way as an ERROR event. */
  forget(): void;
  /** Breaks the connections of all watches. */
  dropWatches(): void;
  /** While it is set, it replaces every list and every line of a watch with something invalid. */
  answerWith: string | undefined;
  /** The status of every answer, while it is set; 0: none comes. */
  failWith: number | undefined;
  pageSize: number;
  /** Paths that the server does not have. */
  readonly missing: Set<string>;
  /** The leases by their paths. A write needs the version of the last one. */
  readonly leases: Map<string, ApiObject>;
  readonly watches: number;
  close(): Promise<void>;
}

function keyOf({ kind, metadata }: ApiObject): string {
  return `${kind ?? ""}/${metadata["namespace"] ?? ""}/${metadata.name}`;
}

export async function startKubernetesApi(): Promise<KubernetesApiServer> {
  const objects = new Map<string, ApiObject>();
  const events: { readonly version: number; readonly type: string; readonly object: ApiObject }[] = [];
  /** Each with the kind that it watches. */
  const watchers = new Map<ServerResponse, string | undefined>();
  const isMeant = (object: ApiObject, kind: string | undefined) =>
    object["kind"] === undefined || object["kind"] === kind;
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
    for (const [watcher, kind] of watchers) if (isMeant(object, kind)) watcher.write(lineOf(event));
  };
  const lineOf = ({ type, object }: { type: string; object: object }) => `${JSON.stringify({ type, object })}\n`;
  const gone = { kind: "Status", status: "Failure", reason: "Expired", code: 410, message: "too old resource version" };

  function list(query: URLSearchParams, response: ServerResponse, kind: string | undefined): void {
    const from = Number(query.get("continue") ?? 0);
    const limit = Math.min(server.pageSize, Number(query.get("limit") ?? server.pageSize));
    const all = [...objects.values()].filter((object) => isMeant(object, kind));
    const next = from + limit;
    const metadata = { resourceVersion: String(version), ...(next < all.length && { continue: String(next) }) };
    response.end(JSON.stringify({ kind: "List", metadata, items: all.slice(from, next) }));
  }

  function watch(query: URLSearchParams, response: ServerResponse, kind: string | undefined): void {
    const from = Number(query.get("resourceVersion"));
    if (from < oldest) return void response.writeHead(410).end(JSON.stringify(gone));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const event of events) if (event.version > from && isMeant(event.object, kind)) response.write(lineOf(event));
    watchers.set(response, kind);
    response.on("close", () => watchers.delete(response));
  }

  /** Reads, creates and replaces leases. */
  async function lease(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fail = (status: number, message: string) =>
      response.writeHead(status).end(JSON.stringify({ kind: "Status", message }));
    let body = "";
    for await (const chunk of request) body += chunk;
    const written = body === "" ? undefined : (JSON.parse(body) as ApiObject);
    const at = request.method === "POST" ? `${path}/${written!.metadata.name}` : path;
    const known = server.leases.get(at);
    if (request.method === "GET") return void (known ? response.end(JSON.stringify(known)) : fail(404, "not found"));
    if (request.method === "POST" && known) return void fail(409, "already exists");
    if (request.method === "PUT" && known?.metadata["resourceVersion"] !== written!.metadata["resourceVersion"])
      return void fail(409, "the object has been modified");
    version += 1;
    server.leases.set(at, versioned(written!));
    response.writeHead(request.method === "POST" ? 201 : 200).end(JSON.stringify(server.leases.get(at)));
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    server.requests.push({ path: pathname, query: searchParams, authorization: request.headers.authorization });
    if (server.failWith === 0) return;
    if (server.failWith !== undefined)
      return void response.writeHead(server.failWith).end(JSON.stringify({ kind: "Status", message: "as told" }));
    if (server.answerWith !== undefined) return void response.end(server.answerWith);
    if (pathname.includes("/leases")) return void lease(pathname, request, response);
    if (pathname in DISCOVERY) return void response.end(JSON.stringify(DISCOVERY[pathname]));
    if (server.missing.has(pathname)) return void response.writeHead(404).end("404 page not found\n");
    const kind = KINDS[pathname.split("/").at(-1)!];
    if (searchParams.get("watch")) watch(searchParams, response, kind);
    else if (kind === undefined && objects.has(`Namespace//${pathname.split("/").at(-1)}`))
      response.end(JSON.stringify(objects.get(`Namespace//${pathname.split("/").at(-1)}`)));
    else list(searchParams, response, kind);
  }

  const http = createServer(answer).listen(0, "127.0.0.1");
  await once(http, "listening");
  const server: KubernetesApiServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    put(object) {
      const key = keyOf(object);
      const type = objects.has(key) ? "MODIFIED" : "ADDED";
      emit(type, object);
      objects.set(key, versioned(object));
    },
    remove(name, kind) {
      const object = [...objects.values()].find((each) => each.metadata.name === name && isMeant(each, kind))!;
      objects.delete(keyOf(object));
      emit("DELETED", object);
    },
    bookmark: () => {
      version += 1;
      const object = { metadata: { resourceVersion: String(version) } };
      for (const watcher of watchers.keys()) watcher.write(lineOf({ type: "BOOKMARK", object }));
    },
    forget() {
      version += 1;
      oldest = version;
      for (const watcher of watchers.keys()) watcher.end(lineOf({ type: "ERROR", object: gone }));
      watchers.clear();
    },
    dropWatches() {
      for (const watcher of watchers.keys()) watcher.destroy();
      watchers.clear();
    },
    failWith: undefined,
    answerWith: undefined,
    pageSize: 500,
    missing: new Set(),
    leases: new Map(),
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
