import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { oauth2Client } from "../../../../src/extensions/auth/oauth2/component.js";
import type { Clock } from "../../../../src/runtime/contract/clock.js";
import { refusalOf, type Sink, startSink } from "../../../exporters/harness.js";
import { read, TLS_FILES } from "../../../runtime/net/tls/files.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf } from "../requests.js";

const SECRET = "t0p/s3cret+";
const request = { method: "POST", url: new URL("https://backend/v1/logs"), headers: {}, body: new Uint8Array() };
const credentials = { client_id: "sluice", client_secret: SECRET };

describe("oauth2client", () => {
  let server: Sink;
  let tokens: number;
  beforeEach(async () => {
    server = await startSink();
    tokens = 0;
    server.respond = (response) => {
      tokens += 1;
      response.end(JSON.stringify({ access_token: `token-${tokens}`, token_type: "bearer", expires_in: 3600 }));
    };
  });
  afterEach(() => server.close());

  const answer = (status: number, body: object, headers: Record<string, string> = {}) => {
    server.respond = (response) => response.writeHead(status, headers).end(JSON.stringify(body));
  };

  async function started(config: object = {}, clock?: Clock) {
    const context = contextOf("oauth2client", clock);
    const token_url = `http://127.0.0.1:${server.port}/token?tenant=a`;
    const extension = oauth2Client.create(oauth2Client.schema.parse({ ...credentials, token_url, ...config }), context);
    await extension.start();
    const { clientAuthenticator: client } = extension;
    return { ...context, client: client!, authorize: async () => client!.authorize(request) };
  }

  const formOf = (index: number) => Object.fromEntries(new URLSearchParams(server.requests[index]!.body.toString()));

  it("asks for a token with the client's credentials, scopes and parameters, once, when it starts", async () => {
    const config = { scopes: ["logs:write", "traces:write"], endpoint_params: { audience: "backend", x: ["1"] } };
    const { authorize } = await started(config);
    expect(await authorize()).toEqual({ authorization: "Bearer token-1" });
    expect(await authorize()).toBe(await authorize());
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      path: "/token?tenant=a",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        authorization: `Basic ${Buffer.from("sluice:t0p%2Fs3cret%2B").toString("base64")}`,
      },
    });
    expect(formOf(0)).toEqual({
      grant_type: "client_credentials",
      scope: "logs:write traces:write",
      audience: "backend",
      x: "1",
    });
  });

  it.each([
    [{}, 3300],
    [{ expiry_buffer: "10m" }, 3000],
  ])("with %o fetches a new token %i s after the first, while that one is still good", async (config, seconds) => {
    const clock = new FakeClock();
    const { authorize } = await started(config, clock);
    expect(await authorize()).toEqual({ authorization: "Bearer token-1" });
    clock.advance((seconds - 60) * 1000);
    expect(await authorize()).toEqual({ authorization: "Bearer token-1" });
    expect(server.requests).toHaveLength(1);
    clock.advance(60_000);
    await authorize();
    await expect.poll(authorize).toEqual({ authorization: "Bearer token-2" });
    expect(server.requests).toHaveLength(2);
  });

  it("sends the credentials in the body to an endpoint that wants them there, from then on", async () => {
    const clock = new FakeClock();
    server.respond = (response, { headers }) => {
      tokens += 1;
      if (headers.authorization !== undefined) response.writeHead(401).end('{"error":"invalid_client"}');
      else response.end(JSON.stringify({ access_token: `token-${tokens}` }));
    };
    const { authorize, client } = await started({}, clock);
    const first = await authorize();
    expect(first).toEqual({ authorization: "Bearer token-2" });
    expect(formOf(1)).toMatchObject({ client_id: "sluice", client_secret: SECRET });
    clock.advance(10_000);
    client.refused!(first);
    expect(await authorize()).toEqual({ authorization: "Bearer token-3" });
  });

  it("reads the secret from a file for each token", async () => {
    const clock = new FakeClock();
    const client_secret_file = join(temporaryFolder(), "secret");
    await writeFile(client_secret_file, "one\n");
    const { authorize, client } = await started({ client_secret_file }, clock);
    const first = await authorize();
    await writeFile(client_secret_file, "two\n");
    clock.advance(10_000);
    client.refused!(first);
    await authorize();
    const sent = server.requests.map(({ headers }) =>
      Buffer.from(headers.authorization!.slice(6), "base64").toString(),
    );
    expect(sent).toEqual(["sluice:one", "sluice:two"]);
  });

  it.each([
    [503, {}, { kind: "transient" }],
    [500, { error: "server_error" }, { kind: "transient" }],
    [429, {}, { kind: "throttled", retryAfterMs: 7000 }],
    [200, { token: "elsewhere" }, { kind: "transient" }],
    [200, { access_token: "two\nlines" }, { kind: "transient" }],
    [400, { error: "invalid_client" }, { kind: "permanent", status: "HTTP 401", category: "integration" }],
    [400, { error: "invalid_scope" }, { kind: "permanent", status: "HTTP 401", category: "integration" }],
    [404, {}, { kind: "permanent", status: "HTTP 401", category: "integration" }],
  ])("treats a refusal with %i %o as temporary or permanent", async (status, body, refusal) => {
    answer(status, body, status === 429 ? { "retry-after": "7" } : {});
    const { authorize } = await started();
    expect(await refusalOf(authorize())).toMatchObject(refusal);
  });

  it("treats an endpoint that is unreachable or does not answer as transient", async () => {
    const gone = await started({ token_url: "http://127.0.0.1:1/token" });
    expect(await refusalOf(gone.authorize())).toMatchObject({ kind: "transient", status: "ECONNREFUSED" });
    server.respond = () => {};
    const silent = await started({ timeout: "50ms" });
    expect(await refusalOf(silent.authorize())).toMatchObject({ kind: "transient", message: /no answer within 50 ms/ });
  });

  it("never reveals the secret, even if the endpoint repeats it", async () => {
    answer(400, { error: "invalid_client", error_description: `wrong: ${SECRET}` });
    const { authorize, lines } = await started();
    const { message } = await refusalOf(authorize());
    expect(message).toContain("invalid_client, wrong: [REDACTED]");
    expect(message + lines.join()).not.toContain(SECRET);
    expect(message).not.toContain("tenant=a");
  });

  it("warns about an endpoint on another machine without TLS", async () => {
    const warns = async (token_url: string) => (await started({ token_url })).lines.join().includes("sent without TLS");
    expect(await warns("http://127.0.0.1:1/token")).toBe(false);
    expect(await warns("https://0.0.0.0:1/token")).toBe(false);
    expect(await warns("http://0.0.0.0:1/token")).toBe(true);
  });

  it("checks the certificate of the endpoint", async () => {
    const secure = createServer({ cert: read(TLS_FILES.serverCert), key: read(TLS_FILES.serverKey) }, (_, response) =>
      response.end('{"access_token":"x"}'),
    ).listen(0, "127.0.0.1");
    onTestFinished(() => void secure.close());
    await new Promise((resolve) => secure.once("listening", resolve));
    const token_url = `https://localhost:${(secure.address() as AddressInfo).port}/token`;
    const trusting = await started({ token_url, tls: { ca_file: TLS_FILES.ca } });
    expect(await trusting.authorize()).toEqual({ authorization: "Bearer x" });
    expect(await refusalOf((await started({ token_url })).authorize())).toMatchObject({ kind: "transient" });
  });

  it("needs an id, a secret and a URL", () => {
    const problems = (config: object) =>
      oauth2Client.schema.safeParse(config).error?.issues.map(({ path }) => path.join("."));
    expect(problems({ token_url: "http://h" })).toEqual(["client_id", "client_secret"]);
    expect(problems(credentials)).toEqual(["token_url"]);
  });
});
