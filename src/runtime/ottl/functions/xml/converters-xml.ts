import type { RecordContext } from "../../paths/record-context.js";
import { isOttlError, OttlError } from "../../values/error.js";
import { spendWork } from "../../values/limits.js";
import type { OttlMap, OttlValue } from "../../values/value.js";
import { type CallArguments, type FunctionSpec, parameters } from "../function-spec.js";
import { addChild, addXml, escapeXml, isPlain, parseXml, writeXml, type XmlNode, xmlNode } from "./xml-tree.js";
import { compileXPath, type XPath } from "./xpath.js";

/** Converters of XML. */

/** The work for making a map of an element. */
const MAP_WORK = 4;

function xpathArgument(args: CallArguments, otherwise?: string): XPath {
  try {
    return compileXPath(args.literalText("x_path", otherwise) || (otherwise ?? ""));
  } catch (error) {
    if (isOttlError(error)) args.reject("x_path", error.message);
    throw error;
  }
}

function copyOf(node: XmlNode): XmlNode {
  const copy = xmlNode(node.type, node.name, node.text);
  copy.attributes = node.attributes.map(({ name, text }) => xmlNode("attribute", name, text, copy));
  for (const child of node.children) addChild(copy, copyOf(child));
  return copy;
}

/** Returns the result of a path: elements with their content, and the text of attributes. */
function compileGet(args: CallArguments) {
  const target = args.text("target");
  const select = xpathArgument(args);
  return (ctx: RecordContext): string => {
    const text = target(ctx);
    if (text === "") return "";
    const parts: string[] = [];
    for (const node of select(parseXml(text))) {
      if (node.type === "element") addXml(node, parts);
      else if (node.type === "text" || node.type === "attribute" || node.type === "cdata")
        parts.push(escapeXml(node.text));
    }
    return parts.join("");
  };
}

function compileInsert(args: CallArguments) {
  const target = args.text("target");
  const select = xpathArgument(args);
  const added = args.text("sub_document");
  return (ctx: RecordContext): string => {
    const text = target(ctx);
    const document = text === "" ? xmlNode("document", "") : parseXml(text);
    const addition = parseXml(added(ctx));
    const places = select(document);
    const other = places.find((node) => !isPlain(node));
    if (other !== undefined)
      throw new OttlError(`InsertXML: the XPath leads to ${other.type} ${other.name}, not to an element`);
    for (const place of places) for (const child of addition.children) addChild(place, copyOf(child));
    return writeXml(document);
  };
}

function compileRemove(args: CallArguments) {
  const target = args.text("target");
  const select = xpathArgument(args);
  return (ctx: RecordContext): string => {
    const text = target(ctx);
    if (text === "") return "";
    const document = parseXml(text);
    for (const node of select(document)) node.isRemoved = true;
    return writeXml(document);
  };
}

function compileAttributesToElements(args: CallArguments) {
  const target = args.text("target");
  const select = xpathArgument(args, "//@*");
  return (ctx: RecordContext): string => {
    const document = parseXml(target(ctx));
    for (const node of select(document)) {
      if (node.type !== "attribute") continue;
      const element = xmlNode("element", node.name);
      addChild(element, xmlNode("text", "", node.text));
      node.isRemoved = true;
      addChild(node.parent!, element);
    }
    return writeXml(document);
  };
}

/** Wraps text that is next to elements or other text in its own element, except in nodes that are done already. */
function wrapTexts(node: XmlNode, name: string, done: Set<XmlNode>): void {
  if (!isPlain(node) || done.has(node)) return;
  done.add(node);
  for (const child of node.children) if (child.type === "element") wrapTexts(child, name, done);
  const texts = node.children.filter(({ type }) => type === "text");
  const elements = node.children.filter(({ type }) => type === "element");
  if (texts.length === 0 || texts.length + elements.length <= 1) return;
  node.children = node.children.map((child) => {
    if (child.type !== "text") return child;
    const element = xmlNode("element", name, "", node);
    addChild(element, child);
    return element;
  });
}

