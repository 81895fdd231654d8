import { useEffect, useState } from "preact/hooks";

/** A value with listeners for its changes. */
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

  /** Returns a function that removes the listener. */
  listen(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

/** The current value; the component is rendered again when it changes. */
export function useValue<T>(value: Value<T>): T {
  const [current, setCurrent] = useState(value.get());
  useEffect(() => {
    setCurrent(() => value.get());
    return value.listen((next) => setCurrent(() => next));
  }, [value]);
  return current;
}
