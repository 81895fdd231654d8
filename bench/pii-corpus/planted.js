import { FORMATS } from "./phones.js";
import { randomFrom } from "./random.js";
import { cryptoAddress } from "./wild/crypto-addresses.js";
import { NATIONAL_IDS } from "./wild/national-ids.js";
import { BANK_ACCOUNTS, birthDate, mac, passport } from "./wild/people.js";

/**
 * Values of one kind, each in a log line. `value` is the part that must be removed. They are made from their issuers'
 * descriptions, not from the way detectors look for them.
 *
 * @typedef {import("./random.js").Random} Random
 * @typedef {{ line: string, value: string }} Planted
 * @typedef {{ value: string, before?: string, after?: string, named?: boolean }} Made `value` stands between the others
 * @param {string} kind a detector's name @param {number} count @param {number} seed @returns {Planted[]}
 */
export function plantedLines(kind, count, seed = 7) {
  const random = randomFrom(seed + kind.length * 101 + kind.charCodeAt(0));
  return Array.from({ length: count }, () => {
    const made = MAKERS[kind](random);
    const surround = random.pick(made.named ? (NAMED[kind] ?? ANY) : ANY);
    return { line: surround(`${made.before ?? ""}${made.value}${made.after ?? ""}`, random), value: made.value };
  });
}

/** @type {((text: string, r: Random) => string)[]} */
const ANY = [
  (text) => text,
  (text) => `contact: ${text}`,
  (text, r) => `2024-05-0${r.int(1, 9)}T10:0${r.int(0, 9)}:00Z INFO user said ${text} and left after ${r.int(2, 90)} s`,
  (text, r) => `{"id":${r.digits(5)},"note":"${text}","ok":true}`,
  (text) => `msg="received ${text}" status=200`,
  (text) => `value=${text};next=1`,
  (text) => `input '${text}' is not valid`,
  (text) => `<field>${text}</field>`,
  (text) => `[${text}]`,
  (text) => `(${text})`,
  (text, r) => `order ${r.digits(4)}, ${text}, paid`,
  (text) => `Kunde hat ${text} angegeben, bitte prüfen.`,
  (text) => `Le client a saisi ${text}, à vérifier.`,
  (text) => `El usuario escribió: ${text}.`,
  (text) => `пользователь ввёл ${text} в форму`,
  (text) => `用户输入了 ${text} ,请检查`,
  (text) => `line one\n${text}\nline three`,
  (text) => `a\t${text}\tb`,
  (text) => `java.lang.IllegalArgumentException: bad value ${text}`,
  (text, r) => `| ${r.digits(3)} | ${text} | x |`,
];

/** @type {Record<string, ((text: string, r: Random) => string)[]>} */
const NAMED = {
  phone: [
    (text) => `phone: ${text}`,
    (text) => `{"mobile":"${text}"}`,
    (text) => `phone_number=${text}`,
    (text) => `Tel. ${text}`,
    (text) => `Telefon: ${text}, bitte zurückrufen`,
    (text) => `téléphone ${text}`,
    (text) => `sms sent to ${text}`,
    (text) => `please call me at ${text}`,
    (text) => `手机:${text}`,
    (text) => `телефон ${text}`,
    (text) => `cell ${text} verified`,
  ],
  ssn: [
    (text) => `ssn=${text}`,
    (text) => `SSN: ${text}`,
    (text) => `{"ssn":"${text}"}`,
    (text) => `social security number ${text} on file`,
  ],
};

const FIRST =
  "anna bo carla dmitri elif fatima george hiro ines jürgen kwame lucía maría nils o'brien priya søren zoë".split(" ");
const LAST = "smith müller garcía kowalski tanaka nguyen rossi andersson dubois okafor ivanov silva".split(" ");
const HOSTS =
  "example.com mail.example.org gmail.com firma.de exemple.fr empresa.com.br acme.co.uk sub.domain.museum b.io bücher.example web.de".split(
    " ",
  );

