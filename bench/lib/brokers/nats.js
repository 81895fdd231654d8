import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { natsExporter } from "../../../dist/exporters/nats/component.js";
import { natsReceiver } from "../../../dist/receivers/nats/component.js";
import { cpuPerRecord, inLanes, MANY_LANES } from "../broker-load.js";

/**
 * A stream on disk, with message ids.
 *
 * @param {string} servers
 * @param {string} stream
 * @param {import("../../../dist/plugin.js").Batch} batch
 */
export async function openBare(servers, stream, { bytes, count }) {
  const admin = await connect({ servers });
  const manager = await jetstreamManager(admin);
  const subject = `${stream}.logs`;
  await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
  let sequence = 0;

  async function publish(/** @type {number} */ messages) {
    const own = await connect({ servers });
    const client = jetstream(own);
    const used = await cpuPerRecord(messages * count, () =>
      inLanes(messages, () => client.publish(subject, bytes, { msgID: `bare-${sequence++}` }), MANY_LANES),
    );
    await own.close();
    return used;
  }
  const empty = () => manager.streams.purge(stream);

  return {
    async write(/** @type {number} */ messages) {
      await empty();
      return publish(messages);
    },
    async fill(/** @type {number} */ messages) {
      await empty();
      await publish(messages);
    },
    async read(/** @type {number} */ messages, /** @type {number} */ round) {
      const durable_name = `bare-${round}`;
      const filter_subject = subject;
      await manager.consumers.add(stream, { durable_name, filter_subject, ack_policy: AckPolicy.Explicit });
      const own = await connect({ servers });
      const consumer = await jetstream(own).consumers.get(stream, durable_name);
      const used = await cpuPerRecord(messages * count, async () => {
        let seen = 0;
        await new Promise((resolve) => {
          void consumer.consume({
            max_messages: 500,
            callback: (message) => {
              message.ack();
              if (++seen === messages) resolve(undefined);
            },
          });
        });
        await own.close();
      });
      await manager.consumers.delete(stream, durable_name);
      return used;
    },
    exporter: () => ({ factory: natsExporter, keys: { servers, logs: { subject } } }),
    receiver: (/** @type {number} */ round) => ({
      factory: natsReceiver,
      keys: { servers, stream, logs: { subject, consumer: `sluice-${round}` } },
    }),
    async close() {
      await manager.streams.delete(stream);
      await admin.close();
    },
  };
}
