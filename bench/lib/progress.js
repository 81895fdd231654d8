/** A line on the terminal that says what is being measured; silent where there is no terminal. */
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
