import { once } from "node:events";
import net from "node:net";

/**
 * A server that speaks as much of MySQL's protocol as a client needs to run statements, and always gives the same
 * answers; and a bare client that reads them all.
 *
 * @typedef {{ columns: readonly string[], rows: readonly (readonly (string | number)[])[] }} Answer
 */

/** The answers are by what their statements contain; other statements give no rows. */
export async function startMysqlAnswers(/** @type {Readonly<Record<string, Answer>>} */ answers) {
  const known = Object.entries(answers).map(([part, answer]) => /** @type {const} */ ([part, resultOf(answer)]));
  const server = net.createServer((socket) => {
    let isIn = false;
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        const text = chunk.toString("latin1");
        if (!isIn) socket.write(packet(OK, 2));
        else if (chunk[4] === 3) socket.write(known.find(([part]) => text.includes(part))?.[1] ?? NO_ROWS);
        isIn = true;
      });
    socket.write(packet(GREETING, 0));
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const client = net.connect(port, "127.0.0.1").unref();
  await once(client, "data");
  client.write(packet(Buffer.alloc(40), 1));
  await once(client, "data");
  const ask = async () => {
    for (const [part, bytes] of known) {
      client.write(packet(Buffer.from(`\x03${part}`), 0));
      for (let size = 0; size < bytes.length; ) size += (await once(client, "data"))[0].length;
    }
  };
  return { port, ask, stop: () => void server.close() };
}

const OK = Buffer.of(0, 0, 0, 2, 0, 0, 0);
const END = Buffer.of(0xfe, 0, 0, 2, 0);
const GREETING = Buffer.concat([
  ...[Buffer.from("\n8.4.0\0"), Buffer.alloc(13), Buffer.of(0x0d, 0x82, 45, 2, 0, 0x0a, 0, 21), Buffer.alloc(23)],
  Buffer.from("mysql_native_password\0"),
]);

function packet(/** @type {Buffer} */ payload, /** @type {number} */ number) {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = number & 0xff;
  return Buffer.concat([header, payload]);
}

function resultOf(/** @type {Answer} */ { columns, rows }) {
  const names = columns.map((name) => Buffer.concat([...["def", "", "", "", name, name].map(text), COLUMN]));
  const values = rows.map((row) => Buffer.concat(row.map(text)));
  return Buffer.concat(
    [Buffer.of(columns.length), ...names, END, ...values, END].map((each, i) => packet(each, i + 1)),
  );
}

/** A column of text. */
const COLUMN = Buffer.of(12, 45, 0, 0, 0, 0, 0, 253, 0, 0, 0, 0, 0);
const NO_ROWS = resultOf({ columns: ["v"], rows: [] });

function text(/** @type {string | number} */ value) {
  const bytes = Buffer.from(String(value));
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}
