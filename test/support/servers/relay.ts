import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";

/** A way to a server of this machine that can be cut. */
export interface Relay {
  readonly endpoint: string;
  /** The ports that the server sees. */
  ports(): number[];
  /** Ends what is there, and whatever comes until it is mended. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startRelay(target: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const cut = () => {
    isCut = true;
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const pair = [socket, connect(target, "127.0.0.1")] as const;
    pairs.add(pair);
    pipeline(pair[0], pair[1], pair[0], () => pairs.delete(pair));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ports: () => [...pairs].flatMap(([, { localPort }]) => localPort ?? []),
    cut,
    mend: () => {
      isCut = false;
    },
    close: async () => {
      cut();
      await once(server.close(), "close");
    },
  };
}
