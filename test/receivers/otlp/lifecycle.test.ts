import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { credentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Outcome, Refusal } from "../../../src/plugin.js";
import { otlpReceiverSchema } from "../../../src/receivers/otlp/config.js";
import { OTLP_SERVICES } from "../../../src/runtime/net/otlp/services.js";
import { GrpcJsClient } from "./grpc-client.js";
import { JSON_HEADERS, post, type Running, raw, startReceiver, until } from "./harness.js";
import { json, wire } from "./requests.js";

const HEAD = "POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n";

describe("stopping the otlp receiver", () => {
  let running: Running;
  const open: { destroy(): void }[] = [];
  const settle: ((outcome: Outcome) => void)[] = [];
  beforeEach(async () => {
    settle.length = 0;
    const endpoint = "127.0.0.1:0";
    running = await startReceiver({ http: { endpoint }, grpc: { endpoint } });
    running.intakes.logs.answer = () => new Promise((resolve) => settle.push(resolve));
  });
  afterEach(async () => {
    for (const one of open.splice(0)) one.destroy();
    await running.receiver.stop();
  });
  const socket = (port: number): Socket => {
    const made = connect(port, "127.0.0.1").on("error", () => {});
    open.push(made);
    return made;
  };

  it("answers what was handed in, and takes nothing new", async () => {
    const client = new GrpcJsClient(running.grpc, credentials.createInsecure());
    const answers = [
      post(running.http, "/v1/logs", wire("logs")),
      client.export("logs", wire("logs")).then((answer) => ({ ...answer, status: answer.code })),
    ];
    await until(() => settle.length === 2);
    let stopped = false;
    const stopping = running.receiver.stop().then(() => {
      stopped = true;
    });
    await expect(post(running.http, "/v1/logs", wire("logs"))).rejects.toThrow("ECONNREFUSED");
    expect(stopped).toBe(false);
    for (const done of settle) done({ ok: true, rejected: 0, message: "" });
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([200, 0]);
    await stopping;
    client.close();
  });

  it("refuses half-read uploads retryably", async () => {
    const http = raw(running.http, `${HEAD}Content-Length: 100000\r\n\r\n${"x".repeat(1000)}`);
    const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${running.grpc}`).on("error", () => {});
    open.push(session);
    const stream = session.request({
      ":method": "POST",
      ":path": OTLP_SERVICES.logs.grpcPath,
      "content-type": "application/grpc",
    });
    const grpc = new Promise((resolve) => stream.on("response", (headers) => resolve(headers["grpc-status"])));
    stream.on("error", () => {}).write(Buffer.alloc(1000));
    await until(() => running.intakes.logs.reserved === 2000);
    await running.receiver.stop();
    expect(await grpc).toBe("14");
    expect(await http).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1/s);
    expect(running.intakes.logs.reserved).toBe(0);
  });

  it("says GOAWAY to gRPC clients", async () => {
    const session = connectHttp2(`http://127.0.0.1:${running.grpc}`).on("error", () => {});
    open.push(session);
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    const goodbye = new Promise((resolve) => session.once("goaway", (code) => resolve(code)));
    await running.receiver.stop();
    expect(await goodbye).toBe(0);
  });

  it("waits for no silent client", async () => {
    const silent = [socket(running.http), socket(running.grpc), socket(running.http)];
    silent[2]!.write("POST /v1/logs HT");
    const closed = silent.map((one) => new Promise((resolve) => one.on("close", resolve)));
    await Promise.all(silent.map((one) => new Promise((resolve) => one.once("connect", resolve))));
    await running.receiver.stop();
    for (const one of silent) one.resume();
    await Promise.all(closed);
  });

  it("answers a refusal of the draining pipeline retryably", async () => {
    const answer = post(running.http, "/v1/logs", json("logs"), JSON_HEADERS);
    await until(() => settle.length === 1);
    const stopping = running.receiver.stop();
    settle[0]!({ ok: false, refusal: new Refusal("transient", "aborted") });
    expect((await answer).status).toBe(503);
    await stopping;
  });

  it("can be done twice", async () => {
    await running.receiver.stop();
    await running.receiver.stop();
  });
});

