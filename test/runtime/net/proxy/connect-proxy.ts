import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  readonly port: number;
  /** Method, target and credentials of each request. */
  readonly seen: (readonly [method: string, target: string, authorization: string | undefined])[];
  /** All headers of each. */
  readonly headers: IncomingMessage["headers"][];
  /** The status that answers CONNECT; after 200 the tunnel is open. */
  status: number;
  close(): void;
}

/** A real HTTP proxy: tunnels, and hands whole URLs on. */
export async function startProxy(): Promise<ConnectProxy> {
  const seen: [string, string, string | undefined][] = [];
  const headers: ConnectProxy["headers"] = [];
  const sockets = new Set<Socket>();
  const note = (incoming: IncomingMessage) => {
    headers.push(incoming.headers);
    seen.push([incoming.method!, incoming.url!, incoming.headers["proxy-authorization"]]);
  };
  const server: Server = createServer((incoming, outgoing) => {
    note(incoming);
    const { headers, method } = incoming;
    const onward = request(incoming.url!, { method: method!, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.on("connect", (incoming, client: Socket) => {
    note(incoming);
    client.on("error", () => {});
    if (proxy.status !== 200) return client.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
    const [host, port] = incoming.url!.split(":");
    const upstream = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    sockets.add(upstream.on("error", () => client.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: ConnectProxy = {
    port: (server.address() as AddressInfo).port,
    seen,
    headers,
    status: 200,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return proxy;
}
