import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { defineExporter } from "../../../../src/plugin.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { pack } from "../../../receivers/fluent-forward/pack.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

async function scene(receiver: (note: string) => string) {
  const seen: unknown[] = [];
  const sink = defineExporter({
    type: "sink",
    schema: z.strictObject({}),
    create: () => ({ send: async (batch) => void seen.push(...bodies(batch)) }),
  });
  const yaml = (note: string) => `
receivers: {${receiver(note)}}
exporters: {sink: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [${receiver(note).split(":", 1)[0]}], exporters: [sink]}}
`;
  const agent: Agent = agentOf(yaml("one"), { components: [sink] });
  await agent.start();
  onTestFinished(() => agent.stop(1000));
  const reload = (note: string) => agent.reload(resolve(yaml(note), [sink]));
  return { agent, seen, reload };
}

async function client(port: number, host = "127.0.0.1"): Promise<Socket> {
  const socket = connect(port, host);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

describe("a receiver that is replaced", () => {
  it("tcp_log keeps its connections, with the line that is only half there", async () => {
    const port = await freePort();
    const { seen, reload } = await scene(
      (note) => `tcp_log: {listen_address: "127.0.0.1:${port}", attributes: {note: ${note}}}`,
    );
    const socket = await client(port);
    const ended = { is: false };
    socket.on("close", () => {
      ended.is = true;
    });
    socket.write("first\nsec");
    await expect.poll(() => seen).toEqual(["first"]);
    await reload("two");
    await reload("three");
    socket.write("ond\nthird\n");
    await expect.poll(() => seen).toEqual(["first", "second", "third"]);
    const later = await client(port);
    later.end("fourth\n");
    await expect.poll(() => seen).toEqual(["first", "second", "third", "fourth"]);
    expect(ended.is).toBe(false);
  });

  it("tcp_log gets its connections back when the reload fails", async () => {
    const port = await freePort();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const other = (taken.address() as { port: number }).port;
    const { agent, seen } = await scene(
      (note) => `tcp_log: {listen_address: "127.0.0.1:${port}", attributes: {note: ${note}}}`,
    );
    const socket = await client(port);
    socket.write("one\ntw");
    await expect.poll(() => seen).toEqual(["one"]);
    const broken = `
receivers: {tcp_log: {listen_address: "127.0.0.1:${port}", attributes: {note: b}}, tcp_log/taken: {listen_address: "127.0.0.1:${other}"}}
exporters: {debug: {}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [tcp_log, tcp_log/taken], exporters: [debug]}}}
`;
    await expect(agent.reload(resolve(broken))).rejects.toThrow(/in use by another program/);
    socket.write("o\nthree\n");
    await expect.poll(() => seen).toEqual(["one", "two", "three"]);
  });

  it("udp_log loses no packet in 20 reloads", async () => {
    const port = await freePort();
    const { seen, reload } = await scene(
      (note) => `udp_log: {listen_address: "127.0.0.1:${port}", attributes: {note: ${note}}}`,
    );
    const socket = createSocket("udp4");
    onTestFinished(() => void socket.close());
    const sent: string[] = [];
    const send = (text: string) =>
      new Promise<void>((done) => {
        sent.push(text);
        socket.send(text, port, "127.0.0.1", () => done());
      });
    let isDone = false;
    const sending = (async () => {
      for (let i = 0; !isDone; i++) {
        await send(`packet ${i}`);
        await expect.poll(() => seen.length, { interval: 1 }).toBeGreaterThan(i - 50);
      }
    })();
    for (let i = 0; i < 20; i++) await reload(`n${i}`);
    isDone = true;
    await sending;
    await expect.poll(() => new Set(seen).size).toBe(sent.length);
    expect(seen).toHaveLength(sent.length);
  });

  it("fluent_forward keeps its connections when it is renamed, with the event that is only half there", async () => {
    const port = await freePort();
    const { seen, reload } = await scene((note) => `fluent_forward/${note}: {endpoint: "127.0.0.1:${port}"}`);
    const socket = await client(port);
    const answers: Buffer[] = [];
    socket.on("data", (chunk) => answers.push(chunk));
    const event = (text: string, chunk: string) => pack(["tag", [[1, { log: text }]], { chunk }]);
    socket.write(event("first", "a"));
    await expect.poll(() => Buffer.concat(answers).toString()).toContain("a");
    const second = event("second", "b");
    socket.write(second.subarray(0, 10));
    await reload("two");
    socket.write(second.subarray(10));
    await expect.poll(() => seen).toEqual(["first", "second"]);
    await expect.poll(() => Buffer.concat(answers)).toEqual(Buffer.concat([pack({ ack: "a" }), pack({ ack: "b" })]));
  });

  it("otlp with dedup recognises what its predecessor has taken, also if that has only the memory", async () => {
    const port = await freePort();
    const directory = JSON.stringify(temporaryFolder());
    for (const place of [directory, '""']) {
      const { agent, seen, reload } = await scene(
        (note) =>
          `otlp: {dedup: {directory: ${place}}, protocols: {http: {endpoint: "127.0.0.1:${port}", max_request_body_size: ${note === "one" ? 1000 : 2000}}}}`,
      );
      const post = (key: string) =>
        fetch(`http://127.0.0.1:${port}/v1/logs`, {
          method: "POST",
          headers: { "content-type": "application/json", "sluice-idempotency-key": `${key} ${place}` },
          body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: key } }] }] }] }),
        });
      expect((await post("k1")).status).toBe(200);
      await reload("two");
      expect((await post("k1")).status).toBe(200);
      expect((await post("k2")).status).toBe(200);
      expect(seen).toEqual(["k1", "k2"]);
      await agent.stop(1000);
    }
  });

  it("can get another host with the same port, or another kind of server at the same address", async () => {
    const port = await freePort();
    const keys: Record<string, string> = {
      one: `protocols: {http: {endpoint: "127.0.0.1:${port}"}}`,
      everywhere: `protocols: {http: {endpoint: "0.0.0.0:${port}"}}`,
      grpc: `protocols: {grpc: {endpoint: "0.0.0.0:${port}"}}`,
      streams: `protocols: {grpc: {endpoint: "0.0.0.0:${port}", max_concurrent_streams: 7}}`,
      again: `protocols: {http: {endpoint: "0.0.0.0:${port}"}}`,
    };
    const { seen, reload } = await scene((note) => `otlp: {${keys[note]}}`);
    const post = () =>
      fetch(`http://127.0.0.1:${port}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "r" } }] }] }] }),
      }).then(({ status }) => status);
    expect(await post()).toBe(200);
    await reload("everywhere");
    expect(await post()).toBe(200);
    await reload("grpc");
    await client(port);
    await reload("streams");
    await client(port);
    await reload("again");
    await expect.poll(post).toBe(200);
    expect(seen.length).toBeGreaterThanOrEqual(3);
  });
});
