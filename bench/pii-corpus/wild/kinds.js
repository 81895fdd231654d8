import { FORMATS } from "../phones.js";
import { cryptoAddress } from "./crypto-addresses.js";
import { NATIONAL_IDS } from "./national-ids.js";
import { BANK_ACCOUNTS, birthDate, card, email, iban, ipv4, ipv6, mac, passport } from "./people.js";
import { jwt, PREFIXED_SECRETS, privateKey, uuid } from "./secrets.js";

/**
 * The planted values: the text, the parts of it that must be removed (default: all of it), and its names in contexts
 * that need one.
 *
 * @typedef {import("../random.js").Random} Random
 * @typedef {{ text: string, secrets?: string[], label?: string, labels?: string[] }} Plant
 * @typedef {{ kind: string, needsLabel?: boolean, isPrefixed?: boolean, isLine?: boolean, make: (r: Random) => Plant }} Kind
 * @type {Kind[]}
 */
export const KINDS = [
  { kind: "email address", make: (r) => ({ text: email(r), labels: ["email", "mail", "user", "to"] }) },
  { kind: "phone number", make: phone },
  { kind: "payment card", make: (r) => ({ text: card(r), labels: ["card", "pan", "card_number"] }) },
  {
    kind: "IPv4 address",
    make: (r) => ({ text: ipv4(r), labels: ["server", "client_ip", "resolver", "receiver", "host", "remote_addr"] }),
  },
  { kind: "IPv6 address", make: (r) => ({ text: ipv6(r), labels: ["peer", "addr", "client"] }) },
  { kind: "MAC address", make: (r) => ({ text: mac(r), labels: ["mac", "hwaddr", "device"] }) },
  {
    kind: "date of birth",
    needsLabel: true,
    make: (r) => ({
      text: birthDate(r),
      labels: ["dob", "date_of_birth", "birthdate", "born", "dateOfBirth", "date of birth", "birthday", "DOB"],
    }),
  },
  {
    kind: "passport number",
    needsLabel: true,
    make: (r) => ({
      text: passport(r),
      labels: ["passport", "passport number", "passport_no", "passportNumber", "passport no."],
    }),
  },
  { kind: "IBAN", make: (r) => ({ text: iban(r), labels: ["iban", "account"] }) },
  {
    kind: "bank account",
    needsLabel: true,
    make: (r) => {
      const [label, make] = r.pick(BANK_ACCOUNTS);
      return { text: make(r), label };
    },
  },
  { kind: "crypto address", make: (r) => ({ text: cryptoAddress(r), labels: ["wallet", "address", "to"] }) },
  ...NATIONAL_IDS.map(({ country, labels, needsLabel, make }) => ({
    kind: `national id ${country}`,
    needsLabel,
    make: (/** @type {Random} */ r) => ({ text: make(r), labels }),
  })),
  ...PREFIXED_SECRETS.map(([issuer, make]) => ({
    kind: `key of ${issuer}`,
    isPrefixed: true,
    make: (/** @type {Random} */ r) => {
      const made = make(r);
      if (typeof made === "string") return { text: made, labels: ["value", "data", "x"] };
      return { text: made.text, secrets: [made.text.replace(made.behind, "")], labels: ["value", "url"] };
    },
  })),
  { kind: "private key", isPrefixed: true, make: pem },
  { kind: "password", needsLabel: true, make: (r) => ({ text: password(r), labels: PASSWORD_NAMES }) },
  {
    kind: "named secret",
    needsLabel: true,
    make: (r) => ({
      text: r.pick([r.hex(32), r.hex(64), r.alnum(40), r.base64url(24), uuid(r), r.base64(32)]),
      labels: SECRET_NAMES,
    }),
  },
  {
    kind: "bearer token",
    isLine: true,
    make: (r) =>
      authorized(r, r.pick(["Bearer ", "bearer "]), r.pick([r.alnum(40), r.base64url(40), r.hex(64), jwt(r)])),
  },
  {
    kind: "basic credentials",
    isLine: true,
    make: (r) => authorized(r, "Basic ", Buffer.from(`${r.alnum(6)}:${r.alnum(12)}`).toString("base64")),
  },
  { kind: "cookie", isLine: true, make: cookie },
  { kind: "authorization header", isLine: true, make: header },
  { kind: "credentials in a URL", make: urlCredentials },
  { kind: "secret in a URL", isLine: true, make: urlSecret },
  { kind: "connection string", isLine: true, make: connectionString },
];

