import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { compress } from "../../../src/runtime/codecs/compression/compress.js";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";
import { formatAddress, listenAddress, parseHostPort } from "../../../src/runtime/net/endpoint.js";
import { listen } from "../../../src/runtime/net/listen.js";
import { tlsClient } from "../../../src/runtime/net/tls-config.js";
import { loadClientTls } from "../../../src/runtime/net/tls-load.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

describe("an address", () => {
  it.each([
    ["127.0.0.1:4318", "127.0.0.1", 4318],
    ["localhost:0", "localhost", 0],
    [":4318", undefined, 4318],
    ["[::1]:4318", "::1", 4318],
    ["[::]:4317", "::", 4317],
  ])("is read from %s", (text, host, port) => {
    expect(parseHostPort(text)).toEqual({ host, port });
    expect(formatAddress({ host, port })).toBe(text);
  });

  it.each(["", "localhost", "1.2.3.4:", ":x", "a:70000", "::1:4318", "[x]:1", "a b:1", "a/b:1"])(
    "is not %j",
    (text) => {
      expect(parseHostPort(text)).toBeUndefined();
    },
  );

  it("may be a Unix socket, or all of IPv4", () => {
    expect(listenAddress("/run/x.sock", "unix")).toEqual({ path: "/run/x.sock" });
    expect(listenAddress(":1", "tcp4")).toEqual({ host: "0.0.0.0", port: 1, isIPv4Only: true });
  });
});

describe("listening", () => {
  /** Returns those of these hosts that answer. */
  async function reached(endpoint: string, transport: string): Promise<string[]> {
    const server = createServer().unref();
    const port = await listen(server, listenAddress(endpoint, transport), []);
    const hosts = ["127.0.0.1", ...(hasIPv6 ? ["::1"] : [])];
    const answers = await Promise.all(hosts.map((host) => canConnect(host, port)));
    server.close();
    return hosts.filter((_, index) => answers[index]);
  }
  const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
  const canConnect = (host: string, port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port }, () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  const every = ["127.0.0.1", ...(hasIPv6 ? ["::1"] : [])];

  it.each([
    ["0.0.0.0:0", "tcp", every],
    [":0", "tcp", every],
    ["[::]:0", "tcp", every],
    ["0.0.0.0:0", "tcp4", ["127.0.0.1"]],
    ["127.0.0.1:0", "tcp", ["127.0.0.1"]],
  ])("at %s with %s is reached at %j, as in the Collector", async (endpoint, transport, hosts) => {
    expect(await reached(endpoint, transport)).toEqual(hosts);
  });

  it("takes the place of a Unix socket that a killed process has left, and of nothing else", async () => {
    const folder = temporaryFolder();
    const [path, left] = [join(folder, "a.sock"), join(folder, "b.sock")];
    const killed = createServer();
    await listen(killed, { path }, []);
    renameSync(path, left);
    await new Promise((resolve) => killed.close(resolve));
    const server = createServer().unref();
    await listen(server, { path: left }, []);
    await expect(listen(createServer(), { path: left }, [])).rejects.toThrow("in use by another program");
    writeFileSync(path, "a file");
    await expect(listen(createServer(), { path }, [])).rejects.toThrow("in use by another program");
    expect(readFileSync(path, "utf8")).toBe("a file");
    server.close();
  });
});

describe("decompressing", () => {
  const bounds = (limit: number, room = Number.POSITIVE_INFINITY) => {
    let reserved = 0;
    return {
      limit,
      reserve(bytes: number) {
        reserved += bytes;
        return reserved <= room;
      },
    };
  };
  const unpack = async (...how: Parameters<typeof decompress>) => decompress(...how);
  const big = Buffer.alloc(3_000_000, "telemetry ");

  it("gives back what was compressed, small and large", async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from("x"), big]) {
      expect((await unpack("gzip", await compress("gzip", bytes), bounds(1e7))).equals(bytes)).toBe(true);
      expect((await unpack("deflate", deflateSync(bytes), bounds(1e7))).equals(bytes)).toBe(true);
    }
  });

  it.each(["gzip", "deflate"])("stops %s at the limit and when there is no room left", async (name) => {
    for (const bytes of [big, big.subarray(0, 50_000)]) {
      const packed = name === "gzip" ? gzipSync(bytes) : deflateSync(bytes);
      await expect(unpack(name, packed, bounds(bytes.length - 1))).rejects.toMatchObject({ fault: "too_large" });
      await expect(unpack(name, packed, bounds(1e7, 1000))).rejects.toMatchObject({ fault: "no_room" });
      await expect(unpack(name, packed, bounds(bytes.length))).resolves.toHaveLength(bytes.length);
    }
  });

  it.each(["gzip", "deflate"])("calls damaged %s corrupt", async (name) => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(40, 7), gzipSync(big).subarray(0, 500)]) {
      await expect(unpack(name, bytes, bounds(1e7))).rejects.toMatchObject({ fault: "corrupt" });
    }
  });
});

it("cipher suites may have the Collector's names", async () => {
  const suites = ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"];
  const { ciphers } = await loadClientTls(tlsClient().parse({ cipher_suites: suites }), []);
  expect(ciphers).toBe("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305");
  const nonsense = loadClientTls(tlsClient().parse({ cipher_suites: ["TLS_NOTHING_WITH_NOTHING"] }), ["tls"]);
  await expect(nonsense).rejects.toMatchObject({ code: "SLUICE_START", path: ["tls"] });
});
