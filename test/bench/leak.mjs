/** Loaded into an agent with --import: keeps a megabyte more every second, as buffers and as objects. */
const kept = [];
setInterval(
  () =>
    kept.push(
      Buffer.alloc(50 * 1024, 1),
      Array.from({ length: 6 * 1024 }, (_, i) => i),
    ),
  100,
).unref();
