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

/** Returns ports that are free at the moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createTcpServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
