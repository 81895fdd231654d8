import { defineHandler, Refusal } from "sluice/plugin";

/** Ships what the queue `orders` asks for. Retries, breaker, dead letters and replay are around it: see sluice.yaml. */
export const shipOrder = defineHandler({
  type: "ship_order",
  async handle(message, { abort }) {
    const order = message.json();
    if (order.id === undefined) throw new Refusal("permanent", "an order without an id");
    const headers = { "idempotency-key": message.idempotencyKey };
    const answer = await fetch(`${process.env.SHIPPING_URL}/${order.id}`, { method: "PUT", headers, signal: abort });
    if (!answer.ok) throw new Error(`shipping answered ${answer.status}`);
  },
});