function compileTextToElements(args: CallArguments) {
  const target = args.text("target");
  const select = xpathArgument(args, "/");
  const name = args.literalText("element_name", "") || "value";
  return (ctx: RecordContext): string => {
    const document = parseXml(target(ctx));
    const done = new Set<XmlNode>();
    for (const node of select(document)) wrapTexts(node, name, done);
    return writeXml(document);
  };
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

/** An element as a map of its tag, content, attributes and children. */
function elementMap(element: XmlNode): OttlMap {
  spendWork(MAP_WORK);
  const map: OttlMap = new Map([["tag", localName(element.name)]]);
  const texts = element.children.filter(({ type }) => type === "text" || type === "cdata");
  const content = texts.map(({ text }) => text.trim()).join("");
  const children = element.children.filter(({ type }) => type === "element");
  if (content !== "") map.set("content", content);
  if (element.attributes.length > 0)
    map.set("attributes", new Map(element.attributes.map(({ name, text }) => [localName(name), text])));
  if (children.length > 0) map.set("children", children.map(elementMap));
  return map;
}

function parseToMap(text: string): OttlMap {
  const { children } = parseXml(text);
  const index = children.findIndex(({ type }) => type === "element");
  if (index < children.length - 1) throw new OttlError("ParseXML: there is more text after the element");
  return elementMap(children[index]!);
}

/** Elements by name: text as text, others as maps, elements with the same name as a list. Attributes are left out. */
function simplifiedMap(parent: XmlNode): OttlMap {
  spendWork(MAP_WORK);
  const elements = parent.children.filter(({ type }) => type === "element");
  const counts = new Map<string, number>();
  for (const { name } of elements) counts.set(localName(name), (counts.get(localName(name)) ?? 0) + 1);
  const map: OttlMap = new Map();
  for (const element of elements) {
    const name = localName(element.name);
    if (element.children.length === 0) continue;
    const value = leafText(element) || simplifiedMap(element);
    const isList = counts.get(name)! > 1;
    if (isList && !map.has(name)) map.set(name, []);
    if (value instanceof Map && value.size === 0) continue;
    if (isList) (map.get(name) as OttlValue[]).push(value);
    else map.set(name, value);
  }
  return map;
}

/** The first text of an element without child elements. */
function leafText({ children }: XmlNode): string {
  if (children.some(({ type }) => type === "element")) return "";
  return children.find(({ type }) => type === "text" || type === "cdata")?.text ?? "";
}

const XPATHS =
  "XPath knows steps (`/a//b/@c`, `..`, `*`, `text()`), predicates with positions, comparisons, `and`, `or` and the usual functions, and `|`.";

export const XML_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "ParseXML",
    parameters: parameters("target: string"),
    returns: "map",
    summary: "An XML element as a map: its `tag`, `content`, `attributes` and `children`, which are such maps too.",
    example: "ParseXML(body)",
    compile(args) {
      const target = args.text("target");
      return (ctx) => parseToMap(target(ctx));
    },
  },
  {
    name: "ParseSimplifiedXML",
    parameters: parameters("target: string"),
    returns: "map",
    summary:
      "XML as a map of elements by name: elements with text become text, elements with children become maps, and several with the same name a list. Attributes and text next to elements are left out.",
    example: "ParseSimplifiedXML(body)",
    compile(args) {
      const target = args.text("target");
      return (ctx) => simplifiedMap(parseXml(target(ctx)));
    },
  },
  {
    name: "GetXML",
    parameters: parameters("target: string", "x_path: STRING"),
    returns: "string",
    summary: `The parts of XML that an XPath leads to, as XML. ${XPATHS}`,
    example: `GetXML(body, "/a//b[@env='prod']")`,
    compile: compileGet,
  },
  {
    name: "InsertXML",
    parameters: parameters("target: string", "x_path: STRING", "sub_document: string"),
    returns: "string",
    summary: "XML with other XML appended to every element that an XPath leads to.",
    example: 'InsertXML(body, "/a", "<b/>")',
    compile: compileInsert,
  },
  {
    name: "RemoveXML",
    parameters: parameters("target: string", "x_path: STRING"),
    returns: "string",
    summary: "XML without the elements, attributes, texts and comments that an XPath leads to.",
    example: 'RemoveXML(body, "//@password")',
    compile: compileRemove,
  },
  {
    name: "ConvertAttributesToElementsXML",
    parameters: parameters("target: string", "x_path?: STRING"),
    returns: "string",
    summary: "XML with attributes converted to elements: all of them, or those that an XPath leads to.",
    example: "ConvertAttributesToElementsXML(body)",
    compile: compileAttributesToElements,
  },
  {
    name: "ConvertTextToElementsXML",
    parameters: parameters("target: string", "x_path?: STRING", "element_name?: STRING"),
    returns: "string",
    summary:
      "XML in which text next to elements is wrapped in elements named `value` or `element_name`: everywhere, or in the results of an XPath.",
    example: 'ConvertTextToElementsXML(body, element_name = "text")',
    compile: compileTextToElements,
  },
];