const PASSWORD_NAMES = [
  "password",
  "passwd",
  "pwd",
  "db_password",
  "PASSWORD",
  "userPassword",
  "passphrase",
  "DB_PASS",
  "redis.password",
];
const SECRET_NAMES = [
  "api_key",
  "apiKey",
  "API_KEY",
  "access_token",
  "refresh_token",
  "client_secret",
  "secret",
  "token",
  "secret_key",
  "X-Api-Key",
  "auth_token",
  "SECRET_KEY_BASE",
  "session_token",
  "private_token",
  "accessKey",
  "encryption_key",
  "signing_key",
  "aws_secret_access_key",
];

function phone(/** @type {Random} */ r) {
  const [format, needsName] = r.pick(FORMATS);
  const names = ["phone", "tel", "mobile", "phone_number"];
  return needsName ? { text: r.fill(format), label: r.pick(names) } : { text: r.fill(format), labels: names };
}

function pem(/** @type {Random} */ r) {
  const text = privateKey(r);
  const lines = text
    .split(/\\*r?\\+n|\r?\n| (?=[A-Za-z0-9+/=]{9})| (?=-----END)/)
    .filter((line) => !line.startsWith("-----") && line.length > 12);
  return { text, secrets: lines, labels: ["private_key", "key", "PRIVATE_KEY", "tls.key", "GITHUB_APP_KEY"] };
}

function password(/** @type {Random} */ r) {
  const middle = r.alnum(r.int(5, 14));
  return r.pick([
    `${middle}${r.pick(["!", "#", "?", "$", "", "%"])}${r.digits(2)}`,
    `${r.pick(["$", "%", "*", "{", "<", "["])}${middle}${r.digits(1)}`,
    `${middle}${r.pick(["@", "!", "^", "*", "~"])}${r.alnum(4)}`,
    `hash(${middle}`,
    `${middle}&${r.alnum(3)}`,
    r.of("abcdefghijklmnopqrstuvwxyz", r.int(6, 10)),
  ]);
}

function authorized(/** @type {Random} */ r, /** @type {string} */ scheme, /** @type {string} */ token) {
  const before = r.pick([
    "Authorization: ",
    "authorization=",
    '"Authorization":"',
    "-H 'Authorization: ",
    "proxy-authorization: ",
    "sent ",
  ]);
  const after = before.endsWith('"') ? '"' : before.startsWith("-H") ? "'" : r.pick(["", " to upstream", "\n"]);
  return { text: `${before}${scheme}${token}${after}`, secrets: [token] };
}

function header(/** @type {Random} */ r) {
  const token = r.pick([r.alnum(32), r.hex(40), r.base64url(32)]);
  const [name, scheme] = r.pick([
    ["Authorization", "Token "],
    ["Authorization", "ApiKey "],
    ["Authorization", `Digest username="joe", realm="x", nonce="n", response="`],
    ["X-Api-Key", ""],
    ["X-Auth-Token", ""],
    ["Private-Token", ""],
    ["Ocp-Apim-Subscription-Key", ""],
    ["x-amz-security-token", ""],
    ["X-Vault-Token", ""],
    ["X-Goog-Api-Key", ""],
    [
      "Authorization",
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20250101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=`,
    ],
    ["X-CSRF-Token", ""],
    ["Proxy-Authorization", "Negotiate "],
  ]);
  const quote = scheme.endsWith('"') ? '"' : "";
  return {
    text: r.pick([
      `${name}: ${scheme}${token}${quote}`,
      `> ${name}: ${scheme}${token}${quote}\n> Accept: */*`,
      `headers={${name}=[${scheme}${token}${quote}], Accept=[*/*]}`,
    ]),
    secrets: [token],
  };
}

function cookie(/** @type {Random} */ r) {
  const value = r.pick([r.alnum(32), r.hex(40), r.base64url(30), `s%3A${r.alnum(24)}.${r.alnum(20)}`]);
  const name = r.pick([
    "session",
    "sessionid",
    "JSESSIONID",
    "PHPSESSID",
    "connect.sid",
    "auth_token",
    "_session_id",
    "ASP.NET_SessionId",
    "laravel_session",
    "remember_token",
  ]);
  return {
    text: r.pick([
      `Cookie: theme=dark; ${name}=${value}; lang=en`,
      `Set-Cookie: ${name}=${value}; Path=/; HttpOnly; Secure`,
      `cookie="${name}=${value}"`,
      `{"headers":{"cookie":"${name}=${value}; _ga=1"}}`,
      `> cookie: ${name}=${value}`,
    ]),
    secrets: [value],
  };
}

function urlCredentials(/** @type {Random} */ r) {
  const word = r.pick([
    r.alnum(r.int(6, 20)),
    `${r.alnum(5)}!${r.alnum(4)}`,
    `${r.alnum(4)}%40${r.alnum(4)}`,
    `${r.alnum(4)}#${r.alnum(3)}`,
  ]);
  const scheme = r.pick([
    "postgres",
    "mysql",
    "mongodb+srv",
    "redis",
    "amqp",
    "https",
    "ftp",
    "smtp",
    "jdbc:postgresql",
    "clickhouse",
  ]);
  const host = r.pick([
    "db.example.com:5432/app",
    "10.0.0.5:6379/0",
    "cluster0.abcde.mongodb.net/test?retryWrites=true",
    "mq",
  ]);
  return {
    text: `${scheme}://${r.pick(["app", "root", "svc-user", ""])}:${word}@${host}`,
    secrets: [word],
    labels: ["url", "DATABASE_URL", "dsn"],
  };
}

