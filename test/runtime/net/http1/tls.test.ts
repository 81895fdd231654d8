import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { Http1Client } from "../../../../src/runtime/net/http1/client.js";
import { read, TLS_FILES } from "../tls/files.js";
import { BODY, HEAD, OK } from "./raw-server.js";

const [ca, cert, key] = [TLS_FILES.ca, TLS_FILES.serverCert, TLS_FILES.serverKey].map(read) as [Buffer, Buffer, Buffer];
const settings = { clock: systemClock, maxConnections: 4, maxIdle: 4, idleTimeoutMs: 0, maxAnswerBytes: 1000 };

async function startTlsServer(talk: (socket: TLSSocket, received: () => number) => void) {
  const sockets: TLSSocket[] = [];
  const server = createServer({ cert, key, ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
    let bytes = 0;
    sockets.push(socket);
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        bytes += chunk.length;
        talk(socket, () => bytes);
      });
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

it("says which server it means and which protocol it speaks, and begins a second connection with the session of the first", async () => {
  const { port, sockets } = await startTlsServer((socket) => socket.write(OK));
  const client = new Http1Client({ host: "localhost", port, tls: { ca, rejectUnauthorized: true } }, settings);
  onTestFinished(() => client.close());
  expect((await client.request(HEAD, BODY)).body.toString()).toBe("ok");
  await expect.poll(() => client.session).toBeDefined();
  await client.request(HEAD, BODY, undefined, true);
  expect(sockets.map((socket) => (socket as TLSSocket & { servername: string }).servername)).toEqual([
    "localhost",
    "localhost",
  ]);
  expect(sockets.map((socket) => socket.alpnProtocol)).toEqual(["http/1.1", "http/1.1"]);
  expect(sockets.map((socket) => socket.isSessionReused())).toEqual([false, true]);
});

it("writes large bodies, and reads answers in many records", async () => {
  const expected = 5_000_000;
  const { port } = await startTlsServer((socket, received) => {
    if (received() < expected) return;
    for (const letter of OK) socket.write(letter);
  });
  const client = new Http1Client({ host: "127.0.0.1", port, tls: { ca, rejectUnauthorized: true } }, settings);
  onTestFinished(() => client.close());
  for (let i = 0; i < 2; i++) {
    expect((await client.request(HEAD, [Buffer.alloc(expected)], undefined, true)).body.toString()).toBe("ok");
  }
});

it("sends nothing to a server that it cannot trust", async () => {
  let received = 0;
  const { port } = await startTlsServer((_, bytes) => {
    received = bytes();
  });
  const client = new Http1Client({ host: "127.0.0.1", port, tls: { rejectUnauthorized: true } }, settings);
  onTestFinished(() => client.close());
  await expect(client.request(HEAD, BODY)).rejects.toThrow(/certificate/);
  expect(received).toBe(0);
});

/** A proxy that gives on together whatever the server sends until it has been quiet for some turns of the event loop. */
async function startGatheringProxy(port: number): Promise<number> {
  const proxy = createTcpServer((near) => {
    const far = connect(port, "127.0.0.1");
    let gathered: Buffer[] = [];
    let quietTurns = 0;
    const giveOn = () => {
      if (++quietTurns < 20) return void setTimeout(giveOn, 1);
      near.write(Buffer.concat(gathered));
      gathered = [];
    };
    far.on("data", (chunk) => {
      quietTurns = 0;
      if (gathered.push(chunk) === 1) giveOn();
    });
    near.on("data", (chunk) => far.write(chunk)).on("close", () => far.destroy());
    for (const socket of [near, far]) socket.on("error", () => {});
    onTestFinished(() => void near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  return (proxy.address() as AddressInfo).port;
}

it("takes no answer for the next request's that came with the one before, in a record of its own", async () => {
  const server = await startTlsServer((socket) => {
    socket.setNoDelay(true).write(OK);
    if (server.sockets.length === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray");
  });
  const client = new Http1Client(
    { host: "127.0.0.1", port: await startGatheringProxy(server.port), tls: { ca, rejectUnauthorized: true } },
    { ...settings, maxConnections: 1 },
  );
  onTestFinished(() => client.close());
  const answers = await Promise.all([client.request(HEAD, BODY), client.request(HEAD, BODY)]);
  expect(answers.map(({ body }) => body.toString())).toEqual(["ok", "ok"]);
  expect(server.sockets).toHaveLength(2);
});
