import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";

/** A request that a case has sent to its part of the sink. */
export interface SinkRequest {
  /** Without the case's number. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * A server for the output of many cases: the first part of a path is the number of the case. If the second one is
 * `answer-` and a status, that is its answer, and it keeps nothing; redirects lead to `/moved` of the same case.
 */
export interface Sink {
  urlOf(number: number): string;
  requestsOf(number: number): readonly SinkRequest[];
  close(): Promise<void>;
}

export async function startSink(): Promise<Sink> {
  const requests = new Map<number, SinkRequest[]>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, number = "", path = ""] = /^\/(\d+)(.*)$/.exec(request.url ?? "") ?? [];
    const [, answer] = /^\/answer-(\d{3})\//.exec(path) ?? [];
    if (answer !== undefined) return void response.writeHead(Number(answer), { location: `/${number}/moved` }).end();
    if (request.method !== "POST") return void response.end();
    const list = requests.get(Number(number)) ?? [];
    requests.set(Number(number), [...list, { path, headers: request.headers, body: Buffer.concat(chunks) }]);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (number) => `http://127.0.0.1:${port}/${number}`,
    requestsOf: (number) => requests.get(number) ?? [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Below the ports that Linux gives to other sockets: other tests cannot take these before an agent listens on them. */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;

let port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));

/**
 * Returns ports that are free at the moment. Each call gives other ones: the client may still have connections to
 * those of an agent that has ended.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried++) {
    if (tried > LAST_PORT - FIRST_PORT) throw new Error(`there are no ${count} free ports`);
    port = port === LAST_PORT ? FIRST_PORT : port + 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  const server = createTcpServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
