import { rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { KubernetesApi } from "../../../../src/runtime/net/kubernetes/api-client.js";
import type { KubernetesObject } from "../../../../src/runtime/net/kubernetes/object-watch.js";
import { WatchedList } from "../../../../src/runtime/net/kubernetes/watched-list.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../../support/servers/kubernetes-api.js";

let server: KubernetesApiServer;
let list: WatchedList<KubernetesObject>;
let names: string[];
let errors: unknown[];
const tokenFile = `/tmp/sluice-token-${process.pid}`;

/** Waits before another try are short here; those for an answer are shorter than they are. */
const quicker = (ms: number) => (ms >= 100_000 ? ms : ms >= 30_000 ? 2000 : 10);

beforeEach(async () => {
  server = await startKubernetesApi();
  await writeFile(tokenFile, "first\n");
  names = [];
  errors = [];
  list = new WatchedList({
    api: new KubernetesApi({ apiServer: server.url, tokenFile }),
    path: "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
    labelSelector: "kubernetes.io/service-name=gateways",
    clock: { ...systemClock, after: (ms, run) => systemClock.after(quicker(ms), run) },
    random: Math.random,
    onChange: (items) => {
      names = items.map(({ metadata }) => metadata.name).sort();
    },
    onError: (error) => errors.push(error),
  });
});
afterEach(async () => {
  list.stop();
  await server.close();
  await rm(tokenFile, { force: true });
});

const put = (...all: string[]) => {
  for (const name of all) server.put({ metadata: { name, namespace: "shop" } });
};
const until = (expected: string[]) => expect.poll(() => names).toEqual(expected);
const lists = () => server.requests.filter(({ query }) => !query.has("watch")).length;

it("lists page by page, then follows what comes, changes and goes", async () => {
  server.pageSize = 2;
  put("a", "b", "c", "d", "e");
  await list.start();
  expect(names).toEqual(["a", "b", "c", "d", "e"]);
  expect(lists()).toBe(3);
  put("f");
  server.remove("b");
  put("a");
  await until(["a", "c", "d", "e", "f"]);
  expect(lists()).toBe(3);
  const [first] = server.requests;
  expect(first).toMatchObject({
    path: "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
    authorization: "Bearer first",
  });
  expect(first!.query.get("labelSelector")).toBe("kubernetes.io/service-name=gateways");
});

it("goes on where it was when a watch breaks, and does not list again", async () => {
  put("a");
  await list.start();
  await expect.poll(() => server.watches).toBe(1);
  server.bookmark();
  server.dropWatches();
  put("b");
  await until(["a", "b"]);
  expect(lists()).toBe(1);
});

it.each([
  ["at the beginning of a watch", () => server.dropWatches()],
  ["in the middle of one", () => {}],
])("reads the list again when the server has forgotten its version (410), %s", async (_when, before) => {
  put("a", "b");
  await list.start();
  await expect.poll(() => server.watches).toBe(1);
  before();
  server.remove("a");
  server.forget();
  await until(["b"]);
  put("c");
  await until(["b", "c"]);
  expect(lists()).toBeGreaterThan(1);
});

it("keeps the last list while the server cannot be asked, tells why, and catches up", async () => {
  put("a");
  await list.start();
  await expect.poll(() => server.watches).toBe(1);
  server.failWith = 403;
  server.dropWatches();
  await expect.poll(() => errors.length).toBeGreaterThan(1);
  expect(String(errors.at(-1))).toMatch(/HTTP 403: as told/);
  expect(names).toEqual(["a"]);
  put("b");
  server.failWith = undefined;
  await until(["a", "b"]);
});

it("asks again when no answer comes", async () => {
  put("a");
  server.failWith = 0;
  const started = list.start();
  await started;
  expect(String(errors[0])).toMatch(/no answer within/);
  server.failWith = undefined;
  await until(["a"]);
});

it("reloads the token for every request, because tokens of pods change", async () => {
  await list.start();
  await expect.poll(() => server.watches).toBe(1);
  await writeFile(tokenFile, "second");
  server.dropWatches();
  await expect.poll(() => server.requests.at(-1)?.authorization).toBe("Bearer second");
});

it("reports what to configure outside of a cluster", async () => {
  const api = new KubernetesApi({});
  await expect(api.get("/x", new AbortController().signal)).rejects.toThrow(/does not run in a Kubernetes cluster/);
});