function urlSecret(/** @type {Random} */ r) {
  const word = r.pick([r.alnum(32), r.hex(40), r.base64url(32)]);
  const name = r.pick([
    "token",
    "access_token",
    "api_key",
    "apikey",
    "key",
    "sig",
    "signature",
    "X-Amz-Signature",
    "X-Amz-Security-Token",
    "code",
    "client_secret",
    "auth",
    "password",
    "secret",
    "id_token",
    "se=2025-01-01&sig",
    "hmac",
  ]);
  const url = r.pick([
    "https://api.example.com/v1/items",
    "https://acc.blob.core.windows.net/c/b.txt",
    "/callback",
    "https://maps.example.com/json",
  ]);
  return {
    text: r.pick([
      `GET ${url}?a=1&${name}=${word}&b=2 200`,
      `${url}?${name}=${word}`,
      `"${url}?${name}=${word}#top"`,
      `redirect to ${url}#${name}=${word}&state=xyz`,
    ]),
    secrets: [word],
  };
}

function connectionString(/** @type {Random} */ r) {
  const key = Buffer.from(r.alnum(64)).toString("base64").slice(0, 86);
  const word = `${r.alnum(8)}${r.pick(["!", "#", "$", ""])}${r.alnum(4)}`;
  return r.pick([
    {
      text: `DefaultEndpointsProtocol=https;AccountName=acmestore;AccountKey=${key}==;EndpointSuffix=core.windows.net`,
      secrets: [key],
    },
    {
      text: `Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${key.slice(0, 43)}=`,
      secrets: [key.slice(0, 43)],
    },
    {
      text: `Server=tcp:acme.database.windows.net,1433;Database=shop;User ID=app;Password=${word};Encrypt=True;`,
      secrets: [word],
    },
    { text: `Data Source=db1;Initial Catalog=shop;User Id=app;Pwd=${word};`, secrets: [word] },
    { text: `host=db port=5432 user=app password=${word} dbname=shop sslmode=require`, secrets: [word] },
    {
      text: `HostName=acme.azure-devices.net;DeviceId=d1;SharedAccessKey=${key.slice(0, 43)}=`,
      secrets: [key.slice(0, 43)],
    },
    { text: `jdbc:sqlserver://db:1433;databaseName=shop;user=app;password=${word};encrypt=true`, secrets: [word] },
    {
      text: `InstrumentationKey=${uuid(r)};IngestionEndpoint=https://westeurope-5.in.applicationinsights.azure.com/`,
      secrets: [],
    },
    {
      text: `SharedAccessSignature sr=acme&sig=${encodeURIComponent(`${key.slice(0, 42)}=`)}&se=1700000000&skn=root`,
      secrets: [key.slice(0, 42)],
    },
  ]);
}
