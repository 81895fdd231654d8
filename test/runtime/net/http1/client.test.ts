import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { NoAnswerError } from "../../../../src/runtime/net/connection-error.js";
import { requestHead } from "../../../../src/runtime/net/http1/request-writer.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { until } from "../../../support/until.js";
import { BODY, clientOf, HEAD, OK, startRawServer } from "./raw-server.js";

const answer = (socket: Socket) => void socket.write(OK);
const silent = () => {};
const errorOf = (sending: Promise<unknown>) =>
  sending.then(
    () => undefined,
    (error: NoAnswerError & { cause: NodeJS.ErrnoException }) => error,
  );
/** As many turns of the event loop as a loopback connection needs to show what it will do. */
const turns = async () => {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("a client's connections", () => {
  it("carry one request after the other, each whole", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    for (let i = 0; i < 3; i++) expect((await client.request(HEAD, BODY)).body.toString()).toBe("ok");
    const request = "POST /v1/logs HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nhello world";
    expect(server.requests).toEqual([request, request, request]);
    expect(server.accepted).toBe(1);
  });

  it("carry requests with different heads in turn", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    const other = requestHead("PUT", "/other", { Host: "other", "X-Key": "k" });
    for (const head of [HEAD, other, HEAD, other]) await client.request(head, BODY);
    const paths = server.requests.map((request) => request.split(" HTTP")[0]);
    expect(paths).toEqual(["POST /v1/logs", "PUT /other", "POST /v1/logs", "PUT /other"]);
    expect(server.requests[3]).toBe(`${other.text}Content-Length: 11\r\n\r\nhello world`);
    expect(server.accepted).toBe(1);
  });

  it("carry bodies of all sizes, one behind the other", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    const sizes = [0, 1, 15_000, 16_384, 20_000, 1_048_576, 3_000_000, 7];
    for (const size of sizes) {
      await client.request(HEAD, [Buffer.alloc(size, "a"), Buffer.alloc(0), Buffer.alloc(size, "b")]);
    }
    const sent = server.requests.map((request) => request.slice(request.indexOf("\r\n\r\n") + 4));
    expect(sent.map((body) => body.length)).toEqual(sizes.map((size) => 2 * size));
    expect(sent.every((body, i) => body === "a".repeat(sizes[i]!) + "b".repeat(sizes[i]!))).toBe(true);
    expect(server.accepted).toBe(1);
  });

  it("are never more than allowed; requests beyond that wait their turn", async () => {
    const held: Socket[] = [];
    const server = await startRawServer((socket) => void held.push(socket));
    const client = clientOf(server, { maxConnections: 2 });
    const answers = Array.from({ length: 6 }, () => client.request(HEAD, BODY));
    for (let i = 0; i < 6; i++) {
      await until(() => expect(held.length).toBeGreaterThan(0));
      expect(server.sockets.size).toBeLessThanOrEqual(2);
      answer(held.shift()!);
    }
    await Promise.all(answers);
    expect([server.accepted, server.requests.length]).toEqual([2, 6]);
  });

  it("are opened again for waiting requests when one ends", async () => {
    let count = 0;
    const server = await startRawServer((socket) => (++count === 1 ? socket.destroy() : answer(socket)));
    const client = clientOf(server, { maxConnections: 1 });
    const [first, second] = [client.request(HEAD, BODY), client.request(HEAD, BODY)];
    expect((await errorOf(first))?.cause.code).toBe("ECONNRESET");
    expect((await second).status).toBe(200);
  });

  it("are kept in the number that is allowed", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server, { maxIdle: 1 });
    await Promise.all([client.request(HEAD, BODY), client.request(HEAD, BODY), client.request(HEAD, BODY)]);
    await expect.poll(() => [...server.sockets].filter((socket) => !socket.readableEnded).length).toBe(1);
  });

  it("are closed when they were not used for a while", async () => {
    const clock = new FakeClock();
    const server = await startRawServer(answer);
    const client = clientOf(server, { clock, idleTimeoutMs: 5000 });
    await client.request(HEAD, BODY);
    clock.advance(4000);
    await client.request(HEAD, BODY);
    clock.advance(4999);
    await turns();
    expect([...server.sockets].some((socket) => socket.readableEnded)).toBe(false);
    clock.advance(1);
    await expect.poll(() => [...server.sockets].every((socket) => socket.readableEnded)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("are closed before the server closes them, when it says when that is", async () => {
    const clock = new FakeClock();
    const hint = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 0\r\n\r\n";
    const server = await startRawServer((socket) => socket.write(hint));
    const client = clientOf(server, { clock, idleTimeoutMs: 90_000 });
    await client.request(HEAD, BODY);
    clock.advance(3999);
    await client.request(HEAD, BODY);
    expect(server.accepted).toBe(1);
    clock.advance(4000);
    await client.request(HEAD, BODY);
    expect(server.accepted).toBe(2);
  });

  it("are not used past their time even if the timer is late", async () => {
    const clock = new FakeClock();
    const server = await startRawServer(answer);
    const client = clientOf(server, { clock, idleTimeoutMs: 5000 });
    await client.request(HEAD, BODY);
    const late = clock.monotonic() + 5000;
    clock.monotonic = () => late;
    await client.request(HEAD, BODY);
    expect(server.accepted).toBe(2);
  });

  it("are closed when unexpected data arrives", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    await client.request(HEAD, BODY);
    [...server.sockets][0]!.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    await expect.poll(() => [...server.sockets].every((socket) => socket.readableEnded)).toBe(true);
    expect((await client.request(HEAD, BODY)).status).toBe(200);
    expect(server.accepted).toBe(2);
  });

  it("are closed when the server ends or resets them while they are idle", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    for (const leave of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      await client.request(HEAD, BODY);
      for (const socket of server.sockets) leave(socket);
      await expect.poll(() => [...server.sockets].filter((socket) => !socket.readableEnded).length).toBe(0);
      await turns();
    }
    expect((await client.request(HEAD, BODY)).status).toBe(200);
    expect(server.accepted).toBe(3);
  });

  it("do not keep the process alive once they are answered", async () => {
    const open = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = open(); // other tests of this process may have left some
    const server = await startRawServer(answer);
    await clientOf(server).request(HEAD, BODY);
    expect(server.sockets.size).toBe(1);
    expect(open()).toBeLessThanOrEqual(before + 1); // the server's end of it
  });
});

