/**
 * Yields the lines of a text that arrives in pieces, without their newlines, and reads no faster than they are taken.
 * `tooLong` creates the error to throw when a line grows beyond `longest` characters.
 */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  maxLength = Number.POSITIVE_INFINITY,
  createError: () => Error = () => new RangeError("a line is too long"),
): AsyncGenerator<string> {
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = "", ...more] = chunk.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > maxLength) throw createError();
    if (more.length === 0) continue;
    yield pieces.join("");
    yield* more.slice(0, -1);
    pieces = [more.at(-1)!];
    length = pieces[0]!.length;
  }
  if (length > 0) yield pieces.join("");
}
