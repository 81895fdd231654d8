/** A line on the terminal that shows what is being measured; silent without a terminal. */
export function makeProgress(stream = process.stderr) {
  return {
    say(/** @type {string} */ text) {
      if (stream.isTTY) stream.write(`\r\x1b[2K${text.slice(0, (stream.columns ?? 80) - 1)}`);
    },
    clear() {
      if (stream.isTTY) stream.write("\r\x1b[2K");
    },
  };
}
