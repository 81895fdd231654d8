import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { beforeEach, describe, it, onTestFinished } from "vitest";
import type { ReceiverFactory } from "../../src/plugin.js";
import { awsSqsReceiver } from "../../src/receivers/aws-sqs/component.js";
import { dockerStatsReceiver } from "../../src/receivers/docker-stats/component.js";
import { hostMetricsReceiver } from "../../src/receivers/host-metrics/component.js";
import { httpCheckReceiver } from "../../src/receivers/http-check/component.js";
import { kubeletStatsReceiver } from "../../src/receivers/kubelet-stats/component.js";
import { syslogReceiver, tcpLogReceiver, udpLogReceiver } from "../../src/receivers/net-log/component.js";
import { useEnvironment } from "../../src/runtime/system/environment.js";
import { receiverConformance } from "../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../support/limits.js";
import { SqsTester, sqsEnvironment } from "../support/servers/sqs.js";
import { SqsEmulator } from "../support/servers/sqs-emulator.js";
import { startDockerServer } from "./docker-stats/docker-server.js";
import { SUMMARY, startKubelet } from "./kubelet-stats/kubelet-server.js";

/** Receivers whose senders get no answer: they are started, given something all the time, and stopped. */

const EVERY_MS = 5;

/** Sends again and again to the port, until the test is over. */
function keepSending(port: number, send: (port: number) => void): void {
  if (port === 0) return;
  const timer = setInterval(() => send(port), EVERY_MS);
  onTestFinished(() => clearInterval(timer));
}

function sendLine(line: string) {
  return (port: number) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(`${line}\n`));
    socket.on("error", () => {}).unref();
  };
}

function sendPacket(packet: string) {
  return (port: number) => {
    const socket = createSocket("udp4");
    socket.on("error", () => {}).send(packet, port, "127.0.0.1", () => socket.close());
  };
}

const MESSAGE = "<34>1 2026-01-01T00:00:00.000Z shop su - ID47 - hello";
const fed = (send: (port: number) => void, config: (listen_address: string) => object) => (port: number) => {
  keepSending(port, send);
  return config(`127.0.0.1:${port}`);
};

let docker = "";
let kubelet = "";
let sqs: object = {};
beforeEach(async () => {
  docker = (await startDockerServer([{ id: "a".repeat(64), image: "shop", stats: { pids_stats: { current: 3 } } }]))
    .endpoint;
  kubelet = (await startKubelet({ "/stats/summary": SUMMARY })).endpoint;
  sqs = await startFullQueue();
});

/** A queue that always has messages. */
async function startFullQueue(): Promise<object> {
  useEnvironment(sqsEnvironment);
  const emulator = await new SqsEmulator().start();
  onTestFinished(() => emulator.close());
  const tester = new SqsTester(emulator.endpoint);
  const url = await tester.createQueue("q");
  const timer = setInterval(() => void tester.send(url, "AAAA").catch(() => {}), EVERY_MS);
  onTestFinished(() => clearInterval(timer));
  return { endpoint: emulator.endpoint, queue_name: "q", wait_time: "1s" };
}

const quick = { collection_interval: "5ms", initial_delay: 0 };

const RECEIVERS: readonly [ReceiverFactory, (port: number) => object][] = [
  [tcpLogReceiver as ReceiverFactory, fed(sendLine("hello"), (listen_address) => ({ listen_address }))],
  [udpLogReceiver as ReceiverFactory, fed(sendPacket("hello"), (listen_address) => ({ listen_address }))],
  [
    syslogReceiver as ReceiverFactory,
    fed(sendLine(MESSAGE), (listen_address) => ({ protocol: "rfc5424", tcp: { listen_address } })),
  ],
  [
    syslogReceiver as ReceiverFactory,
    fed(sendPacket(MESSAGE), (listen_address) => ({ protocol: "rfc5424", udp: { listen_address } })),
  ],
  [
    dockerStatsReceiver as ReceiverFactory,
    () => ({ endpoint: docker, metrics: { "container.pids.count": { enabled: true } }, ...quick }),
  ],
  // The discard port has no listener: that is measured too.
  [httpCheckReceiver as ReceiverFactory, () => ({ targets: [{ endpoint: "http://127.0.0.1:9" }], ...quick })],
  [awsSqsReceiver as ReceiverFactory, () => sqs],
  [kubeletStatsReceiver as ReceiverFactory, () => ({ endpoint: kubelet, auth_type: "none", ...quick })],
  [
    hostMetricsReceiver as ReceiverFactory,
    () => ({ scrapers: { load: {} }, metadata_collection_interval: "5ms", ...quick }),
  ],
];

for (const [factory, config] of RECEIVERS) {
  describe(`the ${factory.type} receiver`, () => {
    for (const { name, run } of receiverConformance(factory, { config, patienceMs })) it(name, run);
  });
}
