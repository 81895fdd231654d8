import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { AuthError, type ServerAuthenticator, type ServerAuthRequest } from "../../../src/runtime/contract/auth.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { OTLP_SERVICES } from "../../../src/runtime/net/otlp/services.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { GrpcJsClient } from "./grpc-client.js";
import { PROTO, post, type Running, startReceiver } from "./harness.js";
import { wire } from "./requests.js";

const JOE = {
  authenticator: "keys",
  subject: "joe",
  tenant: "acme",
  attributes: { username: "joe", Groups: ["a", "b"] },
};

/** Accepts clients that say joe, at once or later. */
function keys(isLate = false): ServerAuthenticator & { asked: ServerAuthRequest[] } {
  const asked: ServerAuthRequest[] = [];
  const answer = (request: ServerAuthRequest) => {
    asked.push(request);
    const shown = request.header("authorization");
    if (shown === "joe") return JOE;
    if (shown === "down") throw new AuthError("unavailable", "the issuer cannot be reached", { retryAfterMs: 2000 });
    if (shown === "bug") throw new TypeError("oops");
    throw new AuthError("unauthenticated", "who are you?");
  };
  return { asked, challenge: 'Keys realm="x"', authenticate: isLate ? async (request) => answer(request) : answer };
}

const auth = { authenticator: "keys" };
let running: Running;
const start = async (options: object = {}, authenticator = keys()) => {
  const protocols = {
    http: { endpoint: "127.0.0.1:0", auth, ...options },
    grpc: { endpoint: "127.0.0.1:0", auth, ...options },
  };
  running = await startReceiver(protocols, SIGNALS, systemClock, authenticator);
};
afterEach(() => running.receiver.stop());

describe.each([
  ["at once", false],
  ["after a while", true],
])("a receiver whose authenticator answers %s", (_, isLate) => {
  it.each([
    ["joe", 200, undefined, undefined],
    ["nobody", 401, 'Keys realm="x"', undefined],
    ["down", 503, undefined, "2"],
    ["bug", 503, undefined, "1"],
  ])("answers %s over HTTP with %i", async (shown, status, challenge, retryAfter) => {
    await start({}, keys(isLate));
    const answer = await post(running.http, "/v1/logs", wire("logs", 2), { ...PROTO, authorization: shown });
    expect([answer.status, answer.headers["www-authenticate"], answer.headers["retry-after"]]).toEqual([
      status,
      challenge,
      retryAfter,
    ]);
    expect(running.intakes.logs.records).toBe(status === 200 ? 2 : 0);
    expect(answer.body.toString()).not.toContain("oops");
  });

  it.each([
    ["joe", 0],
    ["nobody", 16],
    ["down", 14],
    ["bug", 14],
  ])("answers %s over gRPC with %i", async (shown, code) => {
    await start({}, keys(isLate));
    const client = new GrpcJsClient(running.grpc);
    const answer = await client.export("logs", wire("logs", 2), { headers: { authorization: shown } });
    client.close();
    expect(answer.code).toBe(code);
    expect(running.intakes.logs.records).toBe(code === 0 ? 2 : 0);
  });

  it("reads no body before it has authenticated the client", async () => {
    await start({}, keys(isLate));
    const socket = connect(running.http, "127.0.0.1");
    let received = "";
    socket.on("data", (data) => (received += data)).on("error", () => {});
    socket.write(
      "POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 10000000\r\n\r\n",
    );
    await expect.poll(() => received).toContain("HTTP/1.1 401");
    expect(received.toLowerCase()).toContain("connection: close");
    expect(running.intakes.logs.mostReserved).toBe(0);
    socket.destroy();
  });

  it("asks a client that waits for 100-continue to go on only when it knows it", async () => {
    await start({}, keys(isLate));
    const head = (who: string) =>
      `POST /v1/logs HTTP/1.1\r\nHost: x\r\nAuthorization: ${who}\r\nExpect: 100-continue\r\nContent-Type: application/x-protobuf\r\nContent-Length: 5\r\n\r\n`;
    for (const [who, expected] of [
      ["joe", "HTTP/1.1 100"],
      ["eve", "HTTP/1.1 401"],
    ]) {
      const socket = connect(running.http, "127.0.0.1");
      let received = "";
      socket.on("data", (data) => (received += data)).on("error", () => {});
      socket.write(head(who!));
      await expect.poll(() => received).toContain(expected);
      if (who === "eve") expect(received).not.toContain("HTTP/1.1 100");
      socket.destroy();
    }
  });
});

