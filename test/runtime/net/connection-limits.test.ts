import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { clientOf } from "../../../src/runtime/net/client-address.js";
import { connectionLimits } from "../../../src/runtime/net/connection-limits.js";

describe("a server with limits on connections", () => {
  let server: Server;
  const refused: string[] = [];
  const sockets: Socket[] = [];

  const start = async (maxConnections: number, maxConnectionsPerClient: number) => {
    server = createServer((socket) => socket.on("error", () => {}).write("hello"));
    const onRefused = (reason: string) => void refused.push(reason);
    for (const [event, listener] of connectionLimits(server, { maxConnections, maxConnectionsPerClient, onRefused }))
      server.on(event, listener as () => void);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  };

  /** Whether the server says something before it closes the connection. */
  const isServed = async (): Promise<boolean> => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    return Promise.race([once(socket, "data").then(() => true), once(socket, "close").then(() => false)]);
  };

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    refused.length = 0;
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ["max_connections", 2, 10],
    ["max_connections_per_client", 10, 2],
  ])("closes what is over %s, and takes the next once one has gone", async (reason, max, perClient) => {
    await start(max, perClient);
    expect([await isServed(), await isServed()]).toEqual([true, true]);
    await isServed();
    expect(refused).toEqual([reason]);
    sockets.shift()!.destroy();
    await expect.poll(isServed).toBe(true);
  });
});

describe("a client", () => {
  it.each([
    ["203.0.113.9", "203.0.113.9"],
    ["::ffff:203.0.113.9", "::ffff:203.0.113.9"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8:1:2::", "2001:db8:1:2"],
    ["::1", "0:0:0:0"],
    ["1::2:3:4:5:6:7", "1:0:2:3"],
    [undefined, undefined],
  ])("%s counts as %s", (address, client) => {
    expect(clientOf(address)).toBe(client);
  });
});
