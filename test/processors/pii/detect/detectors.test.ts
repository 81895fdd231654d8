import { describe, expect, it } from "vitest";
import { scan } from "../../../../src/processors/pii/detect/scan.js";
import { DETECTORS, type DetectorName } from "../../../../src/processors/pii/detect/text/detectors.js";
import { matches } from "../../../../src/processors/pii/detect/text/matches.js";
import { judge } from "./corpus.js";

const ALL = (1 << DETECTORS.length) - 1;

/** What is found, with the name of its detector; with bytes around the text that look like more of it. */
function found(text: string, hints = 0): string[] {
  const b = Buffer.from(`9a.${text}1*:`, "utf8");
  const start = 3;
  const end = b.length - 3;
  scan(b, start, end, hints, ALL);
  return Array.from({ length: matches.count }, (_, i) => {
    return `${DETECTORS[matches.detectors[i]!]} ${b.toString("utf8", matches.starts[i], matches.ends[i])}`;
  });
}

const CASES: Record<DetectorName, { readonly finds: [text: string, value: string][]; readonly leaves: string[] }> = {
  email: {
    finds: [
      ["<anna@example.com>", "anna@example.com"],
      ["o'brien+x@sub.example.co.uk.", "o'brien+x@sub.example.co.uk"],
      ["'anna@example.com'", "anna@example.com"],
      ["?e=anna%40example.com&x", "anna%40example.com"],
      ["Jörg: jörg@müller.de!", "jörg@müller.de"],
      ["请联系anna@example.com获取", "anna@example.com"],
      ["почта иван@пример.рф", "иван@пример.рф"],
    ],
    leaves: [
      "icon@2x.png",
      "lodash@4.17.21",
      "root@web-1",
      "git@github.com:a/b.git",
      "a@b",
      "@example.com",
      "user@1000.service",
    ],
  },
  phone: {
    finds: [
      ["call +1 (415) 555-2671 now", "+1 (415) 555-2671"],
      ["(415) 555-2671", "(415) 555-2671"],
      ["+1\u00a0415\u00a0555\u00a02671", "+1\u00a0415\u00a0555\u00a02671"],
      ["+442079460958 200 OK", "+442079460958"],
      ["tel 12 34 56 78", "12 34 56 78"],
      ["010-1234-5678", "010-1234-5678"],
    ],
    leaves: [
      "2024-01-15 08:30:12",
      "01.02.2024 10:30",
      "1700000000",
      "00123456789",
      "06898-5640",
      "12 34 56 78",
      "+0200",
      "1,234,567,890",
    ],
  },
  payment_card: {
    finds: [
      ["4111111111111111", "4111111111111111"],
      ["x=3782-822463-10005;", "3782-822463-10005"],
      ["5555 5555 5555 4444", "5555 5555 5555 4444"],
      ["5555\u00a05555\u00a05555\u00a04444", "5555\u00a05555\u00a05555\u00a04444"],
      ["5555\u20115555\u20115555\u20114444", "5555\u20115555\u20115555\u20114444"],
    ],
    leaves: ["4111111111111112", "1111111111111117", "a4111111111111111", "41111111111111110", "1700000000000000"],
  },
  ssn: {
    finds: [
      ["123-45-6789", "123-45-6789"],
      ["123\u201345\u20136789", "123\u201345\u20136789"],
      ["ssn 123456789", "123456789"],
    ],
    leaves: ["000-45-6789", "666-45-6789", "123-00-6789", "123-45-0000", "123456789", "1123-45-6789", "123-45-67890"],
  },
  ipv4: {
    finds: [
      ["203.0.113.7:8080", "203.0.113.7"],
      ["http://10.1.2.3/x", "10.1.2.3"],
      ["10.0.0.1-10.0.0.9", "10.0.0.1"],
    ],
    leaves: [
      "127.0.0.1",
      "0.0.0.0",
      "Chrome/120.0.0.0",
      "1.2.3",
      "1.2.3.4.5",
      "v1.2.3.4",
      "Version=4.1.2.3",
      "256.1.1.1",
      "1.2.3.4-beta",
    ],
  },
  ipv6: {
    finds: [
      ["[2001:db8::1]:80", "2001:db8::1"],
      ["fe80::1ff:fe23:4567:890a", "fe80::1ff:fe23:4567:890a"],
      ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
    ],
    leaves: ["12:34:56", "aa:bb:cc:dd:ee:ff", "50:06:01:60:3b:20:1f:aa", "std::vector", "::1", "DB::Add", "[::]:80"],
  },
  iban: {
    finds: [
      ["DE89370400440532013000", "DE89370400440532013000"],
      ["(GB29 NWBK 6016 1331 9268 19)", "GB29 NWBK 6016 1331 9268 19"],
      ["nl91abna0417164300", "nl91abna0417164300"],
    ],
    leaves: ["DE89370400440532013001", "XX89370400440532013000", "DE893704004405320130001"],
  },
  jwt: {
    finds: [
      ["t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl;", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
    ],
    leaves: ["eyJhbGciOiJIUzI1NiJ9", "eyJ.a.b", "keyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
  },
  bearer_token: {
    finds: [
      ["Authorization: Bearer abc123def456", "abc123def456"],
      ["Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
      ["Bearer kdJxQwRtPbNmZvLs", "kdJxQwRtPbNmZvLs"],
    ],
    leaves: [
      "Bearer authentication failed",
      "bearer of bad news",
      "Basic settings changed",
      "Bearer ****",
      "Bearer authenticationfailure",
    ],
  },
  api_key: {
    finds: [
      ["AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
      ["key ghp_abcdefghijklmnopqrstuvwxyz0123456789!", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
      [
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
      ],
    ],
    leaves: ["sk-fading-circle-loader-component", "npm_config_registry", "ghp_short", "-----BEGIN CERTIFICATE-----"],
  },
  url_credentials: {
    finds: [
      ["postgres://app:s3cret@db/x", "app:s3cret"],
      ["redis://:pw@h", ":pw"],
    ],
    leaves: ["https://example.com:8080/a@b", "https://example.com/?u=a:b@c", "ssh://git@host/x"],
  },
  assigned_secret: {
    finds: [
      ["password=hunter2&x=1", "hunter2"],
      ['{"clientSecret":"abc def"}', "abc def"],
      ['{\\"api_key\\": \\"k3y\\"}', "k3y"],
      ["access_token: a1b2c3d4e5f6", "a1b2c3d4e5f6"],
      ["password: hunter2", "hunter2"],
      ["Authorization: Token 9944b09199c62bcf9418ad846dd0e4bb", "9944b09199c62bcf9418ad846dd0e4bb"],
      ['{"authorization":"ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6"}', "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6"],
      ["proxy-authorization=key a1b2c3d4e5f6 sent", "a1b2c3d4e5f6"],
      ["token=kdJxQwRtPbNmZvLs", "kdJxQwRtPbNmZvLs"],
      ["token: xkcdvbnqwrtplmzs", "xkcdvbnqwrtplmzs"],
      ['"refresh_token": "QZRTKWPLMNBVCXSD"', "QZRTKWPLMNBVCXSD"],
    ],
    leaves: [
      "password=",
      "password: required",
      "token=null",
      "token_count=12345678a",
      "password=$PW",
      "PublicKeyToken=b77a5c561934e089",
      "password=****",
      "Authorization: Token ****",
      "Authorization: Token authentication failed",
      "authorization: key rotation finished",
      "auth: token expired",
      "token=AuthenticationTokenExpired",
      "token: HTTPSHandshakeToken",
      "token=internationalization",
      "unexpected token: identifierexpression",
      "token: DELIMITEREXPRESSION",
      "token=short",
    ],
  },
};

describe.each(Object.entries(CASES))("the detector %s", (name, { finds, leaves }) => {
  it.each(finds)("finds in %j just %j", (text, value) => {
    expect(found(text)).toContain(`${name} ${value}`);
  });

  it.each(leaves)("leaves %j alone", (text) => {
    expect(found(text).filter((one) => one.startsWith(`${name} `))).toEqual([]);
  });
});

describe("the scan", () => {
  it("finds nothing in process_token_renewal_completed", () => {
    expect(found("process_token_renewal_completed")).toEqual([]);
  });

  it("finds several things in one text, in order", () => {
    expect(found("a@b.io 203.0.113.7 password=x1y b@c.io")).toEqual([
      "email a@b.io",
      "ipv4 203.0.113.7",
      "assigned_secret x1y",
      "email b@c.io",
    ]);
  });

  it.each([
    "@",
    "a@",
    "1 ",
    "1.",
    "eyJ",
    "::",
    "a.",
    "password=",
    "-----BEGIN ",
    "Bearer ",
    "(1",
    "+1 ",
    "%40",
    "://:",
    "sk-",
    "token=",
    "token='",
    "Bearer a ",
  ])("goes through %j twenty thousand times without getting lost", (piece) => {
    const text = Buffer.from(piece.repeat(20_000));
    expect(scan(text, 0, text.length, 0, ALL)).toBeGreaterThanOrEqual(0);
  });
});

describe("on the corpus, every detector", () => {
  const rows = judge({ ordinary: 2000, planted: 300, seed: 3 });

  it.each(rows.filter(({ detector }) => detector !== "all"))(
    "$detector finds 99 % and is wrong on less than 1 %",
    (row) => {
      expect({ missed: row.missed.slice(0, 5), recall: row.recall >= 0.99 }).toEqual({
        missed: expect.anything(),
        recall: true,
      });
      expect({ wrong: row.wrong.slice(0, 5), few: row.falsePositives < 0.01 }).toEqual({
        wrong: expect.anything(),
        few: true,
      });
    },
  );
});