describe("a receiver with an authenticator", () => {
  it("tells strangers nothing of what it has, but answers the preflights of browsers", async () => {
    const cors = { allowed_origins: ["https://a.example"] };
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0", auth, cors } }, SIGNALS, systemClock, keys());
    expect((await post(running.http, "/nothing", wire("logs"), PROTO)).status).toBe(401);
    expect((await post(running.http, "/nothing", wire("logs"), { ...PROTO, authorization: "joe" })).status).toBe(404);
    const url = `http://127.0.0.1:${running.http}/v1/logs`;
    expect((await fetch(url, { method: "OPTIONS", headers: { origin: "https://a.example" } })).status).toBe(204);
  });

  it("keeps who sent it with the data, and no header can pretend to be that", async () => {
    await start();
    await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, authorization: "joe", "auth.subject": "root" });
    const known = [
      ["auth.username", ["joe"]],
      ["auth.groups", ["a", "b"]],
      ["auth.authenticator", ["keys"]],
      ["auth.subject", ["joe"]],
      ["auth.tenant", ["acme"]],
    ];
    expect([...(running.intakes.logs.origins[0]?.metadata ?? [])]).toEqual(known);
    await running.receiver.stop();

    await start({ include_metadata: true });
    const client = new GrpcJsClient(running.grpc);
    await client.export("logs", wire("logs"), {
      headers: { authorization: "joe", "auth.subject": "root", "x-a": "1" },
    });
    client.close();
    await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, authorization: "joe", "auth.other": "root" });
    for (const origin of running.intakes.logs.origins) {
      expect([...(origin?.metadata ?? [])].filter(([name]) => name.startsWith("auth."))).toEqual(known);
      expect(origin?.metadata?.get("client.address")).toEqual(["127.0.0.1"]);
    }
    expect(running.intakes.logs.origins[0]?.metadata?.get("x-a")).toEqual(["1"]);
  });

  it("keeps no header that looks like an authenticated client when it has none itself", async () => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0", include_metadata: true } });
    await post(running.http, "/v1/logs", wire("logs"), { ...PROTO, "auth.subject": "root" });
    expect(running.intakes.logs.origins[0]?.metadata?.has("auth.subject")).toBe(false);
  });

  it("refuses two Authorization headers, whichever of them is right", async () => {
    await start();
    for (const [first, second] of [
      ["joe", "eve"],
      ["eve", "joe"],
    ]) {
      const socket = connect(running.http, "127.0.0.1");
      let received = "";
      socket.on("data", (data) => (received += data));
      socket.write(
        `POST /v1/logs HTTP/1.1\r\nHost: x\r\nAuthorization: ${first}\r\nauthorization: ${second}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
      );
      await expect.poll(() => received).toContain("HTTP/1.1 401");
      socket.destroy();
    }
  });

  it("does not start when it finds no authenticator", async () => {
    await start();
    await expect(startReceiver({ http: { endpoint: "127.0.0.1:0", auth } })).rejects.toThrow("no authenticators");
  });
});

it("does not cut a refused call off whose client is about to end it, since some clients lose the answer then", async () => {
  await start();
  const session = connectHttp2(`http://127.0.0.1:${running.grpc}`);
  const path = OTLP_SERVICES.logs.grpcPath;
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  const closed = once(stream, "close");
  stream.write(Buffer.alloc(100));
  const [headers] = await once(stream, "response");
  expect(headers["grpc-status"]).toBe("16");
  await new Promise((resolve) => session.ping(resolve));
  expect(stream.closed).toBe(false);
  stream.end();
  stream.resume();
  await closed;
  session.destroy();
});

it("cuts it off when the client goes on sending", async () => {
  await start();
  const session = connectHttp2(`http://127.0.0.1:${running.grpc}`);
  const path = OTLP_SERVICES.logs.grpcPath;
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  const closed = once(stream, "close");
  stream.write(Buffer.alloc(10 * 1024 * 1024));
  stream.resume();
  await closed;
  expect(stream.rstCode).toBe(0);
  session.destroy();
});
