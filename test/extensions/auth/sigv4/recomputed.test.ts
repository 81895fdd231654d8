import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SigningRequest, signRequest } from "../../../../src/runtime/net/aws/sign.js";
import { useEnvironment } from "../../../../src/runtime/system/environment.js";
import { type Sink, startSink } from "../../../exporters/harness.js";
import { cleanUp, startFed } from "../../../support/fed-agent.js";
import { runs } from "../../../support/runs.js";
import { logs } from "../../../support/telemetry/batches.js";
import { recomputedSignature } from "./recomputed.js";

const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const shownIn = (authorization: string | undefined) => /Signature=([0-9a-f]{64})$/.exec(authorization ?? "")?.[1];

describe("a signature recomputed by the server", () => {
  it("is that of AWS's published example", () => {
    const authorization =
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
    const headers = {
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
      host: "iam.amazonaws.com",
      "x-amz-date": "20150830T123600Z",
      authorization,
    };
    const path = "/?Action=ListUsers&Version=2010-05-08";
    const body = new Uint8Array();
    expect(recomputedSignature({ method: "GET", path, headers, body }, SECRET)).toBe(shownIn(authorization));
  });

  it("is the same for any path, query, headers, body, region, service and time", () => {
    const text = fc.string({
      unit: fc.constantFrom(..."aZ09-._~ /?&=+%:;,!'()*ä€😀\"<>@$|".match(/./gu)!),
      maxLength: 12,
    });
    const request = fc.record({
      method: fc.constantFrom("GET", "POST", "PUT"),
      path: fc.array(text, { maxLength: 4 }),
      query: fc.array(fc.tuple(text, text), { maxLength: 4 }),
      type: fc.option(fc.constantFrom("application/x-protobuf", " a   b ", "text/plain; charset=utf-8")),
      encoding: fc.option(fc.constantFrom("gzip", "zstd")),
      body: fc.uint8Array({ maxLength: 50 }),
      region: fc.constantFrom("us-east-1", "eu-central-1"),
      service: fc.constantFrom("xray", "aps", "s3"),
      at: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      sessionToken: fc.option(fc.constantFrom("IQoJb3JpZ2luX2VjEA==", "a+b/c=")),
    });
    fc.assert(
      fc.property(request, ({ path, query, type, encoding, sessionToken, ...rest }) => {
        const url = new URL("https://collector.example:8443/");
        url.pathname = path.map(encodeURIComponent).join("/");
        for (const [name, value] of query) url.searchParams.append(name, value);
        const headers = {
          ...(type !== null && { "content-type": type }),
          ...(encoding !== null && { "content-encoding": encoding }),
        };
        const keys = { accessKeyId: "AKID", secretAccessKey: SECRET, ...(sessionToken !== null && { sessionToken }) };
        const signing: SigningRequest = { ...rest, url, headers };
        const added = signRequest(signing, keys);
        const sent = {
          method: rest.method,
          path: url.pathname + url.search,
          headers: { host: url.host, ...headers, ...added },
          body: rest.body,
        };
        expect(recomputedSignature(sent, SECRET)).toBe(shownIn(added["authorization"]));
      }),
      runs(200),
    );
  });
});

describe("requests that an exporter signs with sigv4auth", () => {
  let sink: Sink;
  beforeEach(async () => {
    sink = await startSink();
  });
  afterEach(async () => {
    await cleanUp();
    await sink.close();
    useEnvironment({});
  });

  it.each([
    ["gzip", "/v1/logs"],
    ["none", "/prod/v1%20x/logs?stage=a%2Fb&a=1&plus=c+d"],
  ])("arrive with the signature of their content (compression %s)", async (compression, path) => {
    useEnvironment({
      AWS_ACCESS_KEY_ID: "AKIDENV",
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_SESSION_TOKEN: "IQoJb3JpZ2luX2VjEA==",
      AWS_EC2_METADATA_DISABLED: "true",
    });
    const fed = await startFed(
      (directory) => `
exporters:
  otlp_http:
    logs_endpoint: "http://127.0.0.1:${sink.port}${path}"
    compression: ${compression}
    auth: {authenticator: sigv4auth}
extensions:
  reliability: {directory: ${JSON.stringify(directory)}}
  sigv4auth: {region: eu-central-1, service: osis}
service:
  extensions: [reliability, sigv4auth]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [hand], exporters: [otlp_http]}}
`,
    );
    await fed.hand(logs("a", "x".repeat(5000)));
    await fed.hand(logs("b"));
    await expect.poll(() => sink.requests.length).toBeGreaterThan(0);
    for (const request of sink.requests) {
      const { authorization } = request.headers;
      expect(authorization).toContain("/eu-central-1/osis/aws4_request");
      expect(recomputedSignature({ method: "POST", ...request }, SECRET)).toBe(shownIn(authorization));
      expect(recomputedSignature({ method: "POST", ...request, body: Buffer.from("other") }, SECRET)).not.toBe(
        shownIn(authorization),
      );
    }
  });
});
