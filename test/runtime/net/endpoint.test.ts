import { expect, test } from "vitest";
import { formatEndpoint, parseEndpoint } from "../../../src/runtime/net/endpoint.js";

test.each([
  ["127.0.0.1:4318", { host: "127.0.0.1", port: 4318 }],
  ["localhost:0", { host: "localhost", port: 0 }],
  [":4318", { host: "", port: 4318 }],
  ["[::1]:4318", { host: "::1", port: 4318 }],
])("%s is read and written back", (text, endpoint) => {
  expect(parseEndpoint(text)).toEqual(endpoint);
  expect(formatEndpoint(endpoint)).toBe(text);
});

test.each([
  "",
  "4318",
  "localhost",
  "localhost:",
  "localhost:65536",
  "a b:1",
  "http://localhost:1",
  "::1:4318",
  "x:1x",
])("%j is no endpoint", (text) => {
  expect(parseEndpoint(text)).toBeUndefined();
});
