import { expect, it } from "vitest";
import { headerLine, isHeader, requestHead } from "../../../../src/runtime/net/http1/request-writer.js";

it("a head has each header once, as it was given last", () => {
  const { text } = requestHead("POST", "/v1/logs?a=b", { Host: "x", "Content-Type": "a", "content-type": "b" });
  expect(text).toBe("POST /v1/logs?a=b HTTP/1.1\r\nHost: x\r\ncontent-type: b\r\n");
});

it("configured headers cannot change the length of a body", () => {
  expect(requestHead("POST", "/", { "content-length": "5", "Transfer-Encoding": "chunked" }).text).toBe(
    "POST / HTTP/1.1\r\n",
  );
});

it.each(["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\u0100", "a\u007f"])("a value that is %j cannot be sent", (value) => {
  expect(isHeader("X", value)).toBe(false);
  expect(() => headerLine("X", value)).toThrow(RangeError);
  expect(() => requestHead("POST", "/", { X: value })).toThrow(RangeError);
});

it.each(["", "a b", "a:", "a\r\nb", "ä"])("a header cannot be named %j", (name) => {
  expect(() => headerLine(name, "x")).toThrow(RangeError);
});

it.each([
  ["GE T", "/"],
  ["GET", "/a b"],
  ["GET", "/\r\nX: y"],
  ["GET", ""],
])("refuses to send the request %j %j", (method, target) => {
  expect(() => requestHead(method, target, {})).toThrow(RangeError);
});
