import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { isStartError } from "../../../src/runtime/contract/errors/start-error.js";
import { FakeClock } from "../../support/fake-clock.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { fakeHost, startOpamp } from "./harness.js";
import { type OpampServer, type SeenMessage, startOpampServer } from "./opamp-server.js";
import { attributes, int, map, proto, sub, text } from "./proto.js";

const TRANSPORTS = ["ws", "http"] as const;
type Transport = (typeof TRANSPORTS)[number];

const serverKeys = (transport: Transport, { wsUrl, httpUrl }: OpampServer, more: object = {}) => ({
  server: transport === "ws" ? { ws: { endpoint: wsUrl, ...more } } : { http: { endpoint: httpUrl, ...more } },
});

/** Waits for a condition while the clock runs in small steps: fast enough to wait for minutes, slow enough for sockets. */
function untilWith<T>(clock: FakeClock, check: () => T): Promise<T> {
  const tick = () => {
    clock.advance(100);
    return check();
  };
  return vi.waitFor(tick, { timeout: CONDITION_LIMIT_MS, interval: 1 });
}

async function firstMessage({ messages }: OpampServer): Promise<SeenMessage> {
  await until(() => expect(messages.length).toBeGreaterThan(0));
  return messages[0]!;
}

const uidOf = ({ fields }: SeenMessage) => (fields.get(1)![0] as Buffer).toString("hex");
const sequenceOf = ({ fields }: SeenMessage) => int(fields, 2);
const isDisconnect = ({ fields }: SeenMessage) => fields.has(9);
const PARTS = [3, 5, 6];
const partsOf = ({ fields }: SeenMessage) => PARTS.filter((part) => fields.has(part));

