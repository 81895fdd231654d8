import type { Client } from "pg";
import type { PostgresClients } from "#brokers/postgres";
import type { Row } from "./batch-rows.js";

/** Encodes rows in the text format of COPY. */
export function copyData(rows: readonly Row[]): Buffer {
  let text = "";
  for (const { cells } of rows) {
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      if (i > 0) text += "\t";
      text += cell === null ? "\\N" : SPECIAL.test(cell) ? cell.replace(ALL_SPECIAL, escaped) : cell;
    }
    text += "\n";
  }
  return Buffer.from(text);
}

const SPECIAL = /[\\\t\n\r]/;
const ALL_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function escaped(character: string): string {
  return ESCAPES[character]!;
}

interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * Runs a `COPY ... FROM STDIN` with this data. The client library only supports it by answering the server's request
 * for data.
 */
export function copyIn(pg: PostgresClients, client: Client, text: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query(text) as InstanceType<PostgresClients["Query"]> & {
      handleCopyInResponse(connection: CopyConnection): void;
    };
    query.handleCopyInResponse = (connection) => {
      connection.sendCopyFromChunk(data);
      connection.endCopyFrom();
    };
    query.on("end", () => resolve());
    query.on("error", reject);
    client.query(query);
  });
}
