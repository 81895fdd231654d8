import type { MathOperator } from "./arithmetic.js";
import type { Comparison } from "./compare.js";
import type { OttlValue } from "./value.js";

/** A part of a condition or statement, written in [at, end) of its text. */
export type Node =
  | LiteralNode
  | PathNode
  | CallNode
  | NameNode
  | ListNode
  | MapNode
  | MathNode
  | NegateNode
  | CompareNode
  | LogicNode
  | NotNode;

interface Placed {
  readonly at: number;
  readonly end: number;
}

export interface LiteralNode extends Placed {
  readonly kind: "literal";
  readonly value: OttlValue;
}

/** `resource.attributes["a"][0]`: names, each with the keys behind it. */
export interface PathNode extends Placed {
  readonly kind: "path";
  readonly segments: readonly Segment[];
}

export interface Segment extends Placed {
  readonly name: string;
  readonly keys: readonly Node[];
}

export interface CallNode extends Placed {
  readonly kind: "call";
  readonly name: string;
  readonly arguments: readonly Argument[];
  readonly keys: readonly Node[];
}

export interface Argument extends Placed {
  readonly name: string | undefined;
  readonly value: Node;
}

/** A capitalised name without brackets: an enum, or a converter that is handed to a function. */
export interface NameNode extends Placed {
  readonly kind: "name";
  readonly name: string;
}

export interface ListNode extends Placed {
  readonly kind: "list";
  readonly items: readonly Node[];
}

export interface MapNode extends Placed {
  readonly kind: "map";
  readonly entries: readonly (readonly [key: string, value: Node])[];
}

export interface MathNode extends Placed {
  readonly kind: "math";
  readonly operator: MathOperator;
  readonly left: Node;
  readonly right: Node;
}

export interface NegateNode extends Placed {
  readonly kind: "negate";
  readonly operand: Node;
}

export interface CompareNode extends Placed {
  readonly kind: "compare";
  readonly operator: Comparison;
  readonly left: Node;
  readonly right: Node;
}

export interface LogicNode extends Placed {
  readonly kind: "and" | "or";
  readonly parts: readonly Node[];
}

export interface NotNode extends Placed {
  readonly kind: "not";
  readonly operand: Node;
}

export interface StatementTree {
  readonly editor: CallNode;
  readonly where: Node | undefined;
}
