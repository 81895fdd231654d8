import { OttlError } from "../../values/error.js";
import { MAX_ITEMS, tooManyItems } from "../../values/limits.js";

/**
 * XML as a tree. The reader makes one pass over the text. It knows the five entities of XML and numeric character
 * references, and nothing that a document could define itself, so no document grows while it is read. Nothing outside
 * of it is ever fetched.
 */
export interface XmlNode {
  readonly type: "document" | "element" | "attribute" | "text" | "cdata" | "comment" | "instruction" | "directive";
  /** The name with its prefix, for elements, attributes and instructions. */
  name: string;
  text: string;
  attributes: XmlNode[];
  children: XmlNode[];
  parent: XmlNode | undefined;
  /** Nodes are created in document order. */
  readonly order: number;
}

const MAX_DEPTH = 500;
let made = 0;

export function xmlNode(type: XmlNode["type"], name: string, text = "", parent?: XmlNode): XmlNode {
  return { type, name, text, attributes: [], children: [], parent, order: ++made };
}

export function addChild(parent: XmlNode, child: XmlNode): void {
  child.parent = parent;
  parent.children.push(child);
}

export function removeNode(node: XmlNode): void {
  const siblings = node.type === "attribute" ? node.parent?.attributes : node.parent?.children;
  const index = siblings?.indexOf(node) ?? -1;
  if (index >= 0) siblings!.splice(index, 1);
}

/**
 * Throws an `OttlError` if the text is not well-formed. More than one root is allowed; text before the first is
 * ignored.
 */
export function parseXml(text: string): XmlNode {
  return new XmlReader(text).document();
}

const NAME = /[A-Za-z_:\u0080-\uffff][-.\w:\u0080-\uffff]*/y;
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
    root.children = root.children.filter(({ type }, i) => i > first || type !== "text");
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
      if (this.text[p] === "<") open++;
      else if (this.text[p] === ">" && --open === 0) {
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
    const plain = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!plain.includes("&")) return plain;
    return plain.replace(/&([^;&\s]{0,10};)?/g, (_, name: string | undefined) => {
      const character = name === undefined ? undefined : entity(name.slice(0, -1));
      if (character === undefined) throw this.problem("no such entity");
      return character;
    });
  }

  private add(parent: XmlNode, node: XmlNode): void {
    if (++this.nodes > MAX_ITEMS) throw tooManyItems();
    addChild(parent, node);
  }

  private problem(why: string): OttlError {
    return new OttlError(`not valid XML: ${why}, near character ${this.at}`);
  }
}

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
  if (node.type === "text" || node.type === "cdata" || node.type === "attribute") return node.text;
  if (node.type !== "element" && node.type !== "document") return "";
  return node.children.map(innerText).join("");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => ESCAPES[c]!);
}

/** The document as text. */
export function writeXml(node: XmlNode): string {
  switch (node.type) {
    case "document":
      return node.children.map(writeXml).join("");
    case "text":
      return escapeXml(node.text);
    case "cdata":
      return `<![CDATA[${node.text}]]>`;
    case "comment":
      return `<!--${node.text}-->`;
    case "instruction":
      return `<?${node.name}${node.text === "" ? "" : ` ${node.text}`}?>`;
    case "directive":
      return `<!${node.text}>`;
    case "attribute":
      return "";
  }
  const attributes = node.attributes.map(({ name, text }) => ` ${name}="${escapeXml(text)}"`).join("");
  return `<${node.name}${attributes}>${node.children.map(writeXml).join("")}</${node.name}>`;
}
