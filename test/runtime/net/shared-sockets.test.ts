import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { listen, portOf } from "../../../src/runtime/net/listen.js";
import { SharedSockets } from "../../../src/runtime/net/shared-sockets.js";

const none = () => [];
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that greets whoever connects. */
function greeting(word: string): Server {
  const server = createServer((socket) => void socket.end(word));
  servers.push(server);
  return server;
}

/** A server that listens and may be taken over. */
async function scene() {
  const sockets = new SharedSockets();
  const former = greeting("former");
  await listen(former, { host: "127.0.0.1", port: 0 }, []);
  sockets.add("here", "http", former, none);
  sockets.beginReload();
  return { sockets, former, port: portOf(former), next: greeting("next") };
}

describe("a listening socket", () => {
  it("moves to a server of another kind, and back if the reload fails", async () => {
    const { sockets, next, port } = await scene();
    expect(await sockets.takeSocket("here", "https", next, none)).toMatchObject({ server: next });
    expect(await connectTo(port)).toBe("next");
    await sockets.giveBack();
    expect(await connectTo(port)).toBe("former");
  });

  it("stays where it is, with advice, if Node.js does not show it any more", async () => {
    const { sockets, former, next, port } = await scene();
    const { _handle } = former as unknown as { _handle: object };
    Object.assign(former, { _handle: undefined });
    await expect(sockets.takeSocket("here", "https", next, none)).rejects.toThrow(
      /cannot change what kind of server listens on here while the agent runs.*restart the agent/,
    );
    Object.assign(former, { _handle });
    await sockets.giveBack();
    expect(await connectTo(port)).toBe("former");
    expect(next.listening).toBe(false);
  });

  it("stays where it is if another server cannot listen with it", async () => {
    const { sockets, next, port } = await scene();
    Object.assign(next, {
      listen: () => {
        throw new TypeError("no such option");
      },
    });
    await expect(sockets.takeSocket("here", "https", next, none)).rejects.toThrow("no such option");
    await sockets.giveBack();
    expect(await connectTo(port)).toBe("former");
  });
});

/** Returns what the server at the port says. */
async function connectTo(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const [said] = (await once(socket, "data")) as [Buffer];
  return said.toString();
}
