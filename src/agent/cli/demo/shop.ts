import { randomBytes } from "node:crypto";

/** The demo's data source: a shop that sends a few orders a second, each as a log record. */
export interface DemoShop {
  /** Orders that the agent has acknowledged; each of them must arrive. */
  readonly acknowledged: number;
  /** While true, some totals are sent as strings instead of numbers. */
  hasBadRelease: boolean;
  /** Stops sending; resolves when the last order has been answered. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 200;
const ORDERS_PER_REQUEST = 4;
/** While `hasBadRelease` is true, one order in this many is bad. */
const BAD_ORDER_INTERVAL = 6;

export function startShop(url: string): DemoShop {
  let number = 0;
  let acknowledged = 0;
  let unanswered: Promise<unknown> = Promise.resolve();
  const send = async () => {
    const orders = Array.from({ length: ORDERS_PER_REQUEST }, () => orderRecord(++number, shop.hasBadRelease));
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(requestOf(orders)) });
    await response.arrayBuffer();
    if (response.ok) acknowledged += orders.length;
  };
  // An order that is refused, or cannot be sent while the agent stops, was never acknowledged. The shop forgets it.
  const timer = setInterval(() => {
    unanswered = Promise.all([unanswered, send().catch(() => {})]);
  }, INTERVAL_MS);
  const shop: DemoShop = {
    get acknowledged() {
      return acknowledged;
    },
    hasBadRelease: false,
    async stop() {
      clearInterval(timer);
      await unanswered;
    },
  };
  return shop;
}

function requestOf(logRecords: readonly object[]): object {
  const resource = { attributes: [text("service.name", "shop"), text("service.version", "2.4.0")] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "checkout" }, logRecords }] }] };
}

const CUSTOMERS = ["ada", "grace", "edsger", "barbara", "donald", "margaret"];

function orderRecord(number: number, isBadRelease: boolean): object {
  const customer = CUSTOMERS[number % CUSTOMERS.length]!;
  const total = 5 + ((number * 37) % 9000) / 100;
  const isBad = isBadRelease && number % BAD_ORDER_INTERVAL === 0;
  return {
    timeUnixNano: `${Date.now()}000000`,
    severityNumber: 9,
    severityText: "INFO",
    eventName: "order.paid",
    traceId: randomBytes(16).toString("hex"),
    spanId: randomBytes(8).toString("hex"),
    body: { stringValue: `order paid by ${customer}@example.com` },
    attributes: [
      text("order.id", `order-${number}`),
      isBad
        ? text("order.total", `${total.toFixed(2).replace(".", ",")} EUR`)
        : { key: "order.total", value: { doubleValue: total } },
    ],
  };
}

function text(key: string, stringValue: string): object {
  return { key, value: { stringValue } };
}
