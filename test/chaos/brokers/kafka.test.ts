import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canMount } from "../../support/servers/can-mount.js";
import { hasKafka, startKafka } from "../../support/servers/kafka.js";
import { patience } from "../long-form.js";
import {
  type BrokerUnderTest,
  expectExactlyOnce,
  type FillableBroker,
  runBrokerCampaign,
  runFullBroker,
} from "./broker-oracle.js";

describe.skipIf(!hasKafka)("what was acknowledged on its way through kafka", () => {
  it("arrives once, though the agent and the broker are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("kafka", await runBrokerCampaign(() => kafka()));
  });

  it.skipIf(!canMount())(
    "waits in the agent while the broker is slow or its disk is full",
    {
      timeout: patience(240_000),
    },
    async () => {
      expectExactlyOnce("kafka with a full disk", await runFullBroker(smallKafka));
    },
  );
});

/** Kafka has its own small disk, which a file fills. Kafka exits when it cannot write, and the test must restart it. */
async function smallKafka(): Promise<FillableBroker> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-mount-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m", "tmpfs", directory]);
  const { close, server, ...broker } = await kafka({ "log.dirs": join(directory, "data") });
  const ballast = join(directory, "ballast");
  return {
    ...broker,
    server,
    fill: async () => {
      execFileSync("sh", ["-c", `cat /dev/zero > ${ballast} 2> /dev/null || true`]);
      await expect.poll(() => server.isRunning).toBe(false);
    },
    makeRoom: async () => {
      rmSync(ballast);
      await server.start();
    },
    says: /exporter kafka.*(ECONNREFUSED|Connection closed|sending failed)/,
    close: async () => {
      await close();
      execFileSync("umount", ["-l", directory]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function kafka(settings: Readonly<Record<string, string>> = {}): Promise<BrokerUnderTest> {
  const broker = await startKafka(settings);
  const topic = await broker.createTopic("numbers", 3);
  const keys = { brokers: [broker.broker], logs: { topic }, request_timeout: "2s" };
  const receiver = {
    ...keys,
    initial_offset: "earliest",
    session_timeout: "1s",
    rebalance_timeout: "2s",
    heartbeat_interval: "200ms",
    autocommit: { interval: "100ms" },
  };
  const { server, close } = broker;
  return { server, type: "kafka", receiver, exporter: keys, close };
}
