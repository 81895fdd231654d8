import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "../../../support/until.js";
import { BODY, clientOf, HEAD, OK, startRawServer } from "./raw-server.js";

const answerOf = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/**
 * Whether the client or the server has left the connection. Node.js raises no event when a socket is reset while it
 * ends.
 */
const isLeft = (socket: Socket) => socket.readableEnded || socket.destroyed;

describe("an answer", () => {
  it("belongs to its own request, with servers that are slow, break off and close, and senders that abort", async () => {
    const next = numbers(7);
    const pause = () => new Promise((resolve) => setTimeout(resolve, next(3)));
    const talk = async (socket: Socket, request: string) => {
      const text = answerOf(`to ${/id-\d+-/.exec(request)![0]}`);
      await pause();
      for (let at = 0; at < text.length && !socket.destroyed; ) {
        if (next(80) === 0) return void (next(2) === 0 ? socket.destroy() : socket.resetAndDestroy());
        const to = next(3) === 0 ? at + 1 + next(20) : text.length;
        socket.write(text.slice(at, to));
        at = to;
        if (next(4) === 0) await pause();
      }
      const whim = next(10);
      if (whim === 0) socket.end();
      else if (whim === 1) socket.resetAndDestroy();
    };
    const server = await startRawServer((socket, { requests }) => void talk(socket, requests.at(-1)!));
    const client = clientOf(server, { maxConnections: 5, maxIdle: 5 });
    const tally = { answered: 0, failed: 0 };
    const sendOne = async (id: number) => {
      const abort = new AbortController();
      if (next(3) === 0) setTimeout(() => abort.abort(), next(5));
      const body = [Buffer.from(`id-${id}-`), Buffer.alloc(next(3) === 0 ? next(300_000) : next(100), "x")];
      const answer = await client.request(HEAD, body, abort.signal, next(10) === 0).catch((error: Error) => error);
      if (answer instanceof Error) {
        expect(answer.name).toBe("NoAnswer");
        tally.failed++;
        return;
      }
      const whole = `to id-${id}-`;
      const came = answer.bodyError === undefined ? whole : whole.slice(0, answer.body.length);
      expect(answer.body.toString()).toBe(came);
      tally.answered++;
    };
    let id = 0;
    const sendMany = async () => {
      while (id < 1500) await sendOne(id++);
    };
    await Promise.all(Array.from({ length: 12 }, sendMany));
    expect(tally.answered).toBeGreaterThan(500);
    client.close();
    await expect.poll(() => [...server.sockets].every(isLeft)).toBe(true);
  });

  it("is never data that arrived before its request: the rest of a full read", async () => {
    const first = `HTTP/1.1 200 OK\r\nX-Fill: ${"f".repeat(8192)}`;
    const tail = "\r\nContent-Length: 2\r\n\r\nok";
    const whole = first.slice(0, 8192 - tail.length) + tail;
    expect(whole).toHaveLength(8192);
    let count = 0;
    const server = await startRawServer((socket) =>
      socket.write(++count === 1 ? whole + answerOf("stolen") : answerOf("own")),
    );
    const client = clientOf(server, { maxConnections: 1 });
    const [a, b] = await Promise.all([client.request(HEAD, BODY), client.request(HEAD, BODY)]);
    expect([a.body.toString(), b.body.toString()]).toEqual(["ok", "own"]);
  });

  it("that says all went well before all was sent is none", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write(OK);
      });
    }, "connected");
    const client = clientOf(server);
    const body = Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024));
    await expect(client.request(HEAD, body)).rejects.toThrow();
  });

  it("that breaks off at any byte neither hangs nor reaches the next request", async () => {
    const text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nA: b\r\n\r\n";
    let cut = 0;
    let turn = 0;
    const server = await startRawServer((socket) => {
      if (turn++ % 2 === 1) socket.write(answerOf("own"));
      else
        socket.write(text.slice(0, cut), () => setImmediate(() => (cut % 2 ? socket.resetAndDestroy() : socket.end())));
    });
    const client = clientOf(server, { maxConnections: 1 });
    for (cut = 0; cut < text.length; cut++) {
      const [first, second] = await Promise.allSettled([client.request(HEAD, BODY), client.request(HEAD, BODY)]);
      if (first.status === "fulfilled") expect(first.value.status).toBe(200);
      expect(second).toMatchObject({ status: "fulfilled", value: { status: 200, body: Buffer.from("own") } });
    }
  });

  it("reaches waiting requests when every connection breaks", async () => {
    let dead = 0;
    const server = await startRawServer((socket) => (++dead <= 40 ? socket.destroy() : socket.write(OK)));
    const client = clientOf(server, { maxConnections: 4 });
    const all = await Promise.allSettled(Array.from({ length: 60 }, () => client.request(HEAD, BODY)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
  });
});

describe("connections that are not to be kept", () => {
  it("carry one request each, even while others wait", async () => {
    const server = await startRawServer((socket) => socket.write(OK));
    const client = clientOf(server, { maxConnections: 2, maxIdle: 0 });
    await Promise.all(Array.from({ length: 6 }, () => client.request(HEAD, BODY)));
    expect(server.accepted).toBe(6);
  });
});

describe("a request that is given up in the middle of its body", () => {
  it("stops there", async () => {
    const server = await startRawServer((socket) => void socket.pause(), "connected");
    const client = clientOf(server);
    const abort = new AbortController();
    const sending = client.request(HEAD, [Buffer.alloc(50 * 1024 * 1024)], abort.signal);
    await until(() => expect(server.accepted).toBe(1));
    setTimeout(() => abort.abort(), 20);
    await expect(sending).rejects.toThrow("aborted");
    for (const socket of server.sockets) socket.resume();
    await expect.poll(() => [...server.sockets].every(isLeft)).toBe(true);
  });
});
