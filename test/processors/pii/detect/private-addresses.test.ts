import { describe, expect, it } from "vitest";
import { batchFromJson, readRecords } from "../../../../src/plugin.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { linesThrough } from "./corpus.js";

function treated(line: { text: string } | { key: string; value: string }, config: object = {}): string {
  return linesThrough({ batchFromJson, readRecords }, new PiiTreatment(piiSchema.parse(config)))([line])[0]!;
}

const ORDINARY = [
  "upstream 10.2.0.4:8080 answered 502",
  "SRC=172.20.1.9 DST=192.168.4.1 LEN=40",
  "DHCPACK on 192.168.20.114 via br-lan",
  "dial tcp 10.96.0.1:443: connect: connection refused",
  "auth-service host=10.0.0.4 ready",
  "user=app password=**** host=10.40.9.3",
  "node fe80::1ff:fe23:4567:890a joined, pod fd00:10:244::3:41",
  "kubelet at ::ffff:192.168.1.9 is ready",
  "link-local 169.254.12.7 in use",
  "etcd peer 10.0.3.11:2380 became leader",
];

describe("an address of a private network", () => {
  it.each(ORDINARY)("is ordinary text without a label: %s", (text) => {
    expect(treated({ text })).toBe(text);
  });

  it.each([
    ["client: 10.2.0.4, server: shop", "client: ****, server: shop"],
    ["clientIp=192.168.1.7 ok", "clientIp=**** ok"],
    ["remote_addr=10.2.0.4 status=200", "remote_addr=**** status=200"],
    ["X-Forwarded-For: 203.0.113.7, 10.2.0.4", "X-Forwarded-For: ****, ****"],
    ["Access denied for user 'app'@'192.168.22.5'", "Access denied for user 'app'@'****'"],
    ["Failed password for root from 10.9.8.7 port 22", "Failed password for root from **** port 22"],
    ["Source Network Address: 10.1.7.6 Logon Type: 10", "Source Network Address: **** Logon Type: 10"],
    ['{"event":"login","ip":"10.1.7.6"}', '{"event":"login","ip":"****"}'],
    ["peer=[fe80::262b:85da:6de1:81e3]:55012", "peer=[****]:55012"],
    ["Benutzer 172.16.9.3 gesperrt", "Benutzer **** gesperrt"],
    ["клиент 10.20.30.40 отключён", "клиент **** отключён"],
    ["visitor ::ffff:10.1.2.3 blocked", "visitor **** blocked"],
  ])("is masked behind a word for a client or a person: %s", (text, after) => {
    expect(treated({ text })).toBe(after);
  });

  it.each(["client.address", "net.peer.ip", "http.client_ip", "http.request.header.x-forwarded-for", "user.ip"])(
    "is masked under the key %s",
    (key) => {
      expect(treated({ key, value: "10.2.0.4" })).toBe("****");
    },
  );

  it.each(["server.address", "host.ip", "k8s.pod.ip", "net.host.ip"])("is left under the key %s", (key) => {
    expect(treated({ key, value: "10.2.0.4" })).toBe("10.2.0.4");
  });

  it.each([{ profile: "strict" }, { confidence: "low" }])("is masked everywhere with %j", (config) => {
    expect(treated({ text: "upstream 10.2.0.4:8080, pod fd00:10:244::3:41" }, config)).toBe(
      "upstream ****:8080, pod ****",
    );
  });
});

it("masks public addresses whatever stands around them", () => {
  expect(treated({ text: "upstream 91.2.0.4:8080, 172.32.0.1, 192.169.0.1 and 2a00:1450::5" })).toBe(
    "upstream ****:8080, ****, **** and ****",
  );
});
