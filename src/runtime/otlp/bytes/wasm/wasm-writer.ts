/**
 * Writes a WebAssembly module of one function, `run`, whose parameters, variables and result are 32-bit integers. It works on the
 * memory that it is given as `memory` of the import "".
 *
 * Code is made of plain functions that read like it: `set(p, add(p, 1))`. Behind each is what writes the bytes, given the
 * labels around it, for a jump is written as the number of blocks that it leaves.
 */
export type WasmCode = (out: number[], labels: string[]) => void;

/** A number stands for itself, and a variable for what it holds. */
type Operand = number | Variable | WasmCode;

/** Addresses in loads and stores are a value plus a fixed offset. */
export const load = (address: Operand, offset = 0): WasmCode => memoryAccess(0x28, offset, address);
export const loadByte = (address: Operand, offset = 0): WasmCode => memoryAccess(0x2d, offset, address);
export const loadTwo = (address: Operand, offset = 0): WasmCode => memoryAccess(0x2f, offset, address);
export const store = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x36, offset, address, value);
/** Only the lowest byte of the value, or the lowest two. */
export const storeByte = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x3a, offset, address, value);
export const storeTwo = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x3b, offset, address, value);
/** Eight bytes are compared or stored as they are loaded: there are no variables for them. */
export const loadEight = (address: Operand, offset = 0): WasmCode => memoryAccess(0x29, offset, address);
export const storeEight = (address: Operand, offset: number, value: WasmCode): WasmCode =>
  memoryAccess(0x37, offset, address, value);
export const eightDiffer: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x52);

export const isZero = operation(0x45);
export const equal = operation(0x46);
export const differ = operation(0x47);
/** The other comparisons and `shiftRight` take all numbers for unsigned ones. */
export const less = operation(0x49);
export const greater = operation(0x4b);
export const atLeast = operation(0x4f);
export const add = operation(0x6a);
export const subtract = operation(0x6b);
export const multiply = operation(0x6c);
export const and = operation(0x71);
export const or = operation(0x72);
export const xor = operation(0x73);
export const shiftLeft = operation(0x74);
export const shiftRight = operation(0x76);

/** Copies so many bytes, which may overlap with where they go. */
export const move = (to: Operand, from: Operand, size: Operand): WasmCode => {
  return (out, labels) => {
    for (const operand of [to, from, size]) write(operand, out, labels);
    out.push(0xfc, 10, 0, 0);
  };
};

/** One of two values. Both are computed. */
export const choose = (condition: Operand, whenTrue: Operand, whenFalse: Operand): WasmCode =>
  operation(0x1b)(whenTrue, whenFalse, condition);

export const set = (variable: Variable, value: Operand): WasmCode => {
  return (out, labels) => {
    write(value, out, labels);
    out.push(0x21, ...unsigned(variable.index));
  };
};

export const when = (condition: Operand, ...body: readonly WasmCode[]): WasmCode => {
  return (out, labels) => {
    write(condition, out, labels);
    writeBlock(0x04, "", body, out, labels);
  };
};

/** A jump to its label goes to its beginning; at its end it is left. */
export const loop = (label: string, ...body: readonly WasmCode[]): WasmCode => {
  return (out, labels) => writeBlock(0x03, label, body, out, labels);
};

/** A jump to its label goes to its end. */
export const until = (label: string, ...body: readonly WasmCode[]): WasmCode => {
  return (out, labels) => writeBlock(0x02, label, body, out, labels);
};

export const jump = (label: string): WasmCode => {
  return (out, labels) => out.push(0x0c, ...distance(label, labels));
};

export const jumpIf = (label: string, condition: Operand): WasmCode => {
  return (out, labels) => {
    write(condition, out, labels);
    out.push(0x0d, ...distance(label, labels));
  };
};

/** Goes to the label that the value is the number of; to the last one when there is none. */
export const jumpTo = (value: Operand, targets: readonly string[]): WasmCode => {
  return (out, labels) => {
    write(value, out, labels);
    out.push(0x0e, ...unsigned(targets.length - 1), ...targets.flatMap((target) => distance(target, labels)));
  };
};

/**
 * Code that jumps to one of the labels, and what is at each of them, one behind the other: at the end of a part the next one goes on
 * unless it jumps away.
 */
export const cases = (dispatch: WasmCode, ...parts: readonly (readonly [label: string, part: WasmCode])[]): WasmCode =>
  parts.reduce((before, [label, part]) => steps(until(label, before), part), dispatch);

/** Ends the function with this result. */
export const give = operation(0x0f);

/** Several steps as one. */
export const steps = (...body: readonly WasmCode[]): WasmCode => {
  return (out, labels) => {
    for (const step of body) step(out, labels);
  };
};

/** The parameters of a function and, behind them, its other variables, which begin as 0. */
export class Variable {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

/** The module. Its function must not come to its end: it gives its result before that. */
export function wasmModule(parameters: number, variables: number, body: WasmCode): Uint8Array {
  const code = [...list([[...unsigned(variables - parameters), I32]])];
  body(code, []);
  code.push(UNREACHABLE, END);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [[FUNCTION_TYPE, ...list(new Array(parameters).fill([I32])), ...list([[I32]])]]),
    ...section(2, [[...text(""), ...text("memory"), MEMORY, ANY_SIZE, 0]]),
    ...section(3, [[0]]),
    ...section(7, [[...text("run"), FUNCTION, 0]]),
    ...section(10, [[...unsigned(code.length), ...code]]),
  ]);
}

const I32 = 0x7f;
const NO_RESULT = 0x40;
const FUNCTION_TYPE = 0x60;
const FUNCTION = 0;
const MEMORY = 2;
const ANY_SIZE = 0;
const UNREACHABLE = 0x00;
const END = 0x0b;
/** Any address will do. */
const UNALIGNED = 0;

function operation(code: number) {
  return (...operands: readonly Operand[]): WasmCode =>
    (out, labels) => {
      for (const operand of operands) write(operand, out, labels);
      out.push(code);
    };
}

function memoryAccess(code: number, offset: number, ...operands: readonly Operand[]): WasmCode {
  return (out, labels) => {
    for (const operand of operands) write(operand, out, labels);
    out.push(code, UNALIGNED, ...unsigned(offset));
  };
}

function write(operand: Operand, out: number[], labels: string[]): void {
  if (typeof operand === "number") out.push(0x41, ...signed(operand | 0));
  else if (operand instanceof Variable) out.push(0x20, ...unsigned(operand.index));
  else operand(out, labels);
}

function writeBlock(code: number, label: string, body: readonly WasmCode[], out: number[], labels: string[]): void {
  out.push(code, NO_RESULT);
  labels.push(label);
  for (const step of body) step(out, labels);
  labels.pop();
  out.push(END);
}

/** How many blocks there are between a jump and the one with the label. */
function distance(label: string, labels: readonly string[]): number[] {
  const at = labels.lastIndexOf(label);
  if (at === -1) throw new RangeError(`no block is called ${label}`);
  return unsigned(labels.length - 1 - at);
}

function section(id: number, items: readonly (readonly number[])[]): readonly number[] {
  const content = list(items);
  return [id, ...unsigned(content.length), ...content];
}

function list(items: readonly (readonly number[])[]): readonly number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(name: string): readonly number[] {
  return [...unsigned(name.length), ...Buffer.from(name)];
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  if (value >= -64 && value < 64) return [value & 127];
  return [(value & 127) | 128, ...signed(value >> 7)];
}
