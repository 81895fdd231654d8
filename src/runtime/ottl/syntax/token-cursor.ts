import { OttlSyntaxError } from "../values/error.js";
import { type Token, tokenize } from "./lexer.js";

/** Moves over the tokens of a text and reports what was expected instead of something else. */
export class TokenCursor {
  private readonly tokens: readonly Token[];
  private readonly text: string;
  private position = 0;

  constructor(text: string) {
    this.text = text;
    this.tokens = tokenize(text);
  }

  takeWord(word: string): boolean {
    const token = this.peek();
    if (token.kind !== "word" || token.text !== word) return false;
    this.position++;
    return true;
  }

  /** The current token or a later one; beyond the end it is always the end token. */
  protected peek(ahead = 0): Token {
    return this.tokens[Math.min(this.position + ahead, this.tokens.length - 1)]!;
  }

  protected next(): Token {
    return this.tokens[this.position++]!;
  }

  protected previousEnd(): number {
    return this.tokens[this.position - 1]!.end;
  }

  protected isWord(word: string): boolean {
    return this.peek().kind === "word" && this.peek().text === word;
  }

  protected isSymbol(symbol: string): boolean {
    return this.peek().kind === "symbol" && this.peek().text === symbol;
  }

  protected takeSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.position++;
    return true;
  }

  protected expect(symbol: string): Token {
    if (!this.isSymbol(symbol)) throw this.unexpected(JSON.stringify(symbol));
    return this.next();
  }

  protected unexpected(expected: string, suggestion?: string): OttlSyntaxError {
    const { kind, at, end } = this.peek();
    const found = kind === "end" ? "the end" : this.text.slice(at, end);
    return new OttlSyntaxError(
      `expected ${expected}, found ${found}`,
      Math.min(at, Math.max(0, this.text.length - 1)),
      end - at,
      suggestion,
    );
  }
}
