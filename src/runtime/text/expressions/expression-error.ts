/** Why an expression is invalid (with the place in its text), or why it has no value for this data (without). */
export class ExpressionError extends Error {
  readonly at: number | undefined;

  constructor(message: string, at?: number) {
    super(at === undefined ? message : `${message}, at character ${at + 1}`);
    this.at = at;
  }
}
