import { describe, expect, it } from "vitest";
import { serviceGraph } from "../../../../src/connectors/spans/service-graph/component.js";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { decodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { attributes, text } from "../../../support/telemetry/ottl.js";
import { recordsOf } from "../../../support/telemetry/trees.js";
import { NotedExchange, pointsOf, running, span, spansOfService } from "../support.js";

const [SERVER, CLIENT, PRODUCER, CONSUMER] = [2, 3, 4, 5];
const id = (byte: number) => Buffer.alloc(8, byte);
const client = (spanId: number, ms: number, rest: Tree = {}) =>
  span("call", ms, { kind: CLIENT, spanId: id(spanId), ...rest });
const server = (parent: number, ms: number, rest: Tree = {}) =>
  span("serve", ms, { kind: SERVER, spanId: id(parent + 100), parentSpanId: id(parent), ...rest });
const web = (...spans: Tree[]) => spansOfService("web", spans);
const shop = (...spans: Tree[]) => spansOfService("shop", spans);
const totals = (points: readonly string[]) => points.filter((point) => point.includes("_total{"));
const EDGE = "client=web,connection_type=,failed=false,server=shop";
const TOTAL = "traces_service_graph_request_total";

describe("service_graph", () => {
  it("pairs the spans of client and server, whichever comes first, in any batches", async () => {
    const { give, flush } = running(serviceGraph, {});
    give(web(client(1, 500), client(2, 100)));
    give(shop(server(1, 250), server(2, 50), server(3, 25)));
    give(web(client(3, 125)));
    expect(pointsOf(await flush())).toEqual([
      `traces_service_graph_request_client{${EDGE}} 3 of 0.725`,
      `traces_service_graph_request_server{${EDGE}} 3 of 0.325`,
      `${TOTAL}{${EDGE}} 3`,
    ]);
  });

  it("counts a request as failed when either side failed", async () => {
    const { give, flush } = running(serviceGraph, {});
    give(web(client(1, 1, { status: { code: 2 } })));
    give(shop(server(1, 1)));
    const failed = EDGE.replace("false", "true");
    expect(totals(pointsOf(await flush()))).toEqual([
      `traces_service_graph_request_failed_total{${failed}} 1`,
      `${TOTAL}{${failed}} 1`,
    ]);
  });

  it("recognises messaging, and databases by the client's span alone", async () => {
    const { give, flush } = running(serviceGraph, { database_name_attributes: ["db.namespace", "db.name"] });
    give(web(span("send", 1, { kind: PRODUCER, spanId: id(1) })));
    give(shop(span("take", 1, { kind: CONSUMER, spanId: id(9), parentSpanId: id(1) })));
    give(web(client(2, 1, { attributes: attributes({ "db.name": text("orders") }) })));
    expect(totals(pointsOf(await flush()))).toEqual([
      `${TOTAL}{client=web,connection_type=database,failed=false,server=orders} 1`,
      `${TOTAL}{client=web,connection_type=messaging_system,failed=false,server=shop} 1`,
    ]);
  });

  it("counts a span without its other side as a request to or from something without spans", async () => {
    const config = { virtual_node_extra_label: true, store: { ttl: "2s" } };
    const { give, flush } = running(serviceGraph, config);
    give(web(client(1, 1, { attributes: attributes({ "peer.service": text("mail") }) }), client(2, 1)));
    give(shop(span("root", 1, { kind: SERVER, parentSpanId: undefined as never }), server(7, 1)));
    const virtual = "connection_type=virtual_node,failed=false";
    expect(totals(pointsOf(await flush()))).toEqual([
      `${TOTAL}{client=user,${virtual},server=shop,virtual_node=client} 1`,
      `${TOTAL}{client=web,${virtual},server=mail,virtual_node=server} 1`,
      `${TOTAL}{client=web,${virtual},server=unknown,virtual_node=server} 1`,
    ]);
    const without = running(serviceGraph, { virtual_node_peer_attributes: [] });
    without.give(web(client(1, 1)));
    expect(await without.flush()).toEqual([]);
  });

  it("drops the oldest span when too many wait, and adds dimensions of both sides", async () => {
    const { give, flush } = running(serviceGraph, { store: { max_items: 1 }, dimensions: ["env"] });
    give(spansOfService("web", [client(1, 1), client(2, 1)], { env: text("eu") }));
    give(spansOfService("shop", [server(2, 1, { attributes: attributes({ env: text("us") }) })]));
    expect(totals(pointsOf(await flush()))).toEqual([
      `${TOTAL}{client=web,client_env=eu,connection_type=,failed=false,server=shop,server_env=us} 1`,
      `${TOTAL}{client=web,client_env=eu,connection_type=virtual_node,failed=false,server=unknown} 1`,
    ]);
  });

  it("makes exponential histograms, sets times back, and flushes after every batch if configured", async () => {
    const config = { exponential_histogram_max_size: 10, metrics_timestamp_offset: "1s", metrics_flush_interval: 0 };
    const { give, flush, clock } = running(serviceGraph, config);
    give(web(client(1, 500)));
    give(shop(server(1, 250)));
    const [batch] = await flush(0);
    const found = recordsOf("metrics", decodeTree(batch!));
    expect(found.filter(({ metric }) => metric!["exponentialHistogram"])).toHaveLength(2);
    expect(found[0]!.record["timeUnixNano"]).toBe(BigInt(clock.now() - 1000) * 1_000_000n);
    expect(await flush()).toEqual([]);
  });

  it("stores waiting spans together with the counts, and continues with them after a crash", async () => {
    const config = { store: { ttl: "90s" } };
    const { give, flush, journal } = running(serviceGraph, config);
    const first = give(web(client(1, 1)), 1);
    const second = give(shop(server(1, 1), server(2, 1)), 2);
    expect(totals(pointsOf(await flush()))).toEqual([`${TOTAL}{${EDGE}} 1`]);
    expect([first, second]).toEqual([[ACCEPTED], [ACCEPTED]]);
    const next = running(serviceGraph, config, new NotedExchange(journal.state));
    next.journal.open();
    next.give(web(client(2, 1)), 3);
    expect(totals(pointsOf(await next.flush()))).toEqual([`${TOTAL}{${EDGE}} 1`]);
  });

  it("drops spans after a crash that had waited before it, even if nothing more arrives", async () => {
    const config = { store: { ttl: "90s" } };
    const { give, flush, journal } = running(serviceGraph, config);
    give(web(client(1, 1)), 1);
    await flush();
    const next = running(serviceGraph, config, new NotedExchange(journal.state));
    next.clock.advance(60_000);
    next.journal.open();
    expect(totals(pointsOf(await next.flush()))).toEqual([
      `${TOTAL}{client=web,connection_type=virtual_node,failed=false,server=unknown} 1`,
    ]);
  });
});
