/** Makes a value when it is first needed, and then returns the same one. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
