import { request } from "node:https";
import type { PeerCertificate } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { mtlsAuth } from "../../../src/extensions/auth/mtls/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { GrpcJsClient } from "../../receivers/otlp/grpc-client.js";
import { PROTO, startReceiver } from "../../receivers/otlp/harness.js";
import { wire } from "../../receivers/otlp/requests.js";
import { read, TLS_FILES } from "../../runtime/net/tls/files.js";
import { contextOf, head, refusalOf } from "./requests.js";

function created(...allowed: object[]) {
  const context = contextOf("mtlsauth");
  return mtlsAuth.create(mtlsAuth.schema.parse({ allowed }), context).serverAuthenticator!;
}

function shown(subject: object, subjectaltname?: string) {
  const certificate = { subject, subjectaltname, fingerprint256: "AB:CD", raw: Buffer.alloc(1) };
  return { ...head(), peerCertificate: () => certificate as unknown as PeerCertificate };
}

const isLetIn = (rule: object, subject: object, names?: string) =>
  Promise.resolve()
    .then(() => created(rule).authenticate(shown(subject, names)))
    .then(
      () => true,
      () => false,
    );

describe("mtlsauth", () => {
  it("accepts certificates that match a rule, with their names", async () => {
    const server = created({ common_name: "nobody" }, { uri: "spiffe://acme/*", organization: "Acme", tenant: "acme" });
    const request = shown({ CN: "collector-1", O: "Acme" }, "DNS:a.example, URI:spiffe://acme/collector");
    const client = await server.authenticate(request);
    expect(client).toEqual({
      authenticator: "mtlsauth",
      subject: "collector-1",
      tenant: "acme",
      attributes: {
        common_name: ["collector-1"],
        organization: ["Acme"],
        organizational_unit: [],
        dns_name: ["a.example"],
        uri: ["spiffe://acme/collector"],
        email: [],
        fingerprint: "AB:CD",
      },
    });
    expect(server.authenticate(request)).toBe(client);
  });

  it.each([
    ["another name", { common_name: "a-*" }, { CN: "b-a-" }, undefined],
    ["a name that only begins so", { common_name: "a" }, { CN: "ab" }, undefined],
    ["one of two keys", { common_name: "a", organization: "o" }, { CN: "a" }, undefined],
    ["one of two common names", { common_name: "a" }, { CN: ["a", "b"] }, undefined],
    ["no names at all", { common_name: "*" }, {}, undefined],
    ["a DNS name inside a URI", { dns_name: "a.example" }, { CN: "x" }, 'URI:"http://b, DNS:a.example"'],
    ["a DNS name inside a DNS name", { dns_name: "a.example" }, { CN: "x" }, 'DNS:"b\\", DNS:a.example"'],
  ])("rejects %s", async (_, rule, subject, names) => {
    expect(await isLetIn(rule, subject, names)).toBe(false);
  });

  it("matches any of several alternative names", async () => {
    expect(
      await isLetIn({ dns_name: "*.example" }, { CN: "x" }, "IP Address:127.0.0.1, DNS:b.test, DNS:a.example"),
    ).toBe(true);
  });

  it("needs rules with patterns", () => {
    expect(mtlsAuth.schema.safeParse({ allowed: [] }).success).toBe(false);
    expect(mtlsAuth.schema.safeParse({ allowed: [{}] }).success).toBe(false);
    expect(mtlsAuth.schema.safeParse({ allowed: [{ tenant: "a" }] }).success).toBe(false);
  });

  it("refuses clients without a certificate", async () => {
    expect(await refusalOf(() => created({ common_name: "*" }).authenticate(head()))).toMatchObject({
      kind: "unauthenticated",
      message: "a client certificate is required",
    });
  });

  it("reads certificates of real connections over HTTP and gRPC", async () => {
    const tls = { cert_file: TLS_FILES.serverCert, key_file: TLS_FILES.serverKey, client_ca_file: TLS_FILES.ca };
    const auth = { authenticator: "mtlsauth" };
    const both = { endpoint: "127.0.0.1:0", tls, auth };
    const start = async (rule: object) => {
      const running = await startReceiver({ http: both, grpc: both }, SIGNALS, systemClock, created(rule));
      onTestFinished(() => running.receiver.stop());
      return running;
    };
    const [cert, key, ca] = [read(TLS_FILES.clientCert), read(TLS_FILES.clientKey), read(TLS_FILES.ca)];
    const post = (port: number) =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path: "/v1/logs", method: "POST", headers: PROTO, ca, cert, key };
        const sent = request(
          options,
          (response) => void response.resume().on("end", () => resolve(response.statusCode)),
        );
        sent.on("error", reject).end(wire("logs"));
      });
    const call = async (port: number) => {
      const client = new GrpcJsClient(port, credentials.createSsl(ca, key, cert));
      const { code } = await client.export("logs", wire("logs"));
      client.close();
      return code;
    };
    const open = await start({ common_name: "*" });
    expect([await post(open.http), await post(open.http), await call(open.grpc)]).toEqual([200, 200, 0]);
    const [origin] = open.intakes.logs.origins;
    expect(origin?.metadata?.get("auth.fingerprint")?.[0]).toMatch(/^[0-9A-F:]{95}$/);
    const closed = await start({ common_name: "somebody else" });
    expect([await post(closed.http), await call(closed.grpc)]).toEqual([401, 16]);
  });
});
