import { OttlError } from "../../values/error.js";
import { MAX_ITEMS, spendWork, tooManyItems } from "../../values/limits.js";

/**
 * XML as a tree. The reader makes one pass over the text. It knows the five entities of XML and numeric character
 * references, and nothing that a document could define itself, so no document grows while it is read. Nothing outside
 * of it is ever fetched. Reading and writing count as work on the record.
 */
export interface XmlNode {
  readonly type: "document" | "element" | "attribute" | "text" | "cdata" | "comment" | "instruction" | "directive";
  /** The name with its prefix, for elements, attributes and instructions. */
  name: string;
  text: string;
  attributes: XmlNode[];
  children: XmlNode[];
  parent: XmlNode | undefined;
  /** Position in the parent's list of children. */
  index: number;
  /** Nodes are created in document order. */
  readonly order: number;
  /** The last step of an XPath that came to this node. */
  mark: number;
  /** Nodes that have been removed are not written. */
  isRemoved: boolean;
}

/** Functions that walk a tree may recurse: it is no deeper than this. */
const MAX_DEPTH = 100;
/** Work, in values read: for making a node, for writing one, and for a character that is replaced. */
const NODE_WORK = 3;
const WRITE_WORK = 3;
const REPLACE_WORK = 2;
/** Most nodes have no attributes or no children. They share this list, which nobody adds to. */
const NONE: XmlNode[] = [];
let made = 0;

export function xmlNode(type: XmlNode["type"], name: string, text = "", parent?: XmlNode): XmlNode {
  spendWork(NODE_WORK);
  const order = ++made;
  return { type, name, text, attributes: NONE, children: NONE, parent, index: 0, order, mark: 0, isRemoved: false };
}

export function addChild(parent: XmlNode, child: XmlNode): void {
  child.parent = parent;
  if (parent.children === NONE) parent.children = [];
  child.index = parent.children.push(child) - 1;
}

/**
 * Throws an `OttlError` if the text is not well-formed. More than one root is allowed; text before the first is
 * ignored.
 */
export function parseXml(text: string): XmlNode {
  spendWork(0, text.length);
  return new XmlReader(text).document();
}

const NAME = /[A-Za-z_:\u0080-\uffff][-.\w:\u0080-\uffff]*/y;
const [LESS, GREATER] = [0x3c, 0x3e];
const SPACES = /[ \t\r\n]*/y;

class XmlReader {
  private readonly text: string;
  private at = 0;
  private nodes = 0;

  constructor(text: string) {
    this.text = text;
  }

  document(): XmlNode {
    const root = xmlNode("document", "");
    let current = root;
    let depth = 0;
    while (this.at < this.text.length) {
      const less = this.text.indexOf("<", this.at);
      const end = less < 0 ? this.text.length : less;
      if (end > this.at) this.add(current, xmlNode("text", "", this.unescape(this.text.slice(this.at, end))));
      this.at = end;
      if (less < 0) break;
      if (this.text.startsWith("</", less)) {
        current = this.closeTag(current);
        depth--;
      } else if (!this.markup(current)) {
        const element = this.openTag(current);
        if (this.text[this.at - 2] === "/") continue;
        current = element;
        if (++depth > MAX_DEPTH) throw new OttlError(`the XML is nested more than ${MAX_DEPTH} deep`);
      }
    }
    const first = root.children.findIndex(({ type }) => type === "element");
    const kept = root.children.filter(({ type }, i) => i > first || type !== "text");
    root.children = NONE;
    for (const child of kept) addChild(root, child);
    if (current !== root) throw this.problem(`<${current.name}> is not closed`);
    if (!root.children.some(({ type }) => type === "element")) throw this.problem("there is no element");
    return root;
  }

  /** Reads comments, CDATA, instructions and directives; returns false if an element starts here. */
  private markup(parent: XmlNode): boolean {
    const { text, at } = this;
    if (text.startsWith("<!--", at)) this.add(parent, xmlNode("comment", "", this.until("<!--", "-->")));
    else if (text.startsWith("<![CDATA[", at)) this.add(parent, xmlNode("cdata", "", this.until("<![CDATA[", "]]>")));
    else if (text.startsWith("<?", at)) {
      const content = this.until("<?", "?>");
      const name = /^\S*/.exec(content)![0];
      this.add(parent, xmlNode("instruction", name, content.slice(name.length).trim()));
    } else if (text.startsWith("<!", at)) this.add(parent, xmlNode("directive", "", this.directive()));
    else return false;
    return true;
  }

  private until(start: string, end: string): string {
    const from = this.at + start.length;
    const to = this.text.indexOf(end, from);
    if (to < 0) throw this.problem(`${start} does not end`);
    this.at = to + end.length;
    return this.text.slice(from, to);
  }

  /** Reads a directive such as <!DOCTYPE ...>, which may contain others. Its declarations are ignored. */
  private directive(): string {
    const from = this.at + 2;
    let open = 0;
    for (let p = this.at; p < this.text.length; p++) {
      const code = this.text.charCodeAt(p);
      if (code === LESS) open++;
      else if (code === GREATER && --open === 0) {
        this.at = p + 1;
        return this.text.slice(from, p);
      }
    }
    throw this.problem("<! does not end");
  }

  private openTag(parent: XmlNode): XmlNode {
    this.at++;
    const element = xmlNode("element", this.name());
    while (true) {
      const before = this.at;
      this.skipSpaces();
      if (this.text.startsWith("/>", this.at) || this.text[this.at] === ">") break;
      if (this.at === before) throw this.problem("an attribute needs a space before it");
      this.attribute(element);
    }
    this.at += this.text[this.at] === "/" ? 2 : 1;
    this.add(parent, element);
    return element;
  }

