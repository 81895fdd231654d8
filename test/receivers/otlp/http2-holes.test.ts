import { expect, it } from "vitest";
import { http2Warning } from "../../../src/receivers/otlp/grpc-endpoint.js";

it.each(["20.20.2", "22.23.1", "23.11.0", "24.18.0", "25.9.0", "26.5.0"])("warns of Node.js %s", (version) => {
  expect(http2Warning(version)).toMatch(`Node.js ${version} has known HTTP/2 vulnerabilities`);
  expect(http2Warning(version)).toMatch("use 22.23.2, 24.18.1, 26.5.1 or newer");
});

it.each(["22.23.2", "22.24.0", "24.18.1", "24.22.1", "26.5.1", "26.12.1", "27.0.0", "28.1.0-nightly"])(
  "takes Node.js %s",
  (version) => {
    expect(http2Warning(version)).toBeUndefined();
  },
);
