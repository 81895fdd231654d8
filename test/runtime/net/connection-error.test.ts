import { describe, expect, it } from "vitest";
import { connectionErrorMessage, describeConnectionError } from "../../../src/runtime/net/connection-error.js";

const refused = Object.assign(new Error("connect ECONNREFUSED ::1:1"), { code: "ECONNREFUSED" });

describe("the words of a connection that failed", () => {
  it("are the first of several, which alone have none", () => {
    const both = Object.assign(new AggregateError([refused, new Error("other")], ""), { code: "ECONNREFUSED" });
    expect(describeConnectionError(both)).toEqual({ code: "ECONNREFUSED", message: "connect ECONNREFUSED ::1:1" });
  });

  it("have nothing of OpenSSL's places", () => {
    const place = "../deps/openssl/openssl/ssl/record";
    const required = `80B21E4C1C7F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:${place}/rec_layer_s3.c:1605:SSL alert number 116\n`;
    expect(connectionErrorMessage(new Error(required))).toBe("TLS failed: tlsv13 alert certificate required");
    const noTls = `write EPROTO 80B21E4C1C7F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:${place}/ssl3_record.c:354:\n`;
    expect(connectionErrorMessage(new Error(noTls))).toBe(
      "TLS failed: wrong version number (does the server use TLS on this port?)",
    );
  });

  it("are the code, the name or the text of what has no words", () => {
    expect(connectionErrorMessage(Object.assign(new Error(""), { code: "ETIMEDOUT" }))).toBe("ETIMEDOUT");
    expect(connectionErrorMessage(new TypeError(""))).toBe("TypeError");
    expect(connectionErrorMessage("gone")).toBe("gone");
  });
});