describe("starting the otlp receiver", () => {
  it.each(["http", "grpc"])("names the address of %s when it is in use, and leaves nothing open", async (protocol) => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };
    const other = protocol === "http" ? "grpc" : "http";
    const starting = startReceiver({
      [protocol]: { endpoint: `127.0.0.1:${port}` },
      [other]: { endpoint: "127.0.0.1:0" },
    });
    await expect(starting).rejects.toMatchObject({
      code: "SLUICE_START",
      path: ["protocols", protocol, "endpoint"],
      message: expect.stringContaining(`127.0.0.1:${port}: it is in use`),
    });
    taken.close();
  });

  it("explains an address that is not there", async () => {
    const starting = startReceiver({ http: { endpoint: "192.0.2.1:4318" } });
    await expect(starting).rejects.toThrow(/192\.0\.2\.1:4318: this machine has no such address/);
  });
});

describe("otlp receiver config", () => {
  const parse = (config: object) => otlpReceiverSchema.safeParse(config);
  const problems = (config: object) =>
    parse(config).error?.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);

  it("gives a protocol that is there its defaults, and leaves the other off", () => {
    const { protocols } = parse({ protocols: { grpc: null } }).data!;
    expect([protocols.grpc?.endpoint, protocols.http]).toEqual(["127.0.0.1:4317", undefined]);
    expect(parse({ protocols: { http: null } }).data?.protocols.http?.endpoint).toBe("127.0.0.1:4318");
  });

  it("reports which keys to write when no protocol is configured", () => {
    const expected = ["protocols: expected at least one protocol, such as `protocols: {grpc: , http: }`"];
    for (const config of [{}, { protocols: null }, { protocols: {} }]) expect(problems(config)).toEqual(expected);
  });

  it("does not leave a door open that should have had a lock", () => {
    for (const protocol of ["http", "grpc"]) {
      expect(problems({ protocols: { [protocol]: { auth: null } } })?.[0]).toContain(`protocols.${protocol}.auth`);
    }
  });

  it("takes what people write", () => {
    for (const http of [
      { endpoint: "0.0.0.0:4318", cors: { allowed_origins: ["http://*"], max_age: 7200 } },
      { endpoint: ":4318", cors: null, tls: { cert_file: "a", key_file: "b", min_version: 1.2 } },
      { endpoint: "otel-collector:4318", include_metadata: true, max_request_body_size: 0, read_buffer_size: 1 },
      { endpoint: "http://localhost:4318", response_headers: { a: "b" }, idle_timeout: 0 },
      { endpoint: "/run/otlp.sock", transport: "unix" },
    ]) {
      expect(problems({ protocols: { http } })).toBeUndefined();
    }
    const server_parameters = { max_connection_age: "1m", time: "30s", timeout: "5s" };
    const keepalive = { server_parameters, enforcement_policy: { min_time: "5s" } };
    const grpc = { endpoint: "[::]:4317", max_recv_msg_size_mib: 64, keepalive, transport: "tcp" };
    expect(problems({ protocols: { grpc } })).toBeUndefined();
  });

  it("refuses response headers that cannot be sent, or that say where an answer ends", () => {
    for (const header of [
      { "X-Bad": "secret\nb" },
      { "a b": "c" },
      { "content-Length": "5" },
      { "Transfer-Encoding": "x" },
    ]) {
      const found = problems({ protocols: { http: { response_headers: header } } });
      expect(JSON.stringify(found)).toContain(Object.keys(header)[0]);
      expect(JSON.stringify(found)).not.toContain("secret");
    }
  });

  it("refuses an endpoint that is none", () => {
    for (const endpoint of ["localhost", "localhost:port", "", "a b:1"]) {
      expect(problems({ protocols: { http: { endpoint } } })?.[0]).toMatch(
        /^protocols.http.endpoint: expected host:port/,
      );
    }
    expect(problems({ protocols: { http: { endpoint: "1.2.3.4:99999" } } })).toEqual([
      "protocols.http.endpoint: there is no port 99999; expected at most 65535",
    ]);
  });
});