/** @type {Record<string, (r: Random) => Made>} */
const MAKERS = {
  email: (r) => {
    const local = r.pick([
      `${r.pick(FIRST)}.${r.pick(LAST)}`,
      `${r.pick(FIRST)}${r.int(1, 1999)}`,
      `${r.pick(FIRST)[0]}_${r.pick(LAST)}`,
      `${r.pick(FIRST)}+${r.pick(["news", "shop1"])}`,
      r.alnum(r.int(1, 12)),
      `${r.pick(LAST)}-${r.pick(LAST)}`.toUpperCase(),
    ]);
    const host = r.pick(HOSTS);
    const value = `${local}@${r.chance(0.1) ? host.toUpperCase() : host}`;
    const form = r.int(0, 9);
    if (form === 0) return { value, before: "mailto:" };
    if (form === 1) return { value, before: "<", after: ">" };
    if (form === 2)
      return { value: value.replace("@", "%40"), before: "https://shop.example/reset?email=", after: "&x=1" };
    return { value };
  },
  phone: (r) => {
    const [format, named] = r.pick(FORMATS);
    return { value: r.fill(format), named };
  },
  payment_card: (r) => {
    const [prefixes, length, grouping] = r.pick(CARDS);
    const digits = withLuhn(`${r.pick(prefixes)}`, length, r);
    const separator = r.pick(["", "", " ", "-"]);
    return { value: separator === "" ? digits : grouped(digits, grouping, separator) };
  },
  ssn: (r) => {
    let area = r.int(1, 899);
    if (area === 666) area = 665;
    const parts = [
      String(area).padStart(3, "0"),
      String(r.int(1, 99)).padStart(2, "0"),
      String(r.int(1, 9999)).padStart(4, "0"),
    ];
    const form = r.int(0, 9);
    if (form === 0) return { value: parts.join(""), named: true };
    return { value: parts.join(form === 1 ? " " : "-") };
  },
  ipv4: (r) => {
    const value = r.pick([
      () =>
        `${r.pick([8, 23, 45, 81, 91, 104, 142, 185, 203, 212])}.${r.int(0, 255)}.${r.int(0, 255)}.${r.int(1, 254)}`,
      () => `46.${r.int(0, 255)}.${r.int(0, 255)}.${r.int(1, 254)}`,
      () => `193.168.${r.int(0, 255)}.${r.int(1, 254)}`,
      () => `178.${r.int(16, 31)}.${r.int(0, 255)}.${r.int(1, 254)}`,
    ])();
    const form = r.int(0, 9);
    if (form === 0) return { value, after: `:${r.int(1024, 65535)}` };
    if (form === 1) return { value, before: "http://", after: "/index.html" };
    if (form === 2) return { value, after: "/24" };
    return { value };
  },
  ipv6: (r) => {
    const group = () => r.of("0123456789abcdef", r.int(1, 4)).replace(/^0+(?=.)/, "");
    const value = r.pick([
      () => `2001:db8:${Array.from({ length: 6 }, group).join(":")}`,
      () => `2a02:${group()}:${group()}::${group()}`,
      () => `2a00::${Array.from({ length: 4 }, group).join(":")}`,
      () => `2001:DB8::${group().toUpperCase()}:${r.int(1, 9)}`,
      () => `::ffff:${r.int(11, 126)}.${r.int(0, 255)}.${r.int(0, 255)}.${r.int(1, 254)}`,
      () => `2607:f8b0:4005:0805:0000:0000:0000:${r.hex(4)}`,
    ])();
    const form = r.int(0, 9);
    if (form === 0) return { value, before: "[", after: `]:${r.int(1024, 65535)}` };
    if (form === 1) return { value, after: "/64" };
    return { value };
  },
  iban: (r) => {
    const [country, format] = r.pick(IBANS);
    const account = format.replace(/[#A]/g, (/** @type {string} */ c) =>
      c === "#" ? r.digits(1) : r.of("ABCDEFGHJKLMNPQRSTUVWXYZ", 1),
    );
    const value = withIbanCheck(country, account);
    const form = r.int(0, 9);
    if (form < 4) return { value: value.replace(/(.{4})(?=.)/g, "$1 ") };
    return { value: form === 4 ? value.toLowerCase() : value };
  },
  jwt: (r) => {
    const part = (/** @type {object} */ claims) => Buffer.from(JSON.stringify(claims)).toString("base64url");
    const header = part(
      r.pick([{ alg: "HS256", typ: "JWT" }, { typ: "JWT", alg: "RS256", kid: r.hex(8) }, { alg: "ES256" }]),
    );
    const value = r.chance(0.1)
      ? `${part({ alg: "RSA-OAEP", enc: "A256GCM" })}.${r.base64url(64)}.${r.base64url(12)}.${r.base64url(80)}.${r.base64url(16)}`
      : `${header}.${part({ sub: r.digits(8), name: r.pick(FIRST), iat: r.int(1.5e9, 1.9e9) })}.${r.base64url(r.pick([32, 64]))}`;
    return r.chance(0.3) ? { value, before: r.pick(["token=", "id_token: ", "cookie: sid="]) } : { value };
  },
  bearer_token: (r) => {
    if (r.chance(0.25)) {
      const value = Buffer.from(`${r.pick(FIRST)}:${r.alnum(r.int(4, 20))}`).toString("base64");
      return { value, before: r.pick(["Basic ", "authorization: Basic ", "Authorization=basic "]) };
    }
    const value = r.pick([r.hex(40), r.alnum(32), r.base64url(24), `${r.alnum(12)}.${r.alnum(20)}`, uuidOf(r)]);
    return {
      value,
      before: r.pick(["Bearer ", "authorization: Bearer ", "bearer ", "BEARER ", "Authorization: Bearer  "]),
    };
  },
  api_key: (r) => ({
    value: r.pick([
      () => `sk_live_${r.alnum(24)}`,
      () => `rk_test_${r.alnum(24)}`,
      () => `ghp_${r.alnum(36)}`,
      () => `github_pat_${r.alnum(22)}_${r.alnum(59)}`,
      () => `glpat-${r.base64url(15)}`,
      () => `xoxb-${r.digits(12)}-${r.digits(12)}-${r.alnum(24)}`,
      () => `AKIA${r.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)}`,
      () => `AIza${r.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 35)}`,
      () => `SG.${r.base64url(16)}.${r.base64url(32)}`,
      () => `npm_${r.alnum(36)}`,
      () => `sk-${r.alnum(48)}`,
      () => `sk-ant-api03-${r.base64url(60)}`,
      () => `hf_${r.alnum(34)}`,
      () => `shpat_${r.hex(32)}`,
      () => `dop_v1_${r.hex(64)}`,
      () => `-----BEGIN RSA PRIVATE KEY-----\n${r.base64(96)}\n${r.base64(60)}\n-----END RSA PRIVATE KEY-----`,
    ])(),
  }),
  url_credentials: (r) => {
    const value = `${r.pick(["admin", "app", "", "user%40corp", r.pick(LAST)])}:${r.pick([r.alnum(r.int(4, 24)), `p@${r.alnum(6)}`, `${r.alnum(4)}!$%26`])}`;
    const scheme = r.pick(["https", "postgres", "postgresql", "redis", "amqp", "mongodb+srv", "mysql", "ftp"]);
    return {
      value,
      before: `${scheme}://`,
      after: `@${r.pick(["db.internal:5432/app", "host", "api.example.com/v1?x=1", "10.1.2.3:6379/0"])}`,
    };
  },
  assigned_secret: (r) => {
    const key = r.pick([
      "password",
      "PASSWORD",
      "db_password",
      "passwd",
      "pwd",
      "client_secret",
      "clientSecret",
      "api_key",
      "apiKey",
      "x-api-key",
      "secret_key",
    ]);
    const value = r.pick([
      r.alnum(r.int(6, 30)),
      `${r
        .pick(LAST)
        .normalize("NFD")
        .replace(/[^a-z]/g, "")}${r.digits(3)}!`,
      r.hex(32),
    ]);
    return r.pick([
      { value, before: `${key}=` },
      { value, before: `${key}="`, after: `"` },
      { value, before: `{\\"${key}\\":\\"`, after: `\\"}` },
      { value, before: `{"user":"x","${key}": "`, after: `"}` },
      { value, before: `https://h.example/login?a=1&${key}=`, after: "&b=2" },
      {
        value: `${r.alnum(10)}${r.int(10, 99)}${r.alnum(10)}`,
        before: `${r.pick(["token", "access_token", "secret"])}=`,
      },
      {
        value: r.of(LETTERS, r.int(20, 40)),
        before: r.pick(["token=", "access_token: ", "&session_token=", "refresh-token: "]),
      },
      {
        value: r.pick([r.hex(40), `${r.alnum(16)}${r.int(10, 99)}`]),
        before: r.pick(["Authorization: Token ", "authorization: ApiKey ", "Proxy-Authorization: key "]),
      },
    ]);
  },
  mac_address: (r) => ({ value: mac(r) }),
  date_of_birth: (r) => ({ value: birthDate(r), before: r.pick(["dob=", "date of birth: ", "birthdate: ", "DOB: "]) }),
  passport: (r) => ({ value: passport(r), before: r.pick(["passport: ", "passport_number=", "passport no.: "]) }),
  national_id: (r) => {
    const { labels, needsLabel, make } = r.pick(NATIONAL_IDS.filter(({ country }) => country !== "US"));
    return { value: make(r), before: needsLabel || r.chance(0.5) ? `${r.pick(labels)}${r.pick([": ", "="])}` : "" };
  },
  bank_account: (r) => {
    const [label, make] = r.pick(BANK_ACCOUNTS);
    return { value: make(r), before: `${label}${r.pick([": ", "="])}` };
  },
  crypto_address: (r) => ({ value: cryptoAddress(r) }),
  driving_licence: (r) => ({
    value: r.pick([
      `${r.of("ABDEFS", 1)}${r.digits(7)}`,
      `${r.of("ABDEFS", 1)}${r.digits(3)}-${r.digits(4)}-${r.digits(4)}`,
    ]),
    before: r.pick(["driver license: ", "driving_licence=", "Führerschein: ", "DL: ", "permis de conduire : "]),
  }),
  device_id: (r) =>
    r.pick([
      { value: withLuhn("35", 15, r), before: r.pick(["imei=", "IMEI: ", "imei "]) },
      { value: `262${r.digits(12)}`, before: r.pick(["imsi=", "IMSI: "]) },
      { value: uuidOf(r), before: r.pick(["gaid=", "advertising_id: ", "idfa="]) },
      { value: `WVWZZZ1K${r.digits(9)}`, before: r.pick(["vin=", "VIN: ", "VIN "]) },
    ]),
  health_id: (r) => ({
    value: r.pick([r.digits(8), `${r.of("ABCX", 3)}${r.digits(9)}`]),
    before: r.pick(["MRN: ", "mrn=", "member id: ", "medical record number: ", "Versichertennummer: "]),
  }),
  geo_location: (r) => ({
    value: `${(r.next() * 180 - 90).toFixed(6)}, ${(r.next() * 360 - 180).toFixed(6)}`,
    before: r.pick(["position: ", "gps=", "location: ", "coordinates: "]),
  }),
};

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const uuidOf = (/** @type {Random} */ r) => [8, 4, 4, 4, 12].map((n) => r.hex(n)).join("-");

/** Prefixes, length and grouping. @type {[string[], number, number[]][]} */
const CARDS = [
  [["4"], 16, [4, 4, 4, 4]],
  [["51", "52", "53", "54", "55"], 16, [4, 4, 4, 4]],
  [["2221", "2500", "2720"], 16, [4, 4, 4, 4]],
  [["34", "37"], 15, [4, 6, 5]],
  [["6011", "644", "65"], 16, [4, 4, 4, 4]],
  [["36", "300", "38"], 14, [4, 6, 4]],
  [["3528", "3589"], 16, [4, 4, 4, 4]],
  [["62"], 16, [4, 4, 4, 4]],
  [["4"], 19, [4, 4, 4, 4, 3]],
];

function withLuhn(/** @type {string} */ prefix, /** @type {number} */ length, /** @type {Random} */ r) {
  const body = prefix + r.digits(length - 1 - prefix.length);
  let sum = 0;
  for (let i = 0; i < body.length; i++) {
    const digit = Number(body[body.length - 1 - i]) * (i % 2 === 0 ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return body + ((10 - (sum % 10)) % 10);
}

function grouped(/** @type {string} */ digits, /** @type {number[]} */ sizes, /** @type {string} */ separator) {
  let at = 0;
  return sizes.map((size) => digits.slice(at, (at += size))).join(separator);
}

/** Country and account: # is a digit, A a letter. @type {[string, string][]} */
const IBANS = [
  ["DE", "##################"],
  ["GB", "AAAA##############"],
  ["FR", "##########AA########A##"],
  ["NL", "AAAA##########"],
  ["ES", "####################"],
  ["IT", "A######################"],
  ["SE", "####################"],
  ["PL", "########################"],
  ["CH", "#####A###########"],
  ["NO", "###########"],
  ["BE", "############"],
  ["AT", "################"],
  ["MT", "AAAA#####AA################"],
];

function withIbanCheck(/** @type {string} */ country, /** @type {string} */ account) {
  const digits = `${account}${country}00`.replace(/[A-Z]/g, (c) => String(c.charCodeAt(0) - 55));
  const check = 98n - (BigInt(digits) % 97n);
  return `${country}${String(check).padStart(2, "0")}${account}`;
}
