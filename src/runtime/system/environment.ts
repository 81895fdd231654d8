type Variables = Readonly<Record<string, string | undefined>>;

let variables: Variables = {};

/**
 * Sets the environment variables. Only the program calls this, because a library must not read the environment itself.
 */
export function useEnvironment(given: Variables): void {
  variables = given;
}

/** A variable of the given environment; undefined when it is missing or empty. */
export function environmentVariable(name: string): string | undefined {
  return variables[name] || undefined;
}
