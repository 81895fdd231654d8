/**
 * Writes a WebAssembly module with one function, `run`, whose parameters, variables and result are 32-bit integers. It
 * works on the imported `memory` of the module "".
 *
 * Code is composed of plain functions: `set(p, add(p, 1))`. Each returns a function that writes the bytes, given the
 * enclosing labels, because a jump is encoded as the number of blocks it leaves.
 */
export type WasmCode = (out: number[], labels: string[]) => void;

/** A number is a constant, and a variable stands for its value. */
type Operand = number | Variable | WasmCode;

/** The address of a load or store is a value plus a fixed offset. */
export const load = (address: Operand, offset = 0): WasmCode => memoryAccess(0x28, offset, address);
export const loadByte = (address: Operand, offset = 0): WasmCode => memoryAccess(0x2d, offset, address);
export const loadTwo = (address: Operand, offset = 0): WasmCode => memoryAccess(0x2f, offset, address);
export const store = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x36, offset, address, value);
/** Stores only the lowest byte of the value, or the lowest two. */
export const storeByte = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x3a, offset, address, value);
export const storeTwo = (address: Operand, offset: number, value: Operand): WasmCode =>
  memoryAccess(0x3b, offset, address, value);
/** Eight bytes can only be used right after loading: there are no variables for them. */
export const loadEight = (address: Operand, offset = 0): WasmCode => memoryAccess(0x29, offset, address);
export const storeEight = (address: Operand, offset: number, value: WasmCode): WasmCode =>
  memoryAccess(0x37, offset, address, value);
export const eightDiffer: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x52);
/** A constant of eight bytes. */
export const eight = (value: bigint): WasmCode => {
  return (out) => out.push(0x42, ...signedEight(BigInt.asIntN(64, value)));
};
export const addEight: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x7c);
export const multiplyEight: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x7e);
export const andEight: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x83);
export const orEight: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x84);
export const xorEight: (a: WasmCode, b: WasmCode) => WasmCode = operation(0x85);
export const shiftLeftEight: (value: WasmCode, bits: WasmCode) => WasmCode = operation(0x86);
export const shiftRightEight: (value: WasmCode, bits: WasmCode) => WasmCode = operation(0x88);
/** The lower four of eight bytes, and eight bytes from four. */
export const lowerFour: (value: WasmCode) => WasmCode = operation(0xa7);
export const toEight: (value: Operand) => WasmCode = operation(0xad);

export const isZero = operation(0x45);
export const equal = operation(0x46);
export const differ = operation(0x47);
/** The other comparisons and `shiftRight` treat numbers as unsigned. */
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

/** Copies `size` bytes; the ranges may overlap. */
export const move = (to: Operand, from: Operand, size: Operand): WasmCode => {
  return (out, labels) => {
    for (const operand of [to, from, size]) write(operand, out, labels);
    out.push(0xfc, 10, 0, 0);
  };
};

/** Chooses one of two values. Both are computed. */
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

/** A jump to its label goes to its start; the loop ends when its body reaches the end. */
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

/** Jumps to the label with this number, or to the last label if there is none. */
export const jumpTo = (value: Operand, targets: readonly string[]): WasmCode => {
  return (out, labels) => {
    write(value, out, labels);
    out.push(0x0e, ...unsigned(targets.length - 1), ...targets.flatMap((target) => distance(target, labels)));
  };
};

/**
 * Code that jumps to one of the labels, followed by the labels' parts. Each part falls through to the next unless it
 * jumps away.
 */
export const cases = (dispatch: WasmCode, ...parts: readonly (readonly [label: string, part: WasmCode])[]): WasmCode =>
  parts.reduce((before, [label, part]) => steps(until(label, before), part), dispatch);

/** Ends the function with this result. */
export const give = operation(0x0f);

/** Combines several steps into one. */
export const steps = (...body: readonly WasmCode[]): WasmCode => {
  return (out, labels) => {
    for (const step of body) step(out, labels);
  };
};

/** A parameter of the function or one of its other variables, which follow the parameters and start as 0. */
export class Variable {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

/** Builds the module. Its function must return a result before it reaches its end. */
export function wasmModule(parameters: number, variables: number, body: WasmCode): Uint8Array {
  const code = [...list([[...unsigned(variables - parameters), I32]])];
  body(code, []);
  code.push(UNREACHABLE, END);
  return Uint8Array.from([
    0x00,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
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
/** Any address is allowed. */
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

/** The number of blocks between a jump and the block with the label. */
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

function signedEight(value: bigint): number[] {
  const low = Number(value & 127n);
  return value >= -64n && value < 64n ? [low] : [low | 128, ...signedEight(value >> 7n)];
}

function signed(value: number): number[] {
  if (value >= -64 && value < 64) return [value & 127];
  return [(value & 127) | 128, ...signed(value >> 7)];
}