describe("an answer that comes early", () => {
  it("counts, and ends the connection instead of the upload", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n");
      });
    }, "connected");
    const client = clientOf(server);
    const body = Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024));
    expect((await client.request(HEAD, body)).status).toBe(413);
    for (const socket of server.sockets) socket.resume();
    await expect.poll(() => [...server.sockets].every((socket) => socket.readableEnded)).toBe(true);
    const read = [...server.sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
    expect(read).toBeLessThan(40 * 1024 * 1024);
  });

  it("counts when the server closes after it", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    }, "connected");
    expect((await clientOf(server).request(HEAD, [Buffer.alloc(100)])).status).toBe(503);
  });
});

describe("a connection that ends without an answer", () => {
  it("is stale when it had worked before, and nothing of an answer had come", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server);
    const endings = [
      (socket: Socket) => socket.destroy(),
      (socket: Socket) => socket.end(),
      (s: Socket) => s.resetAndDestroy(),
    ];
    for (const leave of endings) {
      await client.request(HEAD, BODY);
      for (const socket of server.sockets) socket.removeAllListeners("data").once("data", () => leave(socket));
      const error = await errorOf(client.request(HEAD, BODY));
      expect(error).toBeInstanceOf(NoAnswerError);
      expect([error?.stale, error?.cause.code]).toEqual([true, "ECONNRESET"]);
    }
  });

  it("is not stale when the answer had begun, or when it is new", async () => {
    let count = 0;
    const server = await startRawServer((socket) => (++count === 2 ? socket.end("H") : answer(socket)));
    const client = clientOf(server);
    await client.request(HEAD, BODY);
    expect((await errorOf(client.request(HEAD, BODY)))?.stale).toBe(false);
    const closing = await startRawServer((socket) => socket.destroy());
    expect((await errorOf(clientOf(closing).request(HEAD, BODY)))?.stale).toBe(false);
  });

  it("is replaced by a new one on request, which then is kept, within the number allowed", async () => {
    const server = await startRawServer(answer);
    const client = clientOf(server, { maxConnections: 1 });
    await client.request(HEAD, BODY);
    await client.request(HEAD, BODY, undefined, true);
    expect(server.accepted).toBe(2);
    await client.request(HEAD, BODY);
    expect(server.accepted).toBe(2);
    const busy = [client.request(HEAD, BODY), client.request(HEAD, BODY, undefined, true), client.request(HEAD, BODY)];
    await Promise.all(busy);
    expect(server.accepted).toBe(3);
  });
});

