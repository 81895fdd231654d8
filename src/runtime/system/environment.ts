type Variables = Readonly<Record<string, string | undefined>>;

let variables: Variables = {};

/** Whoever runs the process hands its environment in: a library does not look into it by itself. */
export function useEnvironment(given: Variables): void {
  variables = given;
}

/** A variable of the environment that was handed in; undefined when it is not there, or empty. */
export function environmentVariable(name: string): string | undefined {
  return variables[name] || undefined;
}
