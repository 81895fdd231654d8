import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface StoredDocument {
  readonly action: string;
  readonly target: Readonly<Record<string, unknown>>;
  readonly source: Readonly<Record<string, unknown>>;
}

interface ItemAnswer {
  readonly status: number;
  readonly error?: { readonly type: string; readonly reason: string };
}

/**
 * Accepts documents as the documented bulk API of Elasticsearch and OpenSearch does: pairs of lines with a final line
 * end, and an answer for each document. `decide` chooses the status of a document; a status for the whole request comes
 * first, and undefined means no answer.
 */
export async function startBulkServer(
  decide: (document: StoredDocument) => ItemAnswer = () => ({ status: 201 }),
  whole: () => number | undefined = () => 200,
) {
  const stored: StoredDocument[] = [];
  const requests: {
    readonly url: URL;
    readonly headers: NodeJS.Dict<string | string[]>;
    readonly documents: number;
  }[] = [];
  const server = createServer(async (request, response) => {
    const packed = await buffer(request);
    const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(packed) : packed).toString();
    const status = whole();
    if (status === undefined) return;
    const lines = text.split("\n");
    if (status !== 200 || lines.pop() !== "" || lines.length % 2 !== 0)
      return response.writeHead(status === 200 ? 400 : status).end("no");
    const documents = lines.flatMap((line, i) => (i % 2 === 0 ? [documentOf(line, lines[i + 1]!)] : []));
    requests.push({ url: new URL(request.url!, "http://x"), headers: request.headers, documents: documents.length });
    const items = documents.map((document) => {
      const answer = decide(document);
      if (answer.status < 300) stored.push(document);
      return { [document.action]: answer };
    });
    const errors = items.some((item) => Object.values(item)[0]!.status >= 300);
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ errors, items }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stored,
    requests,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function documentOf(head: string, source: string): StoredDocument {
  const [[action, target] = expectAction()] = Object.entries(JSON.parse(head) as object);
  return { action, target, source: JSON.parse(source) };
}

function expectAction(): never {
  throw new Error("a line without an action");
}
