import { describe, expect, it } from "vitest";
import { scan } from "../../../../src/processors/pii/detect/scan.js";
import { DETECTORS } from "../../../../src/processors/pii/detect/text/detectors.js";
import { matches } from "../../../../src/processors/pii/detect/text/matches.js";
import { judge } from "./corpus.js";

const ALL = (1 << DETECTORS.length) - 1;

/** Returns the matches with their detectors. Bytes around the text look like a continuation of it. */
function found(text: string, hints = 0): string[] {
  const b = Buffer.from(`9a.${text}1*:`, "utf8");
  const start = 3;
  const end = b.length - 3;
  scan(b, start, end, hints, ALL);
  return Array.from({ length: matches.count }, (_, i) => {
    return `${DETECTORS[matches.detectors[i]!]} ${b.toString("utf8", matches.starts[i], matches.ends[i])}`;
  });
}

const SALT = "c2FsdHNhbHRzYWx0c2Fs";
const HASH = "N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68L";
const PASSWORD_HASHES = [
  `$2b$12$${SALT}12${HASH.slice(0, 31)}`,
  `$6$rounds=5000$${SALT}$${HASH}${HASH}`,
  `$1$a8b7c6d5$${HASH.slice(0, 22)}`,
  `$argon2id$v=19$m=65536,t=3,p=4$${SALT}$${HASH}`,
  `$y$j9T$${SALT}$${HASH}`,
  `pbkdf2_sha256$600000$${SALT}$${HASH}=`,
  `SCRAM-SHA-256$4096:${SALT}==$${HASH}=:${HASH}=`,
];

const CASES: Record<
  (typeof DETECTORS)[number],
  { readonly finds: [text: string, value: string][]; readonly leaves: string[] }
