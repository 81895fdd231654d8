import { describe, expect, it } from "vitest";
import { type SigningRequest, signRequest } from "../../../../src/runtime/net/aws/sign.js";

/** The keys, the time and the signatures that AWS publishes for its examples. */
const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const at = Date.UTC(2015, 7, 30, 12, 36, 0);

function sign(url: string, more: Partial<SigningRequest> = {}, credentials: Parameters<typeof signRequest>[1] = keys) {
  const body = new Uint8Array();
  const request = { method: "GET", url: new URL(url), headers: {}, body, region: "us-east-1", service: "service", at };
  return signRequest({ ...request, ...more }, credentials);
}

const signatureOf = ({ authorization }: Record<string, string>) => /Signature=(\w+)$/.exec(authorization!)?.[1];

describe("signRequest", () => {
  it.each([
    ["GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
    ["POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
    [
      "GET",
      "https://example.amazonaws.com/?Param2=value2&Param1=value1",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
  ])("signs %s %s as AWS does", (method, url, signature) => {
    expect(signatureOf(sign(url, { method }))).toBe(signature);
  });

  it("signs AWS's own example of a call to IAM, header by header", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8", "user-agent": "not signed" };
    const url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
    expect(sign(url, { headers, service: "iam" })).toEqual({
      "x-amz-date": "20150830T123600Z",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    });
  });

  it("signs AWS's own example of a request to S3", () => {
    const credentials = {
      accessKeyId: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    };
    const bodyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const more = { headers: { "x-amz-content-sha256": bodyHash }, bodyHash, service: "s3", at: Date.UTC(2013, 4, 24) };
    const signed = sign("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", more, credentials);
    expect(signatureOf(signed)).toBe("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  });

  it("signs a session token with the rest, and sends it", () => {
    const signed = sign("https://h/", {}, { ...keys, sessionToken: "token" });
    expect(signed["x-amz-security-token"]).toBe("token");
    expect(signed["authorization"]).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
  });

  it.each<[string, Partial<SigningRequest>]>([
    ["the body", { body: Buffer.from("x") }],
    ["the path", { url: new URL("https://h/v1/lögs") }],
    ["the host", { url: new URL("https://other/v1/logs") }],
    ["the method", { method: "PUT" }],
    ["the region", { region: "eu-west-1" }],
    ["the service", { service: "xray" }],
    ["the day", { at: at + 86_400_000 }],
    ["the encoding", { headers: { "content-encoding": "gzip" } }],
  ])("changes with %s", (_, change) => {
    expect(signatureOf(sign("https://h/v1/logs", change))).not.toBe(signatureOf(sign("https://h/v1/logs")));
  });

  it("does not change with the order of a query, or with spaces around a header", () => {
    const one = sign("https://h/?b=2&a=1&a=0", { headers: { "content-type": "a  b" } });
    expect(sign("https://h/?a=0&a=1&b=2", { headers: { "content-type": " a b " } })).toEqual(one);
  });
});
