import { expect } from "vitest";
import { row } from "./row.js";
import { type Json, startAgent } from "./support/agent.js";
import { type Behaviour, startBackend } from "./support/backend.js";
import { otlpHttp } from "./support/exporter.js";

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `good ${i}`);

row(
  "X1",
  "ends an entry as poison after three failures alike within a minute, whatever they look like, if 20 others got through",
  [
    "The same error class 3 times within 60 s on the same entry, while others succeed: poison, no more futile retries; quarantined under a category (schema_error, downstream_timeout ...) [skill].",
    "three failures of the same class within 60 s on the same entry while others succeed end it, by default, whatever the failure looks like: an answer, a reset, a hang, an unreadable success [skill];",
    "at least 20 other entries got through since the entry's first failure.",
  ],
  async () => {
    const looks: Record<string, Behaviour> = { answer: 500, reset: "reset", hang: "hang", unreadable: "unreadable" };
    const backend = await startBackend();
    backend.behave(({ bodies: [body], path }) => (body === "bad" ? looks[path.split("/")[1]!]! : "ok"));
    // By default, but for shorter waits: what must not end it is the number of retries.
    const keys = {
      retry_on_failure: { initial_interval: "1s", backoff: "fixed", max_retries: 1000 },
      timeout: "1s",
      circuit_breaker: {},
    };
    const agent = await startAgent({
      exporters: Object.fromEntries(
        Object.keys(looks).map((look) => [`otlp_http/${look}`, otlpHttp({ url: `${backend.url}/${look}` }, keys)]),
      ),
    });
    await agent.send(["bad"]);
    const bad = (look: string) =>
      backend.calls.filter(({ bodies: [body], path }) => body === "bad" && path.startsWith(`/${look}/`)).length;
    // A second call: so the first one has failed, and all others get through after that.
    await expect.poll(() => Math.min(...Object.keys(looks).map(bad))).toBeGreaterThanOrEqual(2);
    for (const text of numbered(25)) await agent.send([text]);
    await expect.poll(() => backend.taken.length).toBe(25 * 4);
    const before = Object.fromEntries(Object.keys(looks).map((look) => [look, bad(look)]));
    await expect
      .poll(async () => (await agent.deadLetters()).map(({ exporter }) => exporter).sort())
      .toEqual(
        Object.keys(looks)
          .map((look) => `otlp_http/${look}`)
          .sort(),
      );
    for (const { exporter, failure } of await agent.deadLetters()) {
      expect(failure, exporter).toMatchObject({ reason: "poison", rule: "poison" });
      const look = exporter.slice("otlp_http/".length);
      expect(bad(look), exporter).toBeGreaterThanOrEqual(3);
      // A check of the backend's health may have to succeed first.
      expect(bad(look), exporter).toBeLessThanOrEqual(Math.max(3, before[look]!) + 4);
    }
    const categories = (await agent.deadLetters()).map(({ exporter, failure }) => [exporter, failure.category]);
    expect(Object.fromEntries(categories)).toMatchObject({
      "otlp_http/hang": "downstream_timeout",
      "otlp_http/reset": "connection_error",
      "otlp_http/answer": "downstream_error",
    });
  },
);

row(
  "X2",
  "isolates the bad records of a refused batch, and delivers each good one once",
  "Bisection isolates the bad records of a batch; the good ones are delivered once.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies }) => (bodies.some((text) => text.startsWith("bad")) ? 400 : "ok"));
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend) } });
    const good = numbered(97);
    const records = [...good.slice(0, 30), "bad 1", ...good.slice(30, 31), "bad 2", ...good.slice(31), "bad 3"];
    await agent.send(records.map((body) => ({ body, event: body })));
    await expect.poll(() => agent.deadLetters()).toHaveLength(3);
    await expect.poll(() => [...backend.bodies].sort()).toEqual([...good].sort());
    const letters = (await agent.deadLetters()).map(({ items, failure }: Json) => [items, failure.names]);
    expect(letters.sort()).toEqual([1, 2, 3].map((n) => [1, [`bad ${n}`]]));
  },
);

row(
  "X3",
  "delivers what stands behind a poison entry, with one consumer too",
  "A poison entry never blocks those behind it.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies: [body] }) => (body === "bad" ? 500 : "ok"));
    const keys = { retry_on_failure: { initial_interval: "100ms", max_retries: 1000 } };
    const sending_queue = { num_consumers: 1, merge_backlog: false };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { ...keys, sending_queue }) } });
    for (const text of ["bad", ...numbered(50)]) await agent.send([text]);
    await expect.poll(() => backend.bodies).toEqual(numbered(50));
    expect(backend.calls[0]!.bodies).toEqual(["bad"]);
  },
);