describe("a request that is given up", () => {
  it("frees its socket at once, while it waits for its answer", async () => {
    const server = await startRawServer(silent);
    const client = clientOf(server);
    const abort = new AbortController();
    const sending = errorOf(client.request(HEAD, BODY, abort.signal));
    await until(() => expect(server.requests).toHaveLength(1));
    abort.abort();
    expect((await sending)?.message).toBe("aborted");
    await expect.poll(() => [...server.sockets].every((socket) => socket.readableEnded)).toBe(true);
  });

  it("is not sent, while it waits for its turn, while it connects, or when it was given up before", async () => {
    const held: Socket[] = [];
    const server = await startRawServer((socket) => void held.push(socket));
    const client = clientOf(server, { maxConnections: 1 });
    const first = client.request(HEAD, BODY);
    await until(() => expect(held).toHaveLength(1));
    const waiting = new AbortController();
    const sending = errorOf(client.request(HEAD, BODY, waiting.signal));
    waiting.abort();
    expect((await sending)?.message).toBe("aborted");
    expect((await errorOf(client.request(HEAD, BODY, AbortSignal.abort())))?.message).toBe("aborted");
    answer(held[0]!);
    await first;
    const connecting = new AbortController();
    const other = errorOf(clientOf(server).request(HEAD, BODY, connecting.signal));
    connecting.abort();
    expect((await other)?.message).toBe("aborted");
    await turns();
    expect(server.requests).toHaveLength(1);
  });

  it("counts by its status when the head of the answer is there", async () => {
    const server = await startRawServer((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"));
    const clock = new FakeClock();
    const abort = new AbortController();
    const sending = clientOf(server, { clock }).request(HEAD, BODY, abort.signal);
    await until(() => expect(clock.pending).toBe(1));
    abort.abort();
    expect(await sending).toMatchObject({ status: 200, body: Buffer.from("he"), bodyError: new Error("aborted") });
  });
});

describe("a client that is closed", () => {
  it("ends what is under way, what waits and what is kept, and sends nothing more", async () => {
    const server = await startRawServer(silent);
    const client = clientOf(server, { maxConnections: 1 });
    const sending = [errorOf(client.request(HEAD, BODY)), errorOf(client.request(HEAD, BODY))];
    await until(() => expect(server.requests).toHaveLength(1));
    client.close();
    sending.push(errorOf(client.request(HEAD, BODY)));
    for (const error of await Promise.all(sending)) expect(error?.message).toBe("the client was closed");
    await expect.poll(() => [...server.sockets].every((socket) => socket.readableEnded)).toBe(true);
    expect(server.accepted).toBe(1);
  });
});

describe("an origin", () => {
  it("may be a name that has several addresses", async () => {
    const server = await startRawServer(answer);
    expect((await clientOf(server, {}, "localhost").request(HEAD, BODY)).status).toBe(200);
  });

  it("may be an IPv6 address", async () => {
    const server = await startRawServer(answer, "requested", "::1");
    expect((await clientOf(server, {}, "::1").request(HEAD, BODY)).status).toBe(200);
  });

  it("that refuses or is unknown is reported with Node.js's code", async () => {
    const client = clientOf({ port: 1 });
    expect((await errorOf(client.request(HEAD, BODY)))?.cause.code).toBe("ECONNREFUSED");
    const unknown = clientOf({ port: 1 }, {}, "no-such-host.invalid");
    expect((await errorOf(unknown.request(HEAD, BODY)))?.cause.code).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });
});