> = {
  email: {
    finds: [
      ["<anna@example.com>", "anna@example.com"],
      ["o'brien+x@sub.example.co.uk.", "o'brien+x@sub.example.co.uk"],
      ["'anna@example.com'", "anna@example.com"],
      ["?e=anna%40example.com&x", "anna%40example.com"],
      ["Jörg: jörg@müller.de!", "jörg@müller.de"],
      ["请联系anna@example.com获取", "anna@example.com"],
      ["*joe@example.com*", "joe@example.com"],
      ["joe@contoso.local", "joe@contoso.local"],
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
      ["4111.1111.1111.1111", "4111.1111.1111.1111"],
      ["card nr. 4111111111111111", "4111111111111111"],
      ["swipe %B4111111111111111^DOE/JANE^28052010000?", "4111111111111111^DOE/JANE^28052010000"],
      [";4111111111111111=28052010000?", "4111111111111111=28052010000"],
      ["57 4111111111111111D28052010000F", "4111111111111111D28052010000F"],
    ],
    leaves: [
      "4111.1111.1111.1112",
      "%B4111111111111112^DOE/JANE^28052010000?",
      "4111111111111112D28052010000F",
      "4111111111111112",
      "1111111111111117",
      "a4111111111111111",
      "41111111111111110",
      "1700000000000000",
    ],
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
      ["http://91.1.2.3/x", "91.1.2.3"],
      ["91.0.0.1-91.0.0.9", "91.0.0.1"],
      ["server 91.1.2.3", "91.1.2.3"],
      ["resolver: 91.1.2.3", "91.1.2.3"],
      ["db-1/91.1.2.3:5432", "91.1.2.3"],
      ["client 10.1.2.3", "10.1.2.3"],
    ],
    leaves: [
      "127.0.0.1",
      "client 127.0.0.1",
      "0.0.0.0",
      "http://10.1.2.3/x",
      "upstream 172.16.4.8:8080 answered",
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
      ["2a00::1ff:fe23:4567:890a", "2a00::1ff:fe23:4567:890a"],
      ["peer [fe80::1ff:fe23:4567:890a]:179", "fe80::1ff:fe23:4567:890a"],
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
      "token_type=Bearer expires_in=3600",
    ],
  },
  api_key: {
    finds: [
      ["AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
      ["key ghp_abcdefghijklmnopqrstuvwxyz0123456789!", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
      [
        '{"private_key":"-----BEGIN RSA PRIVATE KEY-----\\nabc\\n-----END RSA PRIVATE KEY-----\\n"}',
        "-----BEGIN RSA PRIVATE KEY-----\\nabc\\n-----END RSA PRIVATE KEY-----",
      ],
      [
        "PRIVATE_KEY=-----BEGIN PRIVATE KEY----- abc -----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- abc -----END PRIVATE KEY-----",
      ],
      [
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
      ],
      ["Public-Lines: 1\nAAAA\nPrivate-Lines: 1\nabc=\nPrivate-MAC: 00", "Private-Lines: 1\nabc=\n"],
      [`{"kty":"OKP","d":"${HASH}"}`, HASH],
      ...PASSWORD_HASHES.map((hash): [string, string] => [`'${hash}'`, hash]),
    ],
    leaves: [
      "cost $2b$ per unit",
      "$argon2id$v=19",
      "$1$ and $2",
      `{"x":"${HASH}","d":"${HASH}"}`,
      "Private-Lines",
      "sk-fading-circle-loader-component",
      "npm_config_registry",
      "ghp_short",
      "-----BEGIN CERTIFICATE-----",
    ],
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
      ["password=p&ssw0rd", "p&ssw0rd"],
      ["password=$ecr3tWord", "$ecr3tWord"],
      ["password={abc1", "{abc1"],
      ["password=[abc1", "[abc1"],
      ["password=<abc1", "<abc1"],
      ["password=*abc1", "*abc1"],
      ["password=hash(abc1", "hash(abc1"],
      ['{"password":"ab\\"cd"}', 'ab\\"cd'],
      ["AccountName=x;AccountKey=abcd1234==;Endpoint=y", "abcd1234=="],
      ["Cookie: theme=dark; session=abc123", "abc123"],
      ["GET /cb?code=4a7d1ed414474e4033ac29ccb8653d9b&x=1", "4a7d1ed414474e4033ac29ccb8653d9b"],
      ["Authorization=[Token 9944b09199c62bcf9418ad846dd0e4bb]", "9944b09199c62bcf9418ad846dd0e4bb"],
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
      ['["--token", "a1b2c3d4e5f6"]', "a1b2c3d4e5f6"],
      ["- name: ROOT_PASSWORD\n  value: Maple_5681", "Maple_5681"],
      ['env: [{name: ADMIN_PASSWORD, value: "tiger"}]', "tiger"],
      ["password provvisoria Ciliegia-Blu-3 comunicata", "Ciliegia-Blu-3"],
      ["['--token','a1b2c3d4e5f6']", "a1b2c3d4e5f6"],
      ['"args":[\\"--password\\",\\"tiger\\"]', "tiger"],
      ['["--password",\n  "tiger"]', "tiger"],
      ["[serve, --token, a1b2c3d4e5f6]", "a1b2c3d4e5f6"],
      ["{&quot;password&quot;:&quot;tiger&quot;}", "tiger"],
      ["{&#34;password&#34;: &#34;tiger&#34;}", "tiger"],
      ["&lt;password&gt;tiger&lt;/password&gt;", "tiger"],
      ["{\\u0022password\\u0022:\\u0022tiger\\u0022}", "tiger"],
      ["{\\x22password\\x22:\\x22tiger\\x22}", "tiger"],
      ['{"\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c":"tiger"}', "tiger"],
    ],
    leaves: [
      "password=",
      "--password, --user and --host are required",
      "the option '--password' because of a1",
      "--password\nEnter your name1",
      "passwd: authentication token manipulation error",
      "GPIO pin 4821 out of range",
      "run -e API_KEY=$" + "{API_KEY:?missing}",
      '["--password-file", "a1b2c3d4e5f6"]',
      "&quot;status&quot;:&quot;a1b2c3d4e5f6&quot;",
      "\\u001b[31mdone\\u001b[0m",
      "password: required",
      "token=null",
      "token_count=12345678a",
      "password=$PW",
      "password=$" + "{PW}",
      "password=<password>",
      "password=[REDACTED]",
      "password={{ pw }}",
      "password=%s",
      "code=4a7d1ed414474e4033ac29ccb8653d9b",
      "cookie: consent shown",
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
  mac_address: {
    finds: [
      ["eth0 3c:22:fb:01:a9:7e up", "3c:22:fb:01:a9:7e"],
      ["00-1B-63-84-45-E6", "00-1B-63-84-45-E6"],
      ["(001b.6384.45e6)", "001b.6384.45e6"],
    ],
    leaves: [
      "00:00:00:00:00:00",
      "ff:ff:ff:ff:ff:ff",
      "50:06:01:60:3b:20:1f:aa",
      "12:34:56",
      "2024-01-15-10",
      "1234.5678.9012",
      "SHA1 aa:bb:cc:dd:ee:ff:00:11:22:33",
    ],
  },
  date_of_birth: {
    finds: [
      ["dob=1984-05-12", "1984-05-12"],
      ['{"dateOfBirth":"12.05.1984"}', "12.05.1984"],
      ["date of birth: May 12, 1984", "May 12, 1984"],
      ["DOB: 12 May 1984;", "12 May 1984"],
    ],
    leaves: ["created=1984-05-12", "dob=unknown", "born: ready", "birth_rate: 12", "dob=99/99/1984"],
  },
  passport: {
    finds: [
      ["passport no.: C01X00T47", "C01X00T47"],
      ['{"documentType":"P","documentNumber":"AA9876543"}', "AA9876543"],
      ["pasaport U85254504 süresi dolmuş", "U85254504"],
      ['"passport_number": "512345678"', "512345678"],
    ],
    leaves: ["passport: required", "passport=expired", "passport: AB12"],
  },
  national_id: {
    finds: [
      ["NINO AB123456C", "AB123456C"],
      ["AB 12 34 56 C", "AB 12 34 56 C"],
      ["steuer_id=86095742719", "86095742719"],
      ["(1 84 12 76 451 089 46)", "1 84 12 76 451 089 46"],
      ["12345678Z", "12345678Z"],
      ["12345678-Z", "12345678-Z"],
      ["X1234567L", "X1234567L"],
      ["cf RSSMRA85T10A562S", "RSSMRA85T10A562S"],
      ["bsn: 111222333", "111222333"],
      ["529.982.247-25", "529.982.247-25"],
      ["pan ABCPE1234F", "ABCPE1234F"],
      ["11010519491231002X", "11010519491231002X"],
      ["my number: 123456789018", "123456789018"],
    ],
    leaves: [
      "DF123456C",
      "86095742719",
      "86095742718",
      "12345678A",
      "RSSMRA85T10A562T",
      "111222333",
      "529.982.247-26",
      "110105194912310021",
      "part AB123456C-7",
    ],
  },
  bank_account: {
    finds: [
      ["account number: 12345678", "12345678"],
      ["sort code=12-34-56", "12-34-56"],
      ["IFSC: HDFC0001234", "HDFC0001234"],
    ],
    leaves: ["account=12345678", "account number: unknown", "sort code: ok"],
  },
  crypto_address: {
    finds: [
      ["to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"],
      ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"],
      ["0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886E0F7030069857D2E4169EE7"],
    ],
    leaves: [
      "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
      "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
      "0x52908400098527886E0F",
    ],
  },
  driving_licence: {
    finds: [
      ["driver's license number S5301234", "S5301234"],
      ["driving licence no MORGA657054SM9IJ", "MORGA657054SM9IJ"],
      ["licence=D123-4567-8901", "D123-4567-8901"],
      ["Führerscheinnummer: B072RRE2I55", "B072RRE2I55"],
      ["водительское удостоверение 77 16 123456", "77 16 123456"],
      ["<driverLicense>D1234567</driverLicense>", "D1234567"],
    ],
    leaves: ["driver license scan quality 0.93", "license server returned 250 seats", "license: MIT", "S5301234"],
  },
  device_id: {
    finds: [
      ["imei 354243177403076 blocked", "354243177403076"],
      ["+CIMI: 262011294088076", "262011294088076"],
      ["advertising id 38400000-8cf0-11bd-b23e-10b96e40000d", "38400000-8cf0-11bd-b23e-10b96e40000d"],
      ["VIN 1HGCM82633A004352", "1HGCM82633A004352"],
      ["IDFA=AEBE52E7-03EE-455A-B3C4-E57283966239", "AEBE52E7-03EE-455A-B3C4-E57283966239"],
    ],
    leaves: ["IMEI check disabled", "354243177403076", "user 38400000-8cf0-11bd-b23e-10b96e40000d", "vin rouge 2019"],
  },
  health_id: {
    finds: [
      ["lookup MRN 48291034 by nurse", "48291034"],
      ["member id WXY123456789 not eligible", "WXY123456789"],
      ["Versichertennummer A123456780", "A123456780"],
      ["policy number: P12345678", "P12345678"],
    ],
    leaves: ["patient 4 of 12", "member 3 joined", "policy evaluated 1200 times", "MRN missing"],
  },
  geo_location: {
    finds: [
      ["lat=52.520008 lon=13.404954", "52.520008"],
      ["user location 52.520008, 13.404954", "52.520008, 13.404954"],
      ['{"latitude":-33.868820}', "-33.868820"],
      ["POINT(13.404954 52.520008)", "13.404954 52.520008"],
    ],
    leaves: ["lat 12 ms", "x 52.520008 y 13.404954", "location: Berlin", "ratio 0.520008"],
  },
};

describe.each(Object.entries(CASES))("the detector %s", (name, { finds, leaves }) => {
  it.each(finds)("finds in %j only %j", (text, value) => {
    expect(found(text)).toContain(`${name} ${value}`);
  });

  it.each(leaves)("leaves %j alone", (text) => {
    expect(found(text).filter((one) => one.startsWith(`${name} `))).toEqual([]);
  });
});

describe("the scan", () => {
  it("finds matches inside base64, and reports all of the base64", () => {
    const wrapped = Buffer.from('{"user":"anna@example.com","id":7}').toString("base64");
    expect(found(`body ${wrapped} received`)).toEqual([`email ${wrapped}`]);
    const harmless = Buffer.from('{"user":"anna","id":7,"at":"noon"}').toString("base64");
    expect(found(`body ${harmless} received`)).toEqual([]);
  });

  it("finds URL-encoded values at their positions", () => {
    expect(found("GET /x?q=to%20anna%40example.com%20now&card=4111%201111%201111%201111")).toEqual([
      "email anna%40example.com",
      "payment_card 4111%201111%201111%201111",
    ]);
  });

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
  ])("scans %j twenty thousand times without failing", (piece) => {
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
