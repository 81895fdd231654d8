import { ALGORITHMS, parseToken } from "../../../src/extensions/auth/oidc/token.js";
import { readGreeting } from "../../../src/runtime/brokers/mysql/handshake.js";
import { MysqlProtocolError, PacketReader, packetsOf } from "../../../src/runtime/brokers/mysql/packets.js";
import { MysqlServerError, ResultReader } from "../../../src/runtime/brokers/mysql/result-reader.js";
import { isAuthError } from "../../../src/runtime/contract/door.js";
import { parseXml, writeXml } from "../../../src/runtime/ottl/functions/xml/xml-tree.js";
import { compileXPath } from "../../../src/runtime/ottl/functions/xml/xpath.js";
import { isOttlError } from "../../../src/runtime/ottl/values/error.js";
import { recordWork } from "../../../src/runtime/ottl/values/limits.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { mutateBytes } from "../mutate-bytes.js";
import { textMutator } from "../mutate-text.js";
import type { Random } from "../random.js";

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = (head: object, claims: object) => Buffer.from(`${part(head)}.${part(claims)}.c2lnbmF0dXJl`);
const CLAIMS = { iss: "https://login.example", sub: "ann", aud: ["a", "b"], exp: 1.7e9, nbf: 0 };

const tokenTarget: FuzzTarget = {
  name: "JSON Web Tokens",
  share: 2,
  seeds: [
    token({ alg: "RS256", kid: "a", typ: "JWT" }, CLAIMS),
    token({ alg: "none" }, CLAIMS),
    token({ alg: "HS256", kid: 1 }, {}),
    token({ alg: "Ed25519", crit: ["b64"], b64: false }, []),
  ],
  mutate: textMutator([
    ".",
    "..",
    "=",
    part({ alg: "ES256" }),
    part({ alg: "none" }),
    part([]),
    "eyJ",
    "e30",
    "bnVsbA",
  ]),
  run: runToken,
};

/** A token is parsed only if Node.js reads the same head and claims from it, and its algorithm has a public key. */
function runToken(input: Buffer): string {
  const text = input.toString("latin1");
  try {
    const { claims, keyId } = parseToken(text);
    const [head, body] = text.split(".", 2).map((each) => JSON.parse(Buffer.from(each, "base64url").toString("utf8")));
    assert(ALGORITHMS.includes(head.alg) && head.crit === undefined, "an algorithm that is not accepted");
    assert(JSON.stringify(claims) === JSON.stringify(body) && keyId === head.kid, "other claims than the token has");
    return `a token of ${head.alg}`;
  } catch (error) {
    assert(isAuthError(error), `threw ${error}`);
    return shapeOf((error as Error).message);
  }
}

const lengthText = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
const column = (name: string) =>
  Buffer.concat([
    ...["def", "db", "t", "t", name, name].map(lengthText),
    Buffer.of(12, 45, 0, 9, 0, 0, 0, 253, 0, 0, 0, 0, 0),
  ]);
const ANSWER = [
  Buffer.of(2),
  column("a"),
  column("b"),
  Buffer.of(0xfe, 0, 0, 2, 0),
  Buffer.concat([lengthText("x"), Buffer.of(0xfb)]),
];
const GREETING = Buffer.concat([
  ...[Buffer.of(10), Buffer.from("8.4.2\0"), Buffer.alloc(4), Buffer.from("12345678\0")],
  ...[
    Buffer.of(0xff, 0xf7, 45, 2, 0, 0xff, 0xdf, 21),
    Buffer.alloc(10),
    Buffer.from("abcdefghijkl\0mysql_native_password\0"),
  ],
]);
function packets(...payloads: readonly Buffer[]): Buffer {
  let sequence = 0;
  return Buffer.concat(
    payloads.map((payload) => {
      const { bytes, next } = packetsOf(payload, sequence);
      sequence = next;
      return bytes;
    }),
  );
}

const mysqlTarget: FuzzTarget = {
  name: "answers of MySQL",
  share: 3,
  seeds: [
    packets(...ANSWER, Buffer.of(0xfe, 0, 0, 2, 0)),
    packets(...ANSWER, Buffer.of(0xfe, 0, 0, 10, 0), Buffer.of(0, 1, 0, 2, 0, 0, 0)),
    packets(Buffer.concat([Buffer.of(0xff, 0x15, 4), Buffer.from("#28000Access denied")])),
    packets(GREETING),
  ],
  mutate: mutateBytes,
  run: runAnswer,
};

/** What a server sends is read alike however it arrives. It is a result, an error of the server, or no MySQL. */
function runAnswer(input: Buffer, random: Random): string {
  const whole = outcomeOf([input]);
  const cut = random.below(input.length + 1);
  assert(outcomeOf([input.subarray(0, cut), input.subarray(cut)]) === whole, "it matters in which pieces it arrives");
  return `${whole} ${attempt(() => magnitude(readGreeting(input.subarray(4)).version.length).toString())}`;
}

function outcomeOf(chunks: readonly Buffer[]): string {
  const reader = new ResultReader(1000);
  let found = "incomplete";
  const packetReader = new PacketReader(1000, (payload) => {
    const result = reader.take(payload);
    if (result === undefined) return;
    const { columns, rows } = result;
    assert(
      rows.every((row) => row.length === columns.length),
      "a row of another length than the columns",
    );
    found = `${columns.length} columns, ${rows.length} rows`;
  });
  return attempt(() => {
    for (const chunk of chunks) packetReader.push(chunk);
    return found;
  });
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch (error) {
    assert(error instanceof MysqlProtocolError || error instanceof MysqlServerError, `threw ${error}`);
    return shapeOf((error as Error).message);
  }
}

const XML = '<a x="1" y=\'&lt;&#x41;\'><!-- c --><b>t&amp;t</b><![CDATA[<z>]]><?p i?><b x="2"><c/></b>tail</a>';
const xmlTarget: FuzzTarget = {
  name: "XML and XPath",
  share: 4,
  seeds: [
    "//b[@x='2']/c",
    "/a/b[1]/text() | //@x",
    "//*[not(self::b) and position() < last()]/..",
    "//b[following-sibling::b]",
  ].map((path) => Buffer.from(`${path}\n${XML}`)),
  mutate: textMutator([
    ..."/@*[]()|.<>='",
    "//",
    "..",
    "::",
    "&amp;",
    "<b>",
    "</b>",
    "<c/>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "text()",
    "last()",
  ]),
  run: runXml,
};

/** What was read is written as XML that is read as the same; a path finds each node once. */
function runXml(input: Buffer): string {
  const [path = "", ...rest] = input.toString("utf8").split("\n");
  recordWork.spent = 0;
  try {
    const document = parseXml(rest.join("\n"));
    const written = writeXml(document);
    assert(writeXml(parseXml(written)) === written, "it is written otherwise the second time");
    const found = compileXPath(path)(document);
    assert(new Set(found).size === found.length, "a node is found twice");
    return `${magnitude(written.length)} ${magnitude(found.length)} ${found[0]?.type}`;
  } catch (error) {
    assert(isOttlError(error), `threw ${error}`);
    return shapeOf((error as Error).message);
  }
}

/** Protocols and languages of others that have readers of their own. */
export const protocolTargets: readonly FuzzTarget[] = [tokenTarget, mysqlTarget, xmlTarget];
