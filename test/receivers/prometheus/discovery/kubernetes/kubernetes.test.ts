import { describe, expect, it, onTestFinished } from "vitest";
import {
  KubernetesDiscovery,
  type KubernetesDiscoverySettings,
} from "../../../../../src/receivers/prometheus/discovery/kubernetes/kubernetes.js";
import { systemClock } from "../../../../../src/runtime/contract/clock.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../../../support/servers/kubernetes-api.js";
import { until } from "../../../../support/until.js";
import { startScraping, startTarget } from "../../harness.js";

const PREFIX = "__meta_kubernetes_";

async function startApi(...objects: object[]): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  onTestFinished(() => api.close());
  for (const object of objects) api.put(object as never);
  return api;
}

/** The targets that are found, with the labels of Kubernetes without their prefix. */
function discover(api: KubernetesApiServer, settings: Partial<KubernetesDiscoverySettings>) {
  const found: Record<string, string>[][] = [];
  const errors: string[] = [];
  const discovery = new KubernetesDiscovery(
    {
      role: "pod",
      apiServer: api.url,
      client: undefined,
      namespaces: [],
      ownNamespace: false,
      selectors: [],
      attachesNodes: false,
      ...settings,
    },
    {
      clock: systemClock,
      random: Math.random,
      onError: (where, error) => errors.push(`${where}: ${(error as Error).message}`),
    },
  );
  onTestFinished(() => discovery.stop());
  discovery.start((targets) => {
    const plain = targets.map((labels) =>
      Object.fromEntries([...labels].map(([name, value]) => [name.replace(PREFIX, ""), value])),
    );
    found.push(plain);
  });
  return { last: () => found.at(-1), found, errors };
}

const NODE = {
  kind: "Node",
  metadata: { name: "n1", labels: { "a.b/zone": "z" } },
  spec: { providerID: "aws:///1" },
  status: {
    addresses: [
      { type: "Hostname", address: "n1.local" },
      { type: "InternalIP", address: "10.1.0.1" },
      { type: "InternalIP", address: "10.1.0.2" },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10251 } },
  },
};
const POD = {
  kind: "Pod",
  metadata: {
    name: "cart-1",
    namespace: "shop",
    uid: "u1",
    labels: { app: "cart" },
    annotations: { "prometheus.io/scrape": "true" },
    ownerReferences: [{ kind: "ReplicaSet", name: "cart", controller: true }],
  },
  spec: {
    nodeName: "n1",
    containers: [
      {
        name: "app",
        image: "cart:1",
        ports: [
          { name: "web", containerPort: 8080, protocol: "TCP" },
          { name: "admin", containerPort: 9090, protocol: "TCP" },
        ],
      },
      { name: "sidecar", image: "envoy" },
    ],
    initContainers: [{ name: "init", image: "busybox" }],
  },
  status: {
    podIP: "10.0.0.5",
    hostIP: "10.1.0.1",
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ name: "app", containerID: "containerd://c1" }],
  },
};
const POD_LABELS = {
  namespace: "shop",
  pod_name: "cart-1",
  pod_label_app: "cart",
  pod_labelpresent_app: "true",
  pod_annotation_prometheus_io_scrape: "true",
  pod_annotationpresent_prometheus_io_scrape: "true",
  pod_ip: "10.0.0.5",
  pod_ready: "true",
  pod_phase: "Running",
  pod_node_name: "n1",
  pod_host_ip: "10.1.0.1",
  pod_uid: "u1",
  pod_controller_kind: "ReplicaSet",
  pod_controller_name: "cart",
};
const APP_LABELS = {
  pod_container_name: "app",
  pod_container_image: "cart:1",
  pod_container_id: "containerd://c1",
  pod_container_init: "false",
};
const NODE_LABELS = {
  node_name: "n1",
  node_label_a_b_zone: "z",
  node_labelpresent_a_b_zone: "true",
  node_provider_id: "aws:///1",
  node_address_Hostname: "n1.local",
  node_address_InternalIP: "10.1.0.1",
};
const portLabels = (name: string, port: string) => ({
  pod_container_port_name: name,
  pod_container_port_number: port,
  pod_container_port_protocol: "TCP",
});
const SERVICE = {
  kind: "Service",
  metadata: { name: "cart", namespace: "shop", labels: { team: "blue" } },
  spec: { type: "ClusterIP", clusterIP: "10.2.0.1", ports: [{ name: "web", port: 80, protocol: "TCP" }] },
};
const SERVICE_LABELS = {
  namespace: "shop",
  service_name: "cart",
  service_label_team: "blue",
  service_labelpresent_team: "true",
};

