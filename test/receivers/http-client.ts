import { once } from "node:events";
import { connect } from "node:net";
import { type Batch, decodeTree } from "../../src/plugin.js";
import type { ClientAnswer } from "../../src/testing.js";

interface KeyValueNode {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The fields of a decoded record, metric or point that tests look at. */
export interface ItemNode {
  readonly name?: string;
  readonly unit?: string;
  readonly description?: string;
  readonly timeUnixNano?: bigint;
  readonly startTimeUnixNano?: bigint;
  readonly observedTimeUnixNano?: bigint;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly attributes?: readonly KeyValueNode[];
  readonly asDouble?: number;
  readonly exemplars?: readonly object[];
  readonly gauge?: { readonly dataPoints: readonly ItemNode[] };
  readonly sum?: { readonly dataPoints: readonly ItemNode[]; readonly isMonotonic?: boolean };
}

interface OwnedNodes {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: ItemNode & { readonly version?: string };
  readonly items: readonly ItemNode[];
}

/** Resources of a batch, each with its first scope. */
export function resourcesOf(batch: Batch): OwnedNodes[] {
  const [containers = []] = Object.values(decodeTree(batch)) as unknown as ContainerNode[][];
  return containers.map(({ resource, ...rest }) => {
    const scopes = rest.scopeLogs ?? rest.scopeMetrics ?? rest.scopeSpans ?? [];
    const { scope = {}, logRecords, metrics, spans } = scopes[0] ?? {};
    return { resource: valuesOf(resource?.attributes), scope, items: logRecords ?? metrics ?? spans ?? [] };
  });
}

interface ScopeNode {
  readonly scope?: ItemNode & { readonly version?: string };
  readonly logRecords?: readonly ItemNode[];
  readonly metrics?: readonly ItemNode[];
  readonly spans?: readonly ItemNode[];
}

interface ContainerNode {
  readonly resource?: ItemNode;
  readonly scopeLogs?: readonly ScopeNode[];
  readonly scopeMetrics?: readonly ScopeNode[];
  readonly scopeSpans?: readonly ScopeNode[];
}

/** The values of attributes by key, whatever their types. */
export function valuesOf(attributes: readonly KeyValueNode[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** POSTs over a connection of its own. */
export const postTo = (port: number, path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, headers: { connection: "close", ...headers } });

export function clientAnswer(status: number): ClientAnswer {
  if (status < 300) return "accepted";
  return [429, 503].includes(status) ? "retry" : "rejected";
}

/** Sends the head and half of the body. */
export async function postHalf(port: number, path: string, body: Buffer, headers: Record<string, string> = {}) {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  const answer = once(socket, "close").then(
    (): ClientAnswer => (text === "" ? "unreachable" : clientAnswer(Number(text.split(" ")[1]))),
  );
  const lines = Object.entries({ Host: "x", ...headers, "Content-Length": String(body.length) });
  const head = `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  const half = Buffer.concat([Buffer.from(head), body.subarray(0, body.length >> 1)]);
  await new Promise<void>((resolve) => socket.write(half, () => resolve()));
  return { answer };
}
