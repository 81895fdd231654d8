import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "vitest";
import { type Nats, natsProgram, startNats } from "../../support/servers/nats.js";
import { patience } from "../long-form.js";
import {
  type BrokerUnderTest,
  expectExactlyOnce,
  type FillableBroker,
  runBrokerCampaign,
  runFullBroker,
} from "./broker-oracle.js";

describe.skipIf(natsProgram === undefined)("what was acknowledged on its way through nats", () => {
  it("arrives once, though the agent and the server are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    expectExactlyOnce("nats", await runBrokerCampaign(nats));
  });

  it("waits in the agent while the server is slow or has no room left", { timeout: patience(240_000) }, async () => {
    expectExactlyOnce("nats without room", await runFullBroker(smallNats));
  });
});

async function nats(): Promise<BrokerUnderTest> {
  return through(await startNats());
}

/** Messages stay in its stream, so it is full after a while. */
async function smallNats(): Promise<FillableBroker> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-nats-"));
  const config = join(directory, "nats.conf");
  const allow = (bytes: number) =>
    writeFileSync(config, `jetstream { store_dir: "${directory}/data", max_file_store: ${bytes} }\n`);
  allow(2_000_000);
  const server = await startNats(["-c", config]);
  const { close, ...broker } = through(server);
  return {
    ...broker,
    fill: async () => {},
    makeRoom: async () => {
      await server.server.kill();
      allow(1_000_000_000);
      await server.server.start();
    },
    says: /insufficient (storage )?resources/,
    close: async () => {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function through({ server, url, close }: Nats): BrokerUnderTest {
  const keys = { servers: [url], stream: "NUMBERS", create_stream: true, connect_timeout: "1s" };
  return { server, type: "nats", receiver: { ...keys, ack_wait: "1s" }, exporter: keys, close };
}