describe.each(TRANSPORTS)("over %s", (transport) => {
  it("reports identity, description, health and config at once", async () => {
    const server = await startOpampServer();
    await startOpamp({
      ...serverKeys(transport, server),
      agent_description: {
        identifying_attributes: { "service.namespace": "shop" },
        non_identifying_attributes: { region: "eu", "host.name": "override" },
        include_resource_attributes: true,
      },
    });
    const message = await firstMessage(server);
    const uid = uidOf(message);
    expect(uid).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(int(message.fields, 4)).toBe(0x1 | 0x4 | 0x800 | 0x2000);
    const description = sub(message.fields, 3);
    expect(attributes(description, 1)).toEqual({
      "service.name": "gateway",
      "service.version": "1.2.3",
      "service.instance.id": uid.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
      "service.namespace": "shop",
    });
    expect(attributes(description, 2)).toMatchObject({
      "os.type": expect.any(String),
      "host.arch": expect.any(String),
      "host.name": "override",
      region: "eu",
      "deployment.environment": "test",
    });
    const health = sub(message.fields, 5);
    expect([int(health, 1), text(health, 4)]).toEqual([1, "StatusOK"]);
    expect(health!.get(2)![0]).toBe(1_700_000_000_000_000_000n);
    const pipeline = map(health, 6)["pipeline:logs"];
    expect(Object.keys(map(pipeline, 6))).toEqual(["receiver:otlp", "exporter:otlp_http"]);
    const file = map(sub(sub(message.fields, 6)!, 1), 1)[""];
    expect(parse(text(file, 1))).toEqual({ receivers: { otlp: null } });
    expect(text(file, 2)).toBe("text/yaml");
  });

  it("asks the workers before it reports their health, at first and later", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    const host = fakeHost();
    let told: "UP" | "DOWN" = "DOWN";
    host.exporters = [];
    host.refresh = async () => {
      const breaker = { state: told === "UP" ? "closed" : "open", forced: false, since: 0 } as const;
      host.exporters = [{ id: "otlp_http", state: told, paused: false, breaker, queue: {} as never }];
    };
    await startOpamp(serverKeys(transport, server), { clock, host });
    const isHealthy = ({ fields }: SeenMessage) => int(sub(fields, 5)!, 1);
    expect(isHealthy(await firstMessage(server))).toBe(0);
    told = "UP";
    await untilWith(clock, () => expect(isHealthy(server.messages.findLast(({ fields }) => fields.has(5))!)).toBe(1));
  });

  it("sends what has changed and nothing else, with a number that counts up", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    const { host } = await startOpamp(serverKeys(transport, server), { clock });
    await firstMessage(server);
    host.exporters = [
      {
        id: "otlp_http",
        state: "DOWN",
        paused: false,
        breaker: { state: "open", forced: false, since: 0 },
        queue: {} as never,
        lastError: { at: 0, class: "transient", message: "ECONNREFUSED" },
      },
    ];
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(1));
    const changed = server.messages[1]!;
    expect(partsOf(changed)).toEqual([5]);
    const health = sub(changed.fields, 5);
    expect([int(health, 1), text(health, 3)]).toEqual([0, "pipeline:logs is unhealthy"]);
    const exporter = map(map(health, 6)["pipeline:logs"], 6)["exporter:otlp_http"];
    expect([int(exporter, 1), text(exporter, 3)]).toEqual([0, "the breaker is open: ECONNREFUSED"]);
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(3));
    expect(server.messages.slice(2, 4).map(partsOf)).toEqual([[], []]);
    expect(server.messages.map(sequenceOf)).toEqual(server.messages.map((_, i) => i));
  });

  it("reports the whole status again when the server asks, but not in a loop when it always asks", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    server.answer = () => proto([6, 1]);
    await startOpamp(serverKeys(transport, server), { clock });
    await firstMessage(server);
    const from = clock.monotonic();
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(5));
    expect(server.messages.slice(0, 3).map(partsOf)).toEqual([PARTS, PARTS, PARTS]);
    expect(server.messages.length).toBeLessThanOrEqual((clock.monotonic() - from) / 1000 + 1);
  });

  it("says goodbye when it stops", async () => {
    const server = await startOpampServer();
    const { extension, logged } = await startOpamp(serverKeys(transport, server));
    await firstMessage(server);
    await extension.stop();
    expect(logged.filter(({ level }) => level === "warn")).toEqual([]);
    expect(server.messages.map(isDisconnect)).toEqual([false, true]);
    if (transport === "ws") expect(server.closeCodes).toEqual([1000]);
  });

  it("is the same agent after a restart", async () => {
    const server = await startOpampServer();
    const directory = temporaryFolder();
    const first = await startOpamp(serverKeys(transport, server), { directory });
    await firstMessage(server);
    await first.extension.stop();
    await startOpamp(serverKeys(transport, server), { directory });
    await until(() => expect(server.messages.length).toBeGreaterThan(2));
    expect(new Set(server.messages.map(uidOf)).size).toBe(1);
    const file = join(directory, "opamp", "instance-uid");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8").replaceAll("-", "").trim()).toBe(uidOf(server.messages[0]!));
  });

  it("takes another identity from the server, and keeps it", async () => {
    const clock = new FakeClock();
    const given = Buffer.alloc(16, 7);
    const server = await startOpampServer();
    const directory = temporaryFolder();
    server.answer = ({ fields }) =>
      (fields.get(1)![0] as Buffer).equals(given) ? Buffer.alloc(0) : proto([8, proto([1, given])]);
    await startOpamp(serverKeys(transport, server), { directory, clock });
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(1));
    expect(uidOf(server.messages[1]!)).toBe(given.toString("hex"));
    expect(partsOf(server.messages[1]!)).toEqual(PARTS);
    await until(() =>
      expect(
        readFileSync(join(directory, "opamp", "instance-uid"), "utf8")
          .replaceAll("-", "")
          .trim(),
      ).toBe(given.toString("hex")),
    );
  });

  it("ignores an identity that does not have 16 bytes", async () => {
    const server = await startOpampServer();
    server.answer = () => proto([8, proto([1, Buffer.alloc(1000)])]);
    const { logged } = await startOpamp({
      ...serverKeys(transport, server),
      instance_uid: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    });
    await until(() => expect(logged.map(({ message }) => message).join()).toContain("does not have 16 bytes"));
    expect(uidOf(server.messages[0]!)).toBe("01563e3ab5d3d6764c61efb99302bd5b");
  });

  it("tells everything again on a new connection", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    await startOpamp(serverKeys(transport, server), { clock });
    await firstMessage(server);
    server.onRequest = (_, response) => {
      response.writeHead(503).end();
      server.onRequest = () => false;
      return true;
    };
    server.drop();
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(1));
    expect(server.messages.slice(0, 2).map(partsOf)).toEqual([PARTS, PARTS]);
    expect(server.messages.slice(0, 2).map(sequenceOf)).toSatisfy(([a, b]) => b! > a!);
  });

  it("waits as long as an unavailable server asks it to", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    const busy = proto([2, proto([1, 2], [2, "busy"], [3, proto([1, 120_000_000_000n])])]);
    server.answer = () => (server.messages.length > 1 ? Buffer.alloc(0) : busy);
    const { logged, counts } = await startOpamp(serverKeys(transport, server), { clock });
    await until(() => expect(counts.failures).toBe(1));
    await clock.pass(121_999);
    expect(server.messages).toHaveLength(1);
    clock.advance(1);
    await until(() => expect(server.messages).toHaveLength(2));
    expect(logged.map(({ message }) => message)).toContain("the OpAMP server could not accept a message");
  });

  it("waits longer and longer for a server that fails, up to a minute", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    let attempts = 0;
    server.onRequest = (_, response) => {
      attempts++;
      response.writeHead(500).end();
      return true;
    };
    server.onSocket = (socket) => {
      attempts++;
      socket.destroy();
    };
    const { counts } = await startOpamp(serverKeys(transport, server), { clock });
    for (const [i, wait] of [2, 4, 8, 16, 32, 60, 60].entries()) {
      await until(() => expect(counts.failures).toBe(i + 1));
      await clock.pass(wait * 1000 - 1);
      expect(attempts).toBe(i + 1);
      clock.advance(1);
      await until(() => expect(attempts).toBe(i + 2));
    }
  });

  it("sends heartbeats as often as the server asks", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    server.answer = () => proto([4, proto([2, proto([4, 5])])]);
    await startOpamp(serverKeys(transport, server), { clock });
    await firstMessage(server);
    const from = clock.monotonic();
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(4));
    expect(clock.monotonic() - from).toBeLessThan(30_000);
  });

  it("takes a server that answers nothing for dead", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    server.answer = () => undefined;
    server.onRequest = () => true;
    const { logged } = await startOpamp(serverKeys(transport, server), { clock });
    await untilWith(clock, () =>
      expect(logged.map(({ fields }) => String(fields["reason"])).join()).toMatch(
        /not answered for 60 s|no answer within/,
      ),
    );
  });

  it.each([
    ["garbage", Buffer.from("<html>hello</html>")],
    ["half a message", proto([1, "x"]).subarray(0, 2)],
    ["a field with number 0", Buffer.of(2, 1, 0x61)],
  ])("lives with a server that sends %s", async (_, garbage) => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    server.answer = () => garbage;
    const { logged } = await startOpamp(serverKeys(transport, server), { clock });
    await untilWith(clock, () => expect(server.messages.length).toBeGreaterThan(1));
    expect(logged.find(({ level }) => level === "warn")?.fields["reason"]).toBe(
      "the server sent something that is not an OpAMP message",
    );
  });

  it("sends headers and the credentials of its URL", async () => {
    const server = await startOpampServer();
    const keys = serverKeys(transport, server, { headers: { "X-Tenant": "acme" } });
    const own = Object.values(keys.server)[0]!;
    own.endpoint = own.endpoint.replace("://", "://user:pass@");
    await startOpamp(keys);
    const { headers } = await firstMessage(server);
    expect(headers["x-tenant"]).toBe("acme");
    expect(headers.authorization).toBe(`Basic ${Buffer.from("user:pass").toString("base64")}`);
    if (transport === "http") {
      expect(headers["content-type"]).toBe("application/x-protobuf");
      expect(headers["opamp-instance-uid"]).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe("over http", () => {
  const poll = async (answer: OpampServer["onRequest"], more: object = {}) => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    server.onRequest = answer;
    const started = await startOpamp({ server: { http: { endpoint: server.httpUrl } }, ...more }, { clock });
    return { ...started, server, clock };
  };
  const reasons = (logged: readonly { fields: Record<string, unknown> }[]) =>
    logged.map(({ fields }) => String(fields["reason"] ?? "")).join();

  it("refuses an answer of another content type", async () => {
    const { logged } = await poll((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html></html>");
      return true;
    });
    await until(() => expect(reasons(logged)).toContain("answered with text/html instead of application/x-protobuf"));
  });

  it("reads a compressed answer", async () => {
    const { gzipSync } = await import("node:zlib");
    let answers = 0;
    const { logged } = await poll((_, response) => {
      answers++;
      response
        .writeHead(200, { "content-type": "application/x-protobuf", "content-encoding": "gzip" })
        .end(gzipSync(proto([6, 0])));
      return true;
    });
    await until(() => expect(logged.map(({ message }) => message)).toContain("connected to the OpAMP server"));
    expect(answers).toBe(1);
  });

  it("refuses a small answer that decompresses to a large one", async () => {
    const { gzipSync } = await import("node:zlib");
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const { logged } = await poll((_, response) => {
      response.writeHead(200, { "content-type": "application/x-protobuf", "content-encoding": "gzip" }).end(bomb);
      return true;
    });
    await until(() => expect(reasons(logged)).toContain("cannot be decompressed"));
  });

  it("refuses an answer that is longer than max_message_size", async () => {
    const { logged } = await poll(
      (_, response) => {
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end(Buffer.alloc(100_000));
        return true;
      },
      { max_message_size: "64KiB" },
    );
    await until(() => expect(reasons(logged)).toContain("the answer is incomplete"));
  });

  it("waits for Retry-After", async () => {
    let requests = 0;
    const { clock, counts } = await poll((_, response) => {
      requests++;
      response.writeHead(429, { "retry-after": "300" }).end();
      return true;
    });
    await until(() => expect(counts.failures).toBe(1));
    await clock.pass(301_999);
    expect(requests).toBe(1);
    clock.advance(1);
    await until(() => expect(requests).toBe(2));
  });
});

describe("over ws", () => {
  it("closes a connection on which a gigabyte is announced, and connects again", async () => {
    const clock = new FakeClock();
    const server = await startOpampServer();
    let sockets = 0;
    server.onSocket = (socket) => {
      if (sockets++ === 0) socket.write(Buffer.from([0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 0]));
    };
    const { logged } = await startOpamp({ server: { ws: { endpoint: server.wsUrl } } }, { clock });
    await untilWith(clock, () => expect(sockets).toBeGreaterThan(1));
    expect(String(logged.find(({ level }) => level === "warn")?.fields["reason"])).toContain(
      "announced a message of more",
    );
    expect(server.closeCodes).toEqual([1009]);
  });

  it("asks an authenticator for credentials, and once more when they are refused", async () => {
    const server = await startOpampServer();
    const tokens = ["old", "new"];
    const refused: unknown[] = [];
    const client = () => ({
      isConfidential: true,
      authorize: async () => ({ authorization: `Bearer ${tokens[0]}` }),
      refused: (headers: unknown) => {
        refused.push(headers);
        tokens.shift();
      },
    });
    server.refuses = ({ headers }) => headers.authorization !== "Bearer new";
    const keys = { server: { ws: { endpoint: server.wsUrl, auth: "bearertokenauth" } } };
    await startOpamp(keys, { authenticators: { client, server: () => expect.fail() } });
    expect((await firstMessage(server)).headers.authorization).toBe("Bearer new");
    expect(refused).toEqual([{ authorization: "Bearer old" }]);
  });
});

describe("a config", () => {
  it("names either ws or http", async () => {
    await expect(startOpamp({ server: {} })).rejects.toThrow("expected either ws or http");
  });

  it("has URLs of the right scheme", async () => {
    await expect(startOpamp({ server: { ws: { endpoint: "http://localhost" } } })).rejects.toThrow(
      "expected a URL such as wss://",
    );
  });

  it("says where the identity cannot be kept", async () => {
    const directory = join(temporaryFolder(), "file");
    writeFileSync(directory, "");
    const error = await startOpamp({ server: { ws: { endpoint: "ws://127.0.0.1:1" } } }, { directory }).catch(
      (e: unknown) => e,
    );
    expect(isStartError(error) && error).toMatchObject({ path: ["storage", "directory"] });
  });

  it("is not reported when the server may not have it", async () => {
    const server = await startOpampServer();
    await startOpamp({
      server: { ws: { endpoint: server.wsUrl } },
      capabilities: { reports_effective_config: false, reports_health: false, reports_heartbeat: false },
    });
    const message = await firstMessage(server);
    expect(partsOf(message)).toEqual([3]);
    expect(int(message.fields, 4)).toBe(1);
  });
});

it("connects when the agent is ready", async () => {
  const clock = new FakeClock();
  const server = await startOpampServer();
  const host = { ...fakeHost(), state: "starting" as ReturnType<typeof fakeHost>["state"] };
  await startOpamp({ server: { ws: { endpoint: server.wsUrl } } }, { clock, host });
  clock.advance(5000);
  expect(server.messages).toEqual([]);
  host.state = "ready";
  await untilWith(clock, () => expect(server.messages.length).toBe(1));
  expect(text(sub(server.messages[0]!.fields, 5), 4)).toBe("StatusOK");
});
