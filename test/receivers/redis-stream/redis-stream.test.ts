import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { redisStreamReceiver } from "../../../src/receivers/redis-stream/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { plainRecords } from "../../../src/testing.js";
import { type RedisServer, redisProgram, startRedis } from "../../support/servers/redis.js";
import { startRelay } from "../../support/servers/relay.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";

const REFUSED = { ok: false, refusal: new Refusal("permanent", "never") } as const;

describe.skipIf(redisProgram === undefined)("the redis_stream receiver", () => {
  let server: RedisServer;
  let redis: Redis;
  let names = 0;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis({ port: server.port, retryStrategy: () => 20 });
    redis.on("error", () => {});
  });

  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop();
    redis?.disconnect();
    await server?.close();
  });

  /** A stream of the test's own, and the config of a receiver for it. */
  function newStream() {
    const stream = `s${names++}`;
    const add = (body: Uint8Array | string, ...fields: string[]) =>
      redis.xadd(stream, "*", "body", Buffer.from(body as Uint8Array), ...fields);
    const pending = async () => Number(((await redis.xpending(stream, "sluice").catch(() => [-1])) as [number])[0]);
    return { stream, add, pending, config: { endpoint: server.endpoint, logs: { stream } } };
  }

  async function start(config: object, intake: SetbackIntake, logger?: Logger): Promise<Receiver> {
    const receiver = await startReceiver(redisStreamReceiver, config, intake, logger);
    receivers.push(receiver);
    return receiver;
  }

  it("acknowledges an entry when its data is safe, and not before, and deletes it if told", async () => {
    const { stream, add, pending, config } = newStream();
    await add(logs("one").bytes);
    const intake = new SetbackIntake();
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    await start({ ...config, delete_acknowledged: true }, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(await pending()).toBe(1);
    accept();
    await expect.poll(pending).toBe(0);
    await expect.poll(() => redis.xlen(stream)).toBe(0);
    expect(bodies(intake.batches[0]!)).toEqual(["one"]);
  });

  it("reads no more than it has room for", async () => {
    const { add, pending, config } = newStream();
    for (let i = 0; i < 5; i++) await add(logs(`m${i}`).bytes);
    const intake = new SetbackIntake();
    const accepts: (() => void)[] = [];
    intake.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
    await start({ ...config, max_in_flight: 2 }, intake);
    await until(() => expect(accepts).toHaveLength(2));
    expect(await pending()).toBe(2);
    accepts[0]!();
    await until(() => expect(accepts).toHaveLength(3));
    intake.answer = () => ACCEPTED;
    for (const accept of accepts) accept();
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["m0", "m1", "m2", "m3", "m4"]));
    await expect.poll(pending).toBe(0);
  });

  it("takes over what a dead agent has left, and not what a slow one still works on", async () => {
    const { stream, add, pending, config } = newStream();
    await redis.xgroup("CREATE", stream, "sluice", "0", "MKSTREAM");
    await add(logs("left").bytes);
    await redis.xreadgroup("GROUP", "sluice", "dead", "STREAMS", stream, ">");
    const slow = new SetbackIntake();
    const accepts: (() => void)[] = [];
    slow.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
    const claiming = { ...config, claim_after: "300ms" };
    await start({ ...claiming, consumer: "slow" }, slow);
    await until(() => expect(slow.batches.flatMap(bodies)).toEqual(["left"]));
    const other = new SetbackIntake();
    await start({ ...claiming, consumer: "other" }, other);
    const begin = Date.now();
    await expect.poll(() => Date.now() - begin > 900).toBe(true);
    expect([...slow.batches, ...other.batches]).toHaveLength(1);
    for (const accept of accepts) accept();
    await expect.poll(pending).toBe(0);
  });

  it("leaves an entry to the agent that took it over while it was cut off, when it works on and when it stops", async () => {
    const { stream, add, pending, config } = newStream();
    await add(logs("one").bytes);
    const claiming = { ...config, claim_after: "300ms" };
    const relay = await startRelay(server.port);
    const first = new SetbackIntake();
    first.answer = () => ({ ok: false, refusal: new Refusal("transient", "no room") });
    const cutOff = await start({ ...claiming, endpoint: relay.endpoint, consumer: "first" }, first);
    await until(() => expect(first.batches).not.toHaveLength(0));
    relay.cut();
    const second = new SetbackIntake();
    const accepts: (() => void)[] = [];
    second.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
    await start({ ...claiming, consumer: "second" }, second);
    await until(() => expect(accepts).toHaveLength(1));
    relay.mend();
    // The last thing that it does when it tells of what it works on is to look for what others have left.
    const said = async () => {
      const ours = relay.ports().map((port) => `127.0.0.1:${port} `);
      const clients = String(await redis.call("CLIENT", "LIST")).split("\n");
      return clients.filter((line) => ours.some((address) => line.includes(address))).join("\n");
    };
    await expect.poll(said, { interval: 10 }).toContain("cmd=xautoclaim");
    const holders = async () => {
      const rows = (await redis.xpending(stream, "sluice", "-", "+", 10)) as [string, string, number, number][];
      return rows.map(([, consumer, idle]) => [consumer, idle < 60_000]);
    };
    expect(await holders()).toEqual([["second", true]]);
    await cutOff.stop();
    expect(await holders()).toEqual([["second", true]]);
    accepts[0]!();
    await expect.poll(pending).toBe(0);
    await relay.close();
  });

  it("reports its work in progress even if it may not ask what is pending", async () => {
    const { add, pending, config } = newStream();
    await redis.call("ACL", "SETUSER", "plain", "on", ">p", "~*", "+@all", "-xpending");
    await add(logs("one").bytes);
    const keys = { ...config, claim_after: "1s" };
    const slow = new SetbackIntake();
    let accept = () => {};
    slow.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    await start({ ...keys, username: "plain", password: "p", consumer: "slow" }, slow);
    await until(() => expect(slow.batches).toHaveLength(1));
    const other = new SetbackIntake();
    await start({ ...keys, consumer: "other" }, other);
    const begin = Date.now();
    await expect.poll(() => Date.now() - begin > 3000, { timeout: 20_000 }).toBe(true);
    expect(other.batches).toHaveLength(0);
    accept();
    await expect.poll(pending).toBe(0);
  });

  it("takes over what is left behind more entries than the server looks at in one step", async () => {
    const { stream, config } = newStream();
    await redis.xgroup("CREATE", stream, "sluice", "0", "MKSTREAM");
    const adding = redis.pipeline();
    for (let i = 0; i < 1500; i++) adding.xadd(stream, "*", "body", "busy");
    adding.xadd(stream, "*", "body", "left");
    const added = await adding.exec();
    await redis.xreadgroup("GROUP", "sluice", "busy", "COUNT", 2000, "STREAMS", stream, ">");
    const [, id] = added!.at(-1)! as [null, string];
    await redis.call("XCLAIM", stream, "sluice", "dead", 0, id, "IDLE", 3_600_000, "JUSTID");
    const intake = new SetbackIntake();
    await start({ ...config, logs: { stream, encoding: "text" }, claim_after: "12s" }, intake);
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    expect(bodies(intake.batches[0]!)).toEqual(["left"]);
  });

  it("keeps what it cannot read as a dead letter, with bytes and fields as they came, and goes on", async () => {
    const { stream, add, pending, config } = newStream();
    await add("no OTLP", "tenant", "acme");
    await redis.xadd(stream, "*", "other", "field");
    await add(logs("good").bytes);
    const intake = new SetbackIntake();
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(3));
    expect(intake.setbacks.map(({ setback }) => setback.code)).toEqual(Array(2).fill("SLUICE_MESSAGE_UNREADABLE"));
    const [unreadable, without] = intake.setbacks.map(({ batch }) => plainRecords(batch)[0]);
    expect(unreadable).toMatchObject({
      body: new Uint8Array(Buffer.from("no OTLP")),
      attributes: { "messaging.header.tenant": "acme", "messaging.system": "redis" },
    });
    expect(without).toMatchObject({ attributes: { "messaging.header.other": "field" } });
    await expect.poll(pending).toBe(0);
  });

  it("adds permanently refused entries to the dead-letter stream before it acknowledges them, or leaves them pending", async () => {
    const { stream, add, pending, config } = newStream();
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    await add(logs("poison").bytes, "tenant", "acme", "constructor", "ann");
    const first = await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(2));
    expect(await pending()).toBe(1);
    await first.stop();
    await start({ ...config, dead_letter_stream: `${stream}:dead`, claim_after: "100ms" }, intake);
    await expect.poll(pending).toBe(0);
    const [[, fields]] = (await redis.xrange(`${stream}:dead`, "-", "+")) as [[string, string[]]];
    expect(fields).toEqual(expect.arrayContaining(["tenant", "acme", "constructor", "ann", "x-sluice-error", "never"]));
  });

  it("waits for its answers when it is stopped", async () => {
    const { add, pending, config } = newStream();
    await add(logs("a").bytes);
    const intake = new SetbackIntake();
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    const receiver = await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    const stopped = receiver.stop();
    accept();
    await stopped;
    expect(await pending()).toBe(0);
  });

  it("reads on when the stream was deleted, and after the server was killed", async () => {
    const { stream, add, pending, config } = newStream();
    const intake = new SetbackIntake();
    await start({ ...config, claim_after: "1s" }, intake);
    await add(logs("a").bytes);
    await until(() => expect(intake.batches).toHaveLength(1));
    await expect.poll(pending).toBe(0);
    await redis.del(stream);
    await add(logs("b").bytes);
    await until(() => expect(intake.batches.flatMap(bodies)).toContain("b"));
    await server.server.kill();
    await server.server.start();
    await expect
      .poll(() =>
        add(logs("c").bytes).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await until(() => expect(intake.batches.flatMap(bodies)).toContain("c"));
    await expect.poll(pending).toBe(0);
    expect(intake.batches.flatMap(bodies)).toEqual(["a", "b", "c"]);
  });

  it("starts with a wrong password and reports it", async () => {
    const locked = await startRedis(["--requirepass", "secret"]);
    const said: string[] = [];
    const say = (fields: { reason?: string }) => void said.push(fields.reason ?? "");
    const logger = { ...silentLogger, error: say, warn: say } as Logger;
    const receiver = await startReceiver(
      redisStreamReceiver,
      { endpoint: locked.endpoint, password: "x" },
      new SetbackIntake(),
      logger,
    );
    await until(() => expect(said.join()).toMatch(/WRONGPASS/));
    await receiver.stop();
    await locked.close();
  });
});
