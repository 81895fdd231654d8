import type { MathOperator } from "../values/arithmetic.js";
import type { Comparison } from "../values/compare.js";
import type { OttlValue } from "../values/value.js";

/** A part of a condition or statement, written in [at, end) of its text. */
export type AstNode =
  | LiteralNode
  | PathNode
  | CallNode
  | NameNode
  | ListLiteralNode
  | MapLiteralNode
  | MathNode
  | NegateNode
  | CompareNode
  | LogicNode
  | LambdaNode
  | NotNode;

interface TextRange {
  readonly at: number;
  readonly end: number;
}

export interface LiteralNode extends TextRange {
  readonly kind: "literal";
  readonly value: OttlValue;
}

/** `resource.attributes["a"][0]`: names, each followed by its keys. */
export interface PathNode extends TextRange {
  readonly kind: "path";
  readonly segments: readonly PathSegment[];
  /** Set if a plus sign precedes it: then it is a value and cannot be changed. */
  readonly isSigned?: true;
}

export interface PathSegment extends TextRange {
  readonly name: string;
  readonly keys: readonly AstNode[];
}

export interface CallNode extends TextRange {
  readonly kind: "call";
  readonly name: string;
  readonly arguments: readonly Argument[];
  readonly keys: readonly AstNode[];
}

export interface Argument extends TextRange {
  readonly name: string | undefined;
  readonly value: AstNode;
}

/** A capitalised name without parentheses: an enum, or a converter passed to a function. */
export interface NameNode extends TextRange {
  readonly kind: "name";
  readonly name: string;
}

interface ListLiteralNode extends TextRange {
  readonly kind: "list";
  readonly items: readonly AstNode[];
}

interface MapLiteralNode extends TextRange {
  readonly kind: "map";
  readonly entries: readonly (readonly [key: string, value: AstNode])[];
}

export interface MathNode extends TextRange {
  readonly kind: "math";
  readonly operator: MathOperator;
  readonly left: AstNode;
  readonly right: AstNode;
}

interface NegateNode extends TextRange {
  readonly kind: "negate";
  readonly operand: AstNode;
}

export interface CompareNode extends TextRange {
  readonly kind: "compare";
  readonly operator: Comparison;
  readonly left: AstNode;
  readonly right: AstNode;
}

interface LogicNode extends TextRange {
  readonly kind: "and" | "or";
  readonly operands: readonly AstNode[];
}

interface NotNode extends TextRange {
  readonly kind: "not";
  readonly operand: AstNode;
}

/** `(key, value) => value > 1`; a parameter named _ is ignored. */
export interface LambdaNode extends TextRange {
  readonly kind: "lambda";
  readonly parameters: readonly string[];
  readonly body: AstNode;
}

export interface StatementNode {
  readonly editor: CallNode;
  readonly where: AstNode | undefined;
}
