import { describe, expect, it } from "vitest";
import { otlpHttpExporter } from "../../../../src/exporters/otlp-http/component.js";
import { adminApi } from "../../../../src/extensions/admin-api/component.js";
import { healthCheck } from "../../../../src/extensions/health-check.js";
import { otlpReceiver } from "../../../../src/receivers/otlp/component.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { brief, loadText } from "../load-text.js";

const registry = new Registry([otlpReceiver, otlpHttpExporter, healthCheck, adminApi]);

/** Two receivers with these protocols, in lines 2 and 3; more of `service` and `extensions` behind. */
function problems(first: string, second: string, service = "", extensions = "") {
  const text = `receivers:
  otlp: {protocols: {${first}}}
  otlp/b: {protocols: {${second}}}
exporters: {otlp_http: {endpoint: "http://h"}}
extensions: {${extensions}}
service:
  ${service}
  pipelines: {logs: {receivers: [otlp, otlp/b], exporters: [otlp_http]}}
`;
  return loadText(text, { registry, addDefaults: true }).problems;
}

const http = (endpoint: string) => `http: {endpoint: "${endpoint}"}`;
const grpc = (endpoint: string) => `grpc: {endpoint: "${endpoint}"}`;

describe("two listeners", () => {
  it("at one address are an error at the second, with the place of the first", () => {
    expect(problems(http("127.0.0.1:4000"), grpc("127.0.0.1:4000"))).toMatchObject([
      {
        code: "address_taken",
        place: { line: 3, column: 41 },
        path: "receivers.otlp/b.protocols.grpc.endpoint",
        message:
          'receiver "otlp/b" cannot listen on 127.0.0.1:4000: receiver "otlp" listens on 127.0.0.1:4000, at c.yaml:2:39',
      },
    ]);
  });

  it.each([
    ["every interface and one", http("0.0.0.0:4000"), http("127.0.0.1:4000")],
    ["no host and one", http(":4000"), http("10.0.0.1:4000")],
    ["a name and its address", http("localhost:4000"), grpc("127.0.0.1:4000")],
    ["both protocols of a receiver", `${http("0.0.0.0:4000")}, ${grpc("0.0.0.0:4000")}`, http("127.0.0.1:4001")],
    ["defaults of two receivers", "http: ", "http: "],
    ["one socket", "http: {endpoint: /a.sock, transport: unix}", "http: {endpoint: /a.sock, transport: unix}"],
  ])("clash: %s", (_, first, second) => {
    const codes = problems(first, second).map(({ code }) => code);
    expect(codes.filter((code) => code !== "open_listener")).toEqual(["address_taken"]);
  });

  it.each([
    ["port 0", http("127.0.0.1:0"), http("127.0.0.1:0")],
    ["two ports", http("127.0.0.1:4000"), http("127.0.0.1:4001")],
    ["two hosts", http("127.0.0.1:4000"), http("127.0.0.2:4000")],
    ["two sockets", "http: {endpoint: /a.sock, transport: unix}", "http: {endpoint: /b.sock, transport: unix}"],
  ])("do not clash: %s", (_, first, second) => {
    expect(problems(first, second)).toEqual([]);
  });

  it.each([
    ["an extension", "health_check: {endpoint: 0.0.0.0:4000}", "", "127.0.0.1:4000"],
    ["the agent's own metrics", "", "telemetry: {metrics: {address: '0.0.0.0:4000'}}", "127.0.0.1:4000"],
    [
      "a reader of the agent's own metrics",
      "",
      "telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {port: 4000}}}}]}}",
      "127.0.0.1:4000",
    ],
  ])("clash across kinds: %s", (_, extensions, service, endpoint) => {
    const found = problems(http(endpoint), http("127.0.0.1:4001"), service, extensions);
    const errors = found.filter(({ severity }) => severity === "error").map(({ code }) => code);
    expect(errors).toEqual(["address_taken"]);
  });

  it.each([
    ["its own metrics", "0.0.0.0:8888", "the endpoint of the agent's own metrics"],
    ["an extension", "127.0.0.1:13133", 'extension "health_check"'],
  ])("leave the address to what is written, where the other is only a default: %s", (_, endpoint, owner) => {
    const { config, problems: found } = loadText(
      `receivers: {otlp: {protocols: {${http(endpoint)}}}}
exporters: {otlp_http: {endpoint: "http://h"}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
      { registry, addDefaults: true },
    );
    expect(found.filter(({ code }) => code === "address_taken")).toMatchObject([
      {
        severity: "warning",
        place: { line: 1 },
        path: "receivers.otlp.protocols.http.endpoint",
        message: expect.stringContaining(`receiver "otlp" listens on ${endpoint}, so ${owner}, which`),
      },
    ]);
    const running = [
      ...config!.extensions.keys(),
      config!.service.telemetry.metrics.readers === undefined && "metrics",
    ];
    expect(running).toEqual(owner.includes("health") ? ["admin", "metrics"] : ["health_check", "admin", false]);
  });

  it("do not clash where one of them does not run", () => {
    const text = `receivers: {otlp: {protocols: {http: }}, otlp/b: {protocols: {http: }}}
exporters: {otlp_http: {endpoint: "http://h"}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`;
    expect(loadText(text, { registry }).problems.map(brief)).toEqual([
      "warning unused_component 1:42 receivers.otlp/b",
    ]);
  });
});

describe("an address", () => {
  it.each([http("127.0.0.1:99999"), grpc("http://[::1]:99999")])("has no port 99999: %s", (protocol) => {
    const [problem] = problems(protocol, http("127.0.0.1:0"));
    expect(problem).toMatchObject({ message: "there is no port 99999; expected at most 65535", place: { line: 2 } });
  });
});

describe("an exporter with an endpoint of one signal", () => {
  const text = (signal: string) => `receivers: {otlp: {protocols: {http: }}}
exporters: {otlp_http: {traces_endpoint: "http://h/v1/traces"}}
service: {pipelines: {${signal}: {receivers: [otlp], exporters: [otlp_http]}}}
`;

  it("is refused in a pipeline of another one, at its place", () => {
    expect(loadText(text("logs"), { registry }).problems).toMatchObject([
      {
        severity: "error",
        code: "unsupported_signal",
        place: { file: "c.yaml", line: 3, column: 61 },
        message: 'exporter "otlp_http" cannot send logs: it has neither "endpoint" nor "logs_endpoint"',
      },
    ]);
  });

  it("is fine in a pipeline of its own", () => {
    expect(loadText(text("traces"), { registry }).problems).toEqual([]);
  });
});

describe("a listener that other machines may reach", () => {
  const warned = (first: string) =>
    problems(first, "http: {endpoint: 127.0.0.1:5000}").map(({ code, message }) => `${code}: ${message}`);
  const files = "cert_file: a, key_file: b";

  it.each([
    ["", "without tls and auth"],
    [`tls: {${files}}`, "without auth"],
    [`tls: {${files}}, auth: {authenticator: keys}`, undefined],
    [`tls: {${files}, client_ca_file: c}`, undefined],
  ])("gets a warning unless it has tls and auth: %s", (keys, expected) => {
    const found = warned(`http: {endpoint: "0.0.0.0:4000", ${keys}}`).filter((line) =>
      line.startsWith("open_listener"),
    );
    expect(found).toEqual(
      expected === undefined
        ? []
        : [`open_listener: receiver "otlp" listens on 0.0.0.0:4000, which other machines may reach, ${expected}`],
    );
  });

  it.each([
    [
      "extensions.health_check",
      'extension "health_check"',
      "extensions: {health_check: {endpoint: 0.0.0.0:4001 KEYS}}",
      "health_check",
    ],
    ["extensions.admin", 'extension "admin"', "extensions: {admin: {endpoint: 0.0.0.0:4001 KEYS}}", "admin"],
  ])("gets one beside the receivers too: %s", (_, owner, section, name) => {
    const found = (keys: string) =>
      loadText(
        `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:4000}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:1"}}
${section.replace(" KEYS", keys)}
service: {extensions: [${name}], pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
        { registry },
      ).problems.map(({ message }) => message);
    expect(found("")).toEqual([
      `${owner} listens on 0.0.0.0:4001, which other machines may reach, without ${name === "admin" ? "tls" : "tls and auth"}`,
    ]);
    expect(found(", tls: {cert_file: a, key_file: b, client_ca_file: c}")).toEqual([]);
  });

  it.each([
    ["readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 4001}}}}]", "without tls and auth"],
    ["address: 0.0.0.0:4001", "without tls and auth"],
    [
      "readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 4001, tls: {cert_file: a, key_file: b}}}}}]",
      "without auth",
    ],
  ])("gets one for the agent's own metrics: %s", (metrics, expected) => {
    const text = `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:4000}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:1"}}
service: {telemetry: {metrics: {${metrics}}}, pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`;
    const found = loadText(text, { registry }).problems.filter(({ code }) => code === "open_listener");
    expect(found.map(({ message }) => message)).toEqual([
      `the endpoint of the agent's own metrics listens on 0.0.0.0:4001, which other machines may reach, ${expected}`,
    ]);
  });

  it("gets none on loopback or a socket", () => {
    expect(warned(http("127.0.0.1:4000"))).toEqual([]);
    expect(warned(http("localhost:4000"))).toEqual([]);
    expect(warned("http: {endpoint: /a.sock, transport: unix}")).toEqual([]);
  });
});
