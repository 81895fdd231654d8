/**
 * Contexts of values in telemetry. Each gives the line, and how the value is written in it.
 *
 * @typedef {import("../random.js").Random} Random
 * @typedef {{ name: string, needsLabel?: boolean, put: (r: Random, text: string, label: string) => string, write?: (text: string) => string }} Context
 */

const inJson = (/** @type {string} */ text) => JSON.stringify(text).slice(1, -1);
const twice = (/** @type {string} */ text) => inJson(inJson(text));
const key = (/** @type {string} */ label) => label.replace(/[^\p{L}\p{N}.-]+/gu, "_");
const time = (/** @type {Random} */ r) =>
  `2025-0${r.int(1, 9)}-1${r.int(0, 9)}T0${r.int(0, 9)}:${r.int(10, 59)}:${r.int(10, 59)}Z`;

/** Contexts for a value with a name. @type {Context[]} */
export const LABELLED = [
  { name: "key=value", put: (r, text, label) => `${time(r)} level=info ${key(label)}=${text} rows=${r.int(1, 99)}` },
  { name: "key: value", put: (_, text, label) => `${label}: ${text}` },
  { name: "quoted", put: (_, text, label) => `msg="update" ${key(label)}="${text}" ok=true` },
  {
    name: "JSON",
    write: inJson,
    put: (r, text, label) => `{"id":${r.int(1, 999)},"${key(label)}":"${inJson(text)}","ok":true}`,
  },
  {
    name: "JSON with blanks",
    write: inJson,
    put: (r, text, label) => `{\n  "id": ${r.int(1, 999)},\n  "${key(label)}": "${inJson(text)}"\n}`,
  },
  {
    name: "JSON in a string",
    write: twice,
    put: (_, text, label) => `payload="{\\"a\\":1,\\"${key(label)}\\":\\"${twice(text)}\\",\\"b\\":2}"`,
  },
  {
    name: "environment",
    put: (r, text, label) => `PATH=/usr/bin\n${key(label).toUpperCase()}=${text}\nPORT=${r.int(1000, 9999)}`,
  },
  { name: "YAML", put: (r, text, label) => `spec:\n  replicas: ${r.int(1, 9)}\n  ${key(label)}: ${text}\n` },
  { name: "SQL", put: (_, text, label) => `UPDATE t SET ${key(label)} = '${text}' WHERE id = 7` },
  {
    name: "URL query",
    write: encodeURIComponent,
    put: (r, text, label) =>
      `GET /v1/x?page=${r.int(1, 9)}&${key(label)}=${encodeURIComponent(text)}&sort=asc HTTP/1.1`,
  },
  { name: "Python", put: (_, text, label) => `{'id': 3, '${key(label)}': '${text}', 'ok': True}` },
  {
    name: "stack trace",
    put: (r, text, label) => `ValueError: bad ${label}: ${text}\n  at com.acme.Form.check(Form.java:${r.int(10, 99)})`,
  },
];

/** Contexts for a value that is recognisable by itself. @type {Context[]} */
export const PLAIN = [
  {
    name: "sentence",
    put: (r, text) =>
      `${r.pick(["lookup of", "request from", "could not reach", "saved", "user entered"])} ${text} ${r.pick(["failed", "was ok", "after 3 tries", "in 12 ms"])}`,
  },
  { name: "end of sentence", put: (_, text) => `The value was ${text}.` },
  { name: "brackets", put: (r, text) => `${time(r)} [worker-${r.int(1, 9)}] done (${text})` },
  { name: "list", write: inJson, put: (_, text) => `["${inJson(text)}","b"]` },
  { name: "emphasis", put: (_, text) => `changed *${text}* today` },
  { name: "CSV", put: (r, text) => `${r.int(1, 99)},${text},active` },
  { name: "angle brackets", put: (_, text) => `<field>${text}</field>` },
  {
    name: "URL path",
    write: encodeURIComponent,
    put: (_, text) => `DELETE https://api.example.com/v1/things/${encodeURIComponent(text)}/edit 204`,
  },
  {
    name: "base64",
    write: (text) => Buffer.from(JSON.stringify({ user: 1, data: text })).toString("base64"),
    put: (_, text) => `body ${Buffer.from(JSON.stringify({ user: 1, data: text })).toString("base64")} received`,
  },
  { name: "alone", put: (_, text) => text },
];
