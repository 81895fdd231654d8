import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Metadata, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Batch } from "../../../src/plugin.js";
import { cleanUp, type FedAgent, startFed } from "../../support/fed-agent.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { GrpcJsServer } from "../grpc-server.js";
import { startSink } from "../harness.js";

/**
 * A gRPC server that accepts only clients for which `isKnown` is true, and the accepted requests with their client
 * names.
 */
let server: GrpcJsServer;
let isKnown: (metadata: Metadata) => boolean;
let taken: { readonly bodies: readonly string[]; readonly metadata: Metadata }[];
let refused: number;
beforeEach(async () => {
  taken = [];
  refused = 0;
  server = await new GrpcJsServer().start();
  server.respond = (done, { metadata, request }) => {
    if (!isKnown(metadata)) {
      refused += 1;
      return done({ code: status.UNAUTHENTICATED, details: `not ${metadata.get("authorization")}` });
    }
    taken.push({ bodies: bodies(Batch.admit("logs", request)), metadata });
    done(null, Buffer.alloc(0));
  };
});
afterEach(async () => {
  await cleanUp();
  server.kill();
});

const shows = (name: string, value: string) => (metadata: Metadata) => metadata.get(name).join() === value;

/** An agent with a durable queue in front of the server that uses this extension as authenticator. */
function start(type: string, keys: string): Promise<FedAgent> {
  return startFed(
    (directory) => `
exporters:
  otlp_grpc:
    endpoint: 127.0.0.1:${server.port}
    tls: {insecure: true}
    auth: {authenticator: ${type}}
    retry_on_failure: {initial_interval: 5ms, max_interval: 20ms}
    circuit_breaker: {reset_timeout: 20ms}
extensions:
  reliability: {directory: ${JSON.stringify(directory)}}
  ${type}: ${keys}
service:
  extensions: [reliability, ${type}]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [hand], exporters: [otlp_grpc]}}
`,
  );
}

const arrived = () => taken.flatMap((each) => each.bodies);
/** Does the same without waiting for the next probe of held entries. */
const arrivedNow = ({ agent }: FedAgent) => {
  agent.admin!.retryNow("otlp_grpc");
  return arrived();
};
const deadLetters = async ({ agent }: FedAgent) => (await agent.admin!.listDeadLetters({})).entries;

describe("otlp_grpc behind a queue", () => {
  it("authenticates with the name and password of basicauth", async () => {
    isKnown = shows("authorization", `Basic ${Buffer.from("joe:s3cret:é").toString("base64")}`);
    const fed = await start("basicauth", '{client_auth: {username: joe, password: "s3cret:é"}}');
    expect(await fed.hand(logs("a", "b"))).toMatchObject({ ok: true });
    await expect.poll(arrived).toEqual(["a", "b"]);
    expect([refused, await deadLetters(fed)]).toEqual([0, []]);
  });

  it("authenticates with the token of bearertokenauth, and with the next one of its file once the first has ended", async () => {
    const filename = join(temporaryFolder(), "token");
    writeFileSync(filename, "first\n");
    isKnown = shows("authorization", "Token first");
    const fed = await start("bearertokenauth", `{scheme: Token, filename: ${JSON.stringify(filename)}}`);
    await fed.hand(logs("a"));
    await expect.poll(arrived).toEqual(["a"]);
    isKnown = shows("authorization", "Token second");
    await fed.hand(logs("b"));
    await expect.poll(() => refused).toBeGreaterThan(0);
    expect(await deadLetters(fed)).toEqual([]); // it waits
    writeFileSync(filename, "second\n");
    await expect.poll(() => arrivedNow(fed)).toEqual(["a", "b"]);
    expect(await deadLetters(fed)).toEqual([]);
  });

  it("authenticates with a token of oauth2client, and with the next one when that has ended", async () => {
    const issuer = await startSink();
    onTestFinished(() => issuer.close());
    let tokens = 0;
    issuer.respond = (response) => {
      tokens += 1;
      response.end(
        JSON.stringify({ access_token: `token-${tokens}`, token_type: "bearer", expires_in: tokens === 1 ? 1 : 3600 }),
      );
    };
    const url = `http://127.0.0.1:${issuer.port}/token`;
    const fed = await start(
      "oauth2client",
      `{client_id: sluice, client_secret: s3cret, expiry_buffer: 0s, token_url: "${url}"}`,
    );
    isKnown = shows("authorization", "Bearer token-2");
    await fed.hand(logs("a"));
    await expect.poll(() => arrivedNow(fed)).toEqual(["a"]);
    expect(await deadLetters(fed)).toEqual([]);
  });

  it("sends with headers_setter the client of the data, through the queue, and a default if there is none", async () => {
    isKnown = () => true;
    const headers = [
      "{key: X-Scope-OrgID, from_context: tenant, default_value: anonymous}",
      "{key: x-gateway, value: eu-1}",
    ];
    const fed = await start("headers_setter", `{headers: [${headers.join(", ")}]}`);
    for (const tenant of ["acme", "globex", "acme"])
      await fed.hand(logs(`of ${tenant}`), { metadata: new Map([["tenant", [tenant]]]) });
    await fed.hand(logs("of nobody"), { metadata: new Map() });
    await expect.poll(() => arrived().length).toBe(4);
    const seen = taken.flatMap(({ bodies: texts, metadata }) =>
      texts.map((text) => [text, metadata.get("x-scope-orgid").join(), metadata.get("x-gateway").join()]),
    );
    expect(seen.sort()).toEqual([
      ["of acme", "acme", "eu-1"],
      ["of acme", "acme", "eu-1"],
      ["of globex", "globex", "eu-1"],
      ["of nobody", "anonymous", "eu-1"],
    ]);
  });
});