  private attribute(element: XmlNode): void {
    const name = this.name();
    this.skipSpaces();
    if (this.text[this.at] !== "=") throw this.problem(`the attribute ${name} has no value`);
    this.at++;
    this.skipSpaces();
    const quote = this.text[this.at];
    if (quote !== '"' && quote !== "'") throw this.problem(`the value of ${name} is not in quotes`);
    const end = this.text.indexOf(quote, this.at + 1);
    if (end < 0) throw this.problem(`the value of ${name} does not end`);
    const value = this.text.slice(this.at + 1, end);
    if (value.includes("<")) throw this.problem(`there is a < in the value of ${name}`);
    this.at = end + 1;
    if (++this.nodes > MAX_ITEMS) throw tooManyItems();
    if (element.attributes === NONE) element.attributes = [];
    element.attributes.push(xmlNode("attribute", name, this.unescape(value), element));
  }

  private closeTag(current: XmlNode): XmlNode {
    this.at += 2;
    const name = this.name();
    this.skipSpaces();
    if (this.text[this.at] !== ">") throw this.problem(`</${name} does not end`);
    this.at++;
    if (current.parent === undefined || current.name !== name) throw this.problem(`</${name}> closes nothing`);
    return current.parent;
  }

  private name(): string {
    NAME.lastIndex = this.at;
    const found = NAME.exec(this.text)?.[0];
    if (found === undefined) throw this.problem("a name is missing");
    this.at += found.length;
    return found;
  }

  private skipSpaces(): void {
    SPACES.lastIndex = this.at;
    SPACES.test(this.text);
    this.at = SPACES.lastIndex;
  }

  private unescape(text: string): string {
    const plain = text.includes("\r") ? replaceEach(text, /\r\n?/g, () => "\n") : text;
    let start = 0;
    let unescaped = "";
    for (let at = plain.indexOf("&"); at >= 0; at = plain.indexOf("&", start)) {
      spendWork(REPLACE_WORK);
      const reference = plain.slice(at + 1, at + MAX_ENTITY_LENGTH);
      const end = reference.indexOf(";");
      const character = end < 0 ? undefined : entity(reference.slice(0, end));
      if (character === undefined) throw this.problem("no such entity");
      unescaped += plain.slice(start, at) + character;
      start = at + end + 2;
    }
    return start === 0 ? plain : unescaped + plain.slice(start);
  }

  private add(parent: XmlNode, node: XmlNode): void {
    if (++this.nodes > MAX_ITEMS) throw tooManyItems();
    addChild(parent, node);
  }

  private problem(why: string): OttlError {
    return new OttlError(`not valid XML: ${why}, near character ${this.at}`);
  }
}

/** With the signs around its name. */
const MAX_ENTITY_LENGTH = 12;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function entity(name: string): string | undefined {
  if (Object.hasOwn(ENTITIES, name)) return ENTITIES[name];
  const number = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name);
  if (number === null) return undefined;
  const code = Number.parseInt(number[1] ?? number[2]!, number[1] === undefined ? 10 : 16);
  return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? undefined : String.fromCodePoint(code);
}

/** The content of a node as text, without markup. */
export function innerText(node: XmlNode): string {
  const parts: string[] = [];
  addTexts(node, parts);
  return parts.length === 1 ? parts[0]! : parts.join("");
}

function addTexts(node: XmlNode, parts: string[]): void {
  spendWork(1, node.text.length);
  if (node.type === "text" || node.type === "cdata" || node.type === "attribute") parts.push(node.text);
  else if (isPlain(node)) for (const child of node.children) addTexts(child, parts);
}

export function isPlain({ type }: XmlNode): boolean {
  return type === "element" || type === "document";
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

export function escapeXml(text: string): string {
  return replaceEach(text, /[&<>"']/g, (c) => ESCAPES[c]!);
}

/** As `text.replace`, which however finds everything before it replaces anything, so that it cannot be stopped. */
function replaceEach(text: string, pattern: RegExp, replacement: (found: string) => string): string {
  let start = 0;
  let replaced = "";
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    spendWork(REPLACE_WORK);
    replaced += text.slice(start, found.index) + replacement(found[0]);
    start = pattern.lastIndex;
  }
  return start === 0 ? text : replaced + text.slice(start);
}

/** The document as text. */
export function writeXml(node: XmlNode): string {
  const parts: string[] = [];
  addXml(node, parts);
  return parts.join("");
}

/** Adds the parts of the node's text to a list. */
export function addXml(node: XmlNode, parts: string[]): void {
  if (node.isRemoved) return;
  const { type, name, text } = node;
  spendWork(WRITE_WORK, text.length + 2 * name.length);
  if (type === "text") parts.push(escapeXml(text));
  else if (type === "cdata") parts.push(`<![CDATA[${text}]]>`);
  else if (type === "comment") parts.push(`<!--${text}-->`);
  else if (type === "instruction") parts.push(`<?${name}${text === "" ? "" : ` ${text}`}?>`);
  else if (type === "directive") parts.push(`<!${text}>`);
  else if (type === "attribute") parts.push(` ${name}="${escapeXml(text)}"`);
  else if (type === "document") for (const child of node.children) addXml(child, parts);
  else {
    parts.push("<", name);
    for (const attribute of node.attributes) addXml(attribute, parts);
    parts.push(">");
    for (const child of node.children) addXml(child, parts);
    parts.push("</", name, ">");
  }
}
