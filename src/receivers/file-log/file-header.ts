import type { BuiltInReceiverContext } from "#contract/built-in";
import { OperatorChain } from "#logs";
import { LogEntry, type LogMap, type TextEncoding } from "#logs/entries";
import { withoutEnd } from "#text";
import { compilePattern, type Pattern } from "#text/patterns";
import type { FileLogConfig } from "./config.js";
import type { FileContent } from "./content.js";

/** The header of one file. */
interface HeaderOfFile {
  /** Where the records begin. */
  readonly length: number;
  readonly attributes: LogMap;
}

/** Reads the first lines of files that match a pattern. Operators make attributes of them, which all records get. */
export class FileHeader {
  private readonly pattern: Pattern;
  private readonly encoding: TextEncoding;
  private readonly chain: OperatorChain;
  private attributes: LogMap = {};

  constructor(
    { pattern, metadata_operators }: NonNullable<FileLogConfig["header"]>,
    encoding: TextEncoding,
    context: BuiltInReceiverContext,
  ) {
    this.pattern = compilePattern(pattern);
    this.encoding = encoding;
    this.chain = new OperatorChain(metadata_operators, context, ({ attributes }) => {
      Object.assign(this.attributes, attributes);
    });
  }

  /** Returns undefined while no line of the file is known to be the first record. */
  async read(content: FileContent): Promise<HeaderOfFile | undefined> {
    const { encoding } = this;
    const window = Buffer.allocUnsafe(MAX_HEADER_BYTES);
    const size = await content.read(window, window.length, 0);
    const bytes = window.subarray(0, encoding.lastLineEnd(window.subarray(0, size)));
    this.attributes = {};
    let at = 0;
    while (at < bytes.length) {
      const end = encoding.lineEnd(bytes, at);
      const line = withoutEnd(encoding.decode(bytes.subarray(at, end)).replace(/^[\ufeff\r\n]+/, ""), "\r\n");
      if (!this.pattern.test(line)) return { length: at, attributes: this.attributes };
      this.chain.process(new LogEntry(line, {}, {}, undefined));
      at = end;
    }
    return size < window.length ? undefined : { length: at, attributes: this.attributes };
  }
}

/** Lines behind this are records, even if they match. */
const MAX_HEADER_BYTES = 1024 * 1024;
