import { once } from "node:events";
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_MAX_CONNECTION_IDLE_MS } from "../../../src/receivers/otlp/config.js";
import { GrpcSessions } from "../../../src/receivers/otlp/grpc-sessions.js";
import { FakeClock } from "../../support/fake-clock.js";

const HOUR = DEFAULT_MAX_CONNECTION_IDLE_MS;

describe("connections without a keepalive section", () => {
  it("end after an hour without calls", async () => {
    const { client, pass } = await open();
    await pass(HOUR - 1);
    expect(client.closed).toBe(false);
    await pass(1);
    await once(client, "close");
  });

  it("stay open while they have a call, and an hour longer", async () => {
    const { client, pass } = await open();
    await pass(HOUR * 3, true);
    await pass(HOUR - 1);
    expect(client.closed).toBe(false);
    await pass(1);
    await once(client, "close");
  });

  it("stay open while the client sends pings", async () => {
    const { client, server, pass } = await open();
    for (let hour = 0; hour < 3; hour++) {
      await pass(HOUR - 1);
      const reached = once(server, "ping");
      client.ping(() => {});
      await reached;
    }
    await pass(HOUR - 1);
    expect(client.closed).toBe(false);
    await pass(1);
    await once(client, "close");
  });

  it("are idle even if the client answers our pings", async () => {
    const { client, pass } = await open({ time: 10, timeout: 60_000, max_connection_idle: HOUR });
    const pinged = once(client, "ping");
    await pass(HOUR - 1);
    await pinged;
    await pass(1);
    await once(client, "close");
  });

  it("never end if max_connection_idle is 0", async () => {
    const { client, pass } = await open({ time: 0, timeout: 20_000, max_connection_idle: 0 });
    await pass(HOUR * 1000);
    expect(client.closed).toBe(false);
  });
});

/** A real connection, whose age `pass` advances by a fake clock. */
async function open(keepAlive?: ConstructorParameters<typeof GrpcSessions>[1]) {
  const clock = new FakeClock();
  const sessions = new GrpcSessions(clock, keepAlive);
  const server = createServer().on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const accepted = once(server, "session") as Promise<[ServerHttp2Session]>;
  const client: ClientHttp2Session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on("error", () => {});
  const [[session]] = await Promise.all([accepted, once(client, "connect")]);
  onTestFinished(() => {
    client.destroy();
    sessions.destroyAll();
    server.close();
  });
  const pass = async (ms: number, isBusy = false) => {
    clock.advance(ms);
    sessions.checkTime(clock.monotonic(), () => isBusy);
    // A ping that stays unsent counts as a dead connection.
    await expect.poll(() => session.destroyed || session.closed || session.state.outboundQueueSize === 0).toBe(true);
  };
  return { client, server: session, pass };
}
