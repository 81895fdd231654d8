import { useEffect, useState } from "preact/hooks";

/** Something that changes, and tells whoever listens. */
export class Value<T> {
  private current: T;
  private readonly listeners = new Set<(value: T) => void>();

  constructor(initial: T) {
    this.current = initial;
  }

  get(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  /** Gives what ends it. */
  listen(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

/** The value as it is now; the component is drawn again when it changes. */
export function useValue<T>(value: Value<T>): T {
  const [current, setCurrent] = useState(value.get());
  useEffect(() => {
    setCurrent(() => value.get());
    return value.listen((next) => setCurrent(() => next));
  }, [value]);
  return current;
}
