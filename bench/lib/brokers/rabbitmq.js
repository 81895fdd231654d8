import { connect } from "amqplib";
import { rabbitmqExporter } from "../../../dist/exporters/rabbitmq/component.js";
import { rabbitmqReceiver } from "../../../dist/receivers/rabbitmq/component.js";
import { cpuPerRecord, inLanes, MANY_LANES } from "../broker-load.js";

/** Without this option a single message of 11 kB waits 40 ms for the TCP acknowledgement of its header. */
const PROMPT = { noDelay: true };

/**
 * A durable classic queue with persistent messages, confirmed one by one.
 *
 * @param {string} endpoint
 * @param {string} queue
 * @param {import("../../../dist/plugin.js").Batch} batch
 */
export async function openBare(endpoint, queue, { bytes, count }) {
  const body = Buffer.from(bytes);
  const admin = await connect(endpoint);
  const control = await admin.createChannel();
  const connection = { endpoint };
  let sequence = 0;

  async function publish(/** @type {number} */ messages) {
    const own = await connect(endpoint, PROMPT);
    const channel = await own.createConfirmChannel();
    const used = await cpuPerRecord(messages * count, () =>
      inLanes(
        messages,
        () => {
          const messageId = `bare-${sequence++}`;
          const properties = {
            persistent: true,
            mandatory: true,
            messageId,
            headers: { "x-idempotency-key": messageId },
          };
          return new Promise((resolve, reject) => {
            channel.publish("", queue, body, properties, (error) => (error ? reject(error) : resolve(undefined)));
          });
        },
        MANY_LANES,
      ),
    );
    await own.close();
    return used;
  }
  const empty = async () => {
    await control.assertQueue(queue, { durable: true });
    await control.purgeQueue(queue);
  };
  await empty();

  return {
    async write(/** @type {number} */ messages) {
      await empty();
      return publish(messages);
    },
    async fill(/** @type {number} */ messages) {
      await empty();
      await publish(messages);
    },
    async read(/** @type {number} */ messages) {
      const own = await connect(endpoint, PROMPT);
      const channel = await own.createChannel();
      await channel.prefetch(100);
      const used = await cpuPerRecord(messages * count, async () => {
        let seen = 0;
        await new Promise((resolve) => {
          void channel.consume(queue, (message) => {
            if (message === null) return;
            channel.ack(message);
            if (++seen === messages) resolve(undefined);
          });
        });
        await own.close();
      });
      return used;
    },
    exporter: () => ({ factory: rabbitmqExporter, keys: { connection, routing: { routing_key: queue } } }),
    receiver: () => ({ factory: rabbitmqReceiver, keys: { connection, queue } }),
    async close() {
      await control.deleteQueue(queue);
      await admin.close();
    },
  };
}