describe("kubernetes_sd_configs", () => {
  it("finds nodes at the ports of their kubelets", async () => {
    const { last } = discover(await startApi(NODE, POD), { role: "node" });
    await until(() => expect(last()).toEqual([{ __address__: "10.1.0.1:10251", instance: "n1", ...NODE_LABELS }]));
  });

  it("finds pods: a target for each port, and one for a container without, with their nodes' labels", async () => {
    const waiting = { kind: "Pod", metadata: { name: "new", namespace: "shop" }, status: {} };
    const { last } = discover(await startApi(NODE, POD, waiting), { role: "pod", attachesNodes: true });
    const shared = { ...POD_LABELS, ...NODE_LABELS };
    await until(() =>
      expect(last()).toEqual([
        { __address__: "10.0.0.5:8080", ...shared, ...APP_LABELS, ...portLabels("web", "8080") },
        { __address__: "10.0.0.5:9090", ...shared, ...APP_LABELS, ...portLabels("admin", "9090") },
        {
          __address__: "10.0.0.5",
          ...shared,
          ...{ pod_container_name: "sidecar", pod_container_image: "envoy", pod_container_init: "false" },
        },
        {
          __address__: "10.0.0.5",
          ...shared,
          ...{ pod_container_name: "init", pod_container_image: "busybox", pod_container_init: "true" },
        },
      ]),
    );
  });

  it("finds services by their names", async () => {
    const external = {
      kind: "Service",
      metadata: { name: "out", namespace: "shop" },
      spec: { type: "ExternalName", externalName: "example.com", ports: [{ port: 443 }] },
    };
    const { last } = discover(await startApi(SERVICE, external), { role: "service" });
    await until(() =>
      expect(last()).toEqual([
        {
          __address__: "cart.shop.svc:80",
          ...SERVICE_LABELS,
          ...{ service_type: "ClusterIP", service_cluster_ip: "10.2.0.1" },
          ...{ service_port_name: "web", service_port_number: "80", service_port_protocol: "TCP" },
        },
        {
          __address__: "out.shop.svc:443",
          ...{ namespace: "shop", service_name: "out", service_type: "ExternalName" },
          ...{ service_external_name: "example.com", service_port_number: "443" },
        },
      ]),
    );
  });

  it("finds endpoints with their pods and services, and the other ports of the pods", async () => {
    const endpoints = {
      kind: "Endpoints",
      metadata: { name: "cart", namespace: "shop" },
      subsets: [
        {
          addresses: [{ ip: "10.0.0.5", nodeName: "n1", targetRef: { kind: "Pod", name: "cart-1" } }],
          notReadyAddresses: [{ ip: "fd00::9", hostname: "h" }],
          ports: [{ name: "web", port: 8080, protocol: "TCP" }],
        },
      ],
    };
    const { last } = discover(await startApi(POD, SERVICE, endpoints), { role: "endpoints" });
    const shared = { ...SERVICE_LABELS, endpoints_name: "cart" };
    const port = { endpoint_port_name: "web", endpoint_port_protocol: "TCP" };
    await until(() =>
      expect(last()).toEqual([
        {
          __address__: "10.0.0.5:8080",
          ...{ ...shared, ...port, ...POD_LABELS, ...APP_LABELS, ...portLabels("web", "8080") },
          ...{ endpoint_ready: "true", endpoint_node_name: "n1" },
          ...{ endpoint_address_target_kind: "Pod", endpoint_address_target_name: "cart-1" },
        },
        { __address__: "[fd00::9]:8080", ...shared, ...port, endpoint_ready: "false", endpoint_hostname: "h" },
        { __address__: "10.0.0.5:9090", ...shared, ...POD_LABELS, ...APP_LABELS, ...portLabels("admin", "9090") },
      ]),
    );
  });

  it("finds the endpoints of slices", async () => {
    const slice = {
      kind: "EndpointSlice",
      addressType: "IPv4",
      metadata: { name: "cart-x", namespace: "shop", labels: { "kubernetes.io/service-name": "cart" } },
      endpoints: [
        {
          addresses: ["10.0.0.7"],
          conditions: { ready: true, serving: true, terminating: false },
          zone: "z1",
        },
      ],
      ports: [{ name: "web", port: 8080, protocol: "TCP", appProtocol: "http" }],
    };
    const { last } = discover(await startApi(SERVICE, slice), { role: "endpointslice" });
    await until(() =>
      expect(last()).toEqual([
        {
          __address__: "10.0.0.7:8080",
          ...SERVICE_LABELS,
          endpointslice_name: "cart-x",
          endpointslice_label_kubernetes_io_service_name: "cart",
          endpointslice_labelpresent_kubernetes_io_service_name: "true",
          endpointslice_address_type: "IPv4",
          endpointslice_port: "8080",
          endpointslice_port_name: "web",
          endpointslice_port_protocol: "TCP",
          endpointslice_port_app_protocol: "http",
          endpointslice_endpoint_conditions_ready: "true",
          endpointslice_endpoint_conditions_serving: "true",
          endpointslice_endpoint_conditions_terminating: "false",
          endpointslice_endpoint_zone: "z1",
        },
      ]),
    );
  });

  it("finds the hosts and paths of ingresses", async () => {
    const ingress = {
      kind: "Ingress",
      metadata: { name: "web", namespace: "shop" },
      spec: {
        ingressClassName: "nginx",
        tls: [{ hosts: ["*.example.com"] }],
        rules: [
          { host: "a.example.com", http: { paths: [{ path: "/x" }, {}] } },
          { host: "plain.org", http: { paths: [{ path: "/" }] } },
        ],
      },
    };
    const { last } = discover(await startApi(ingress), { role: "ingress" });
    const target = (host: string, scheme: string, path: string) => ({
      ...{ __address__: host, __scheme__: scheme, namespace: "shop", ingress_name: "web", ingress_class_name: "nginx" },
      ...{ ingress_host: host, ingress_scheme: scheme, ingress_path: path },
    });
    await until(() =>
      expect(last()).toEqual([
        target("a.example.com", "https", "/x"),
        target("a.example.com", "https", "/"),
        target("plain.org", "http", "/"),
      ]),
    );
  });

  it("asks for namespaces and by selectors", async () => {
    const api = await startApi();
    const selectors = [{ role: "pod", label: "app=cart", field: "status.phase=Running" }];
    const { found } = discover(api, { role: "pod", namespaces: ["a", "b"], selectors });
    await until(() => expect(found.length).toBe(1));
    expect(api.requests.slice(0, 2).map(({ path }) => path)).toEqual([
      "/api/v1/namespaces/a/pods",
      "/api/v1/namespaces/b/pods",
    ]);
    const { query } = api.requests[0]!;
    expect([query.get("labelSelector"), query.get("fieldSelector")]).toEqual(["app=cart", "status.phase=Running"]);
  });

  it("scrapes pods that annotations ask for, as they come and go, and keeps them while the API fails", async () => {
    const target = await startTarget("a 1\n");
    const [host = "", port = ""] = target.address.split(":");
    const pod = (name: string, more: object = {}) => ({
      kind: "Pod",
      metadata: { name, namespace: "shop", annotations: { "prometheus.io/scrape": "true" }, ...more },
      spec: { containers: [{ name: "app", ports: [{ containerPort: Number(port) }] }] },
      status: { podIP: host },
    });
    const api = await startApi(pod("one"), pod("hidden", { annotations: {} }));
    const { points, said } = await startScraping([
      {
        job_name: "pods",
        kubernetes_sd_configs: [{ role: "pod", api_server: api.url, authorization: { credentials: "t" } }],
        relabel_configs: [
          { source_labels: [`${PREFIX}pod_annotation_prometheus_io_scrape`], regex: "true", action: "keep" },
          { source_labels: [`${PREFIX}pod_name`], target_label: "pod" },
        ],
      },
    ]);
    const ups = () =>
      Object.fromEntries(
        points()
          .filter(({ name }) => name === "up")
          .map(({ labels, value, isEnd }) => [labels["pod"], isEnd ? undefined : value]),
      );
    await until(() => expect(ups()).toEqual({ one: 1 }));
    expect(api.requests[0]!.authorization).toBe("Bearer t");
    api.put(pod("two") as never);
    await until(() => expect(ups()).toEqual({ one: 1, two: 1 }));
    api.failWith = 500;
    api.dropWatches();
    await until(() => expect(said.join()).toMatch(/target discovery failed/));
    expect(ups()).toEqual({ one: 1, two: 1 });
    api.failWith = undefined;
    api.remove("one", "Pod");
    await until(() => expect(ups()).toEqual({ one: undefined, two: 1 }));
  });

  it.each(["<html>", "null", '{"items":[1]}', '{"items":"x"}'])(
    "goes on after an answer such as %s",
    async (answer) => {
      const api = await startApi(POD);
      api.answerWith = answer;
      const { last, errors } = discover(api, { role: "pod" });
      await until(() => expect(errors.length).toBeGreaterThan(0));
      expect(errors[0]).toMatch(/the Kubernetes API, pods: /);
      api.answerWith = undefined;
      await until(() => expect(last()).toHaveLength(4));
    },
  );

  it("makes nothing of objects that are of no shape at all", async () => {
    const odd = [
      { metadata: { name: "a" }, spec: 7, status: [] },
      {
        metadata: { name: "b", labels: { x: 1 }, annotations: [] },
        spec: { containers: "x", ports: {} },
        status: null,
      },
      {
        metadata: { name: "c" },
        subsets: [null, { addresses: [1], ports: [null] }],
        endpoints: [{ addresses: [5] }],
        ports: [{}],
      },
      {
        metadata: { name: "d" },
        spec: { rules: [null, { host: 5, http: { paths: [null] } }], tls: [1] },
        status: { podIP: 5 },
      },
    ];
    const api = await startApi(...odd);
    for (const role of ["node", "pod", "service", "endpoints", "endpointslice"] as const) {
      const { last } = discover(api, { role });
      await until(() => expect(last()).toEqual([]));
    }
    const { last } = discover(api, { role: "ingress" });
    await until(() => expect(last()).toHaveLength(2));
  });
});
