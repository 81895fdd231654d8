import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { read, TLS_FILES } from "../../runtime/net/tls/files.js";

/** The answer for a path: JSON, or a function that writes the response. */
type KubeletAnswer = object | ((response: ServerResponse) => void);

interface TestKubelet {
  readonly endpoint: string;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
  /** By path; other paths are not found. They may change while it runs. */
  answers: Record<string, KubeletAnswer>;
}

/** Answers as kubelets do: JSON below /stats/summary and /pods, and one line of text when it will not. With `isSecure` it wants a certificate. */
export async function startKubelet(
  answers: Record<string, KubeletAnswer>,
  isSecure = false,
  wantsCertificate = false,
): Promise<TestKubelet> {
  const kubelet: { -readonly [Key in keyof TestKubelet]: TestKubelet[Key] } = { endpoint: "", requests: [], answers };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    kubelet.requests.push({ path: request.url!, authorization: request.headers.authorization });
    const found = kubelet.answers[request.url!];
    if (found === undefined) response.writeHead(404).end("404 page not found\n");
    else if (typeof found === "function") found(response);
    else response.setHeader("Content-Type", "application/json").end(JSON.stringify(found));
  };
  const certificates = {
    cert: read(TLS_FILES.serverCert),
    key: read(TLS_FILES.serverKey),
    ca: read(TLS_FILES.ca),
    requestCert: wantsCertificate,
    rejectUnauthorized: wantsCertificate,
  };
  const server = isSecure ? createSecureServer(certificates, answer) : createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  kubelet.endpoint = `${isSecure ? "https://localhost" : "127.0.0.1"}:${(server.address() as AddressInfo).port}`;
  return kubelet;
}

/** A refusal in the way of kubelets. */
export function refusal(status: number, line: string) {
  return (response: ServerResponse) => void response.writeHead(status).end(`${line}\n`);
}

const MEMORY = {
  availableBytes: 1000,
  usageBytes: 600,
  workingSetBytes: 500,
  rssBytes: 400,
  pageFaults: 30,
  majorPageFaults: 3,
};
const ETH0 = { name: "eth0", rxBytes: 10, rxErrors: 1, txBytes: 20, txErrors: 2 };
const NETWORK = { ...ETH0, interfaces: [ETH0, { name: "eth1", rxBytes: 5, rxErrors: 0, txBytes: 6, txErrors: 0 }] };
const FILES = { availableBytes: 70, capacityBytes: 100, usedBytes: 30, inodesFree: 7, inodes: 10, inodesUsed: 3 };
const cpu = (nanoCores: number) => ({ usageNanoCores: nanoCores, usageCoreNanoSeconds: 2_500_000_000 });

/** The parts that a kubelet's /stats/summary has, with one pod. */
export const SUMMARY = {
  node: {
    nodeName: "node-1",
    startTime: "2024-01-01T00:00:00Z",
    systemContainers: [{ name: "kubelet", startTime: "2024-01-01T00:00:00Z", cpu: cpu(1e8), memory: MEMORY }],
    cpu: cpu(500_000_000),
    memory: MEMORY,
    network: NETWORK,
    fs: FILES,
    runtime: { imageFs: FILES },
    rlimit: { time: "2024-01-01T00:00:00Z", maxpid: 4194304, curproc: 321 },
  },
  pods: [
    {
      podRef: { name: "web-1", namespace: "shop", uid: "u-1" },
      startTime: "2024-02-01T00:00:00Z",
      containers: [
        {
          name: "web",
          startTime: "2024-02-02T00:00:00Z",
          cpu: cpu(250_000_000),
          memory: MEMORY,
          rootfs: FILES,
          logs: { usedBytes: 4 },
        },
      ],
      cpu: cpu(250_000_000),
      memory: MEMORY,
      network: NETWORK,
      volume: [
        { ...FILES, name: "data" },
        { ...FILES, name: "config" },
      ],
      "ephemeral-storage": FILES,
    },
  ],
};

/** The parts of /pods that are read. */
export const PODS = {
  kind: "PodList",
  items: [
    {
      metadata: { name: "web-1", namespace: "shop", uid: "u-1" },
      spec: {
        containers: [
          {
            name: "web",
            resources: { limits: { cpu: "500m", memory: "1200" }, requests: { cpu: "0.25", memory: "1k" } },
          },
        ],
        volumes: [
          { name: "data", persistentVolumeClaim: { claimName: "data-web" } },
          { name: "config", configMap: { name: "c" } },
        ],
      },
      status: { containerStatuses: [{ name: "web", containerID: "containerd://abc123" }] },
    },
  ],
};
