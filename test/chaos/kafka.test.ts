import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasKafka, startKafka } from "../support/servers/kafka.js";
import { kafkaTestClient } from "../support/servers/kafka-client.js";
import { until } from "../support/until.js";
import { agentConfig } from "./configs.js";
import { startFaultySink } from "./faulty-sink.js";
import { Ledger } from "./ledger.js";
import { kills, patience, progress, summary } from "./long-form.js";
import { encodeNumbers } from "./numbered.js";
import { Victim } from "./victim.js";

describe.skipIf(!hasKafka)("what a broker of kafka has confirmed", () => {
  it("arrives, though the agent and the broker are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
    const ledger = new Ledger();
    const sink = await startFaultySink(ledger);
    const kafka = await startKafka();
    const topic = await kafka.createTopic("numbers", 3);
    const victim = Victim.agent(directory, readingConfig(kafka.broker, topic, join(directory, "queue"), sink.port));
    let isSending = true;
    onTestFinished(async () => {
      isSending = false;
      await victim.end("SIGKILL");
      await sink.close();
      await kafka.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const send = async () => {
      const { Producer } = await kafkaTestClient();
      const producer = new Producer({ ...kafka.connection, retries: 0, timeout: 2000, connectTimeout: 500 });
      while (isSending) {
        const numbers = ledger.take(10);
        const value = Buffer.from(encodeNumbers(numbers));
        await producer.send({ messages: [{ topic, value }], acks: -1 }).then(
          () => ledger.acknowledge(numbers),
          () => {
            ledger.loseSight(numbers);
            producer.clearMetadata();
          },
        );
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await producer.close();
    };
    const sending = send();

    const agentKills = kills(3, 0.04);
    const brokerKills = kills(1, 0.04);
    for (let i = 0; i < Math.max(agentKills, brokerKills); i++) {
      await victim.start();
      await moreArrives(ledger);
      if (i < brokerKills) {
        await kafka.server.kill();
        await kafka.server.start();
        await moreArrives(ledger);
      }
      if (i < agentKills) await victim.end("SIGKILL");
      progress(`${i + 1} rounds, ${ledger.acknowledgedCount} confirmed, ${ledger.arrivedCount} arrived`);
    }
    isSending = false;
    await sending;
    if (!victim.running) await victim.start();
    await until(() => expect(ledger.missing()).toEqual([]));
    summary("kafka", { agentKills, brokerKills, confirmed: ledger.acknowledgedCount, arrived: ledger.arrivedCount });
    expect(ledger.acknowledgedCount).toBeGreaterThan(100);
  });
});

async function moreArrives(ledger: Ledger): Promise<void> {
  const before = ledger.arrivedCount;
  await until(() => expect(ledger.arrivedCount).toBeGreaterThan(before + 50));
}

function readingConfig(broker: string, topic: string, queue: string, port: number): object {
  const config = agentConfig({ backend: `http://127.0.0.1:${port}`, queue }) as { service: { pipelines: object } };
  const kafka = {
    brokers: [broker],
    initial_offset: "earliest",
    logs: { topic },
    session_timeout: "1s",
    rebalance_timeout: "2s",
    heartbeat_interval: "200ms",
    request_timeout: "2s",
    autocommit: { interval: "100ms" },
  };
  const pipelines = { logs: { receivers: ["kafka"], exporters: ["otlphttp"] } };
  return { ...config, receivers: { kafka }, processors: {}, service: { ...config.service, pipelines } };
}
