// What is on the page: elements that expressions find, whether they are seen, what they say.
//
// Pages give their forms and pictures names such as "children" or "body" that hide properties of the DOM, in isolated
// worlds as well. So everything is asked of the prototypes.

const MOST_WALKED = 100000;
const LONGEST_LABEL = 60;

const bound = (of, name) => Function.prototype.call.bind(of.prototype[name]);
const getter = (of, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(of.prototype, name).get);

const parentOf = getter(Node, "parentNode");
const childrenOf = (node) => [...getter(Node, "childNodes")(node)].filter((each) => each instanceof Element);
const nodesOf = getter(Node, "childNodes");
const nextOf = getter(Node, "nextSibling");
const textOf = getter(Node, "textContent");
const isThere = getter(Node, "isConnected");
const rootOf = bound(Node, "getRootNode");
const holds = bound(Node, "contains");
const put = bound(Node, "insertBefore");
const tagOf = getter(Element, "localName");
const attributeOf = bound(Element, "getAttribute");
const hasAttribute = bound(Element, "hasAttribute");
const mark = bound(Element, "setAttribute");
const fits = bound(Element, "matches");
const closest = bound(Element, "closest");
const within = bound(Element, "querySelectorAll");
const boxOf = bound(Element, "getBoundingClientRect");
const shadowOf = getter(Element, "shadowRoot");
const isShown = bound(Element, "checkVisibility");
const shownText = getter(HTMLElement, "innerText");
const elementsAt = bound(Document, "elementsFromPoint");
const walker = bound(Document, "createTreeWalker");
const htmlOf = () => getter(Document, "documentElement")(document);
const bodyOf = () => getter(Document, "body")(document) ?? htmlOf();

const parentBeyond = (node) => parentOf(node) ?? (node instanceof ShadowRoot ? node.host : null);

function* ancestors(element, most = 200) {
  for (let at = parentBeyond(element); at && most-- > 0; at = parentBeyond(at)) if (at instanceof Element) yield at;
}

function* walked(root, what) {
  const walk = walker(document, root, what);
  for (let count = 0, node = walk.nextNode(); node && count < MOST_WALKED; count++, node = walk.nextNode()) yield node;
}

// The document and all open shadow roots in it.
function roots() {
  const found = [document];
  for (let at = 0; at < found.length && found.length < 300; at++)
    for (const element of walked(found[at], NodeFilter.SHOW_ELEMENT)) {
      const shadow = shadowOf(element);
      if (shadow) found.push(shadow);
    }
  return found;
}

const inOne = { [Node.DOCUMENT_NODE]: bound(Document, "querySelectorAll"), [Node.DOCUMENT_FRAGMENT_NODE]: bound(DocumentFragment, "querySelectorAll") };

function byCss(css) {
  return roots().flatMap((root) => [...inOne[root.nodeType](root, css)]);
}

function byXPath(xpath) {
  const found = bound(Document, "evaluate")(document, xpath, htmlOf(), null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
  const nodes = [];
  for (let at = 0; at < Math.min(found.snapshotLength, 5000); at++) nodes.push(found.snapshotItem(at));
  return nodes.filter((node) => node instanceof Element);
}

// The elements that the first alternative finds which finds any. A selector that browsers do not know is tried as XPath.
function found(selectors) {
  for (const { css, xpath } of selectors) {
    let elements = [];
    try {
      elements = css ? byCss(css) : byXPath(xpath);
    } catch {
      try { elements = byXPath(xpath); } catch { /* an expression that this page fails on finds nothing */ }
    }
    if (elements.length) return elements.slice(0, 5000);
  }
  return [];
}

function isSeen(element, least = 4) {
  const box = boxOf(element);
  return box.width >= least && box.height >= least &&
    isShown(element, { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false });
}

const isUsable = (element) =>
  isSeen(element) && !fits(element, ":disabled, [aria-disabled=true], [inert], [inert] *") &&
  getComputedStyle(element).pointerEvents !== "none";

// The text of a label without digits and signs, in small letters.
const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[\d\p{P}\p{S}]+/gu, " ").replace(/\s+/gu, " ").trim();

function labelOf(element) {
  const said = attributeOf(element, "aria-label") || (element instanceof HTMLElement ? shownText(element) : textOf(element)) ||
    attributeOf(element, "title") || attributeOf(element, "value") || "";
  if (said.trim()) return said.slice(0, 300);
  const picture = within(element, "img[alt], [aria-label], [title]")[0];
  return picture ? attributeOf(picture, "alt") || attributeOf(picture, "aria-label") || attributeOf(picture, "title") || "" : "";
}

const UNDIVIDED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

// Whether a label says a phrase: as whole words; a single word only where there are few around it.
function says(label, phrase) {
  if (UNDIVIDED.test(phrase)) return label.replaceAll(" ", "").includes(phrase.replaceAll(" ", ""));
  return ` ${label} `.includes(` ${phrase} `) && (phrase.includes(" ") || label.split(" ").length <= 3);
}

// The number of the first of some words that an element says, -1 where it says none; words are plain.
function firstSaid(element, words) {
  const label = labelOf(element);
  return label.length > LONGEST_LABEL ? -1 : words.findIndex((word) => says(plain(label), word));
}

function isForbidden(element, never, words) {
  const label = plain(labelOf(element));
  if (words.includes(label)) return false;
  return never.some((word) => (UNDIVIDED.test(word) ? label.includes(word) : ` ${label} `.includes(` ${word} `)));
}

// Whether a click leads to another page or sends a form, unless a script prevents that.
function leavesPage(element) {
  const link = closest(element, "a[href], area[href]");
  if (link && !/^(#|javascript:|$)/i.test((attributeOf(link, "href") ?? "").trim())) {
    const [here, there] = [location.href, String(link.href?.baseVal ?? link.href)].map((url) => url.split("#")[0]);
    if (here !== there || !String(link.href).includes("#")) return true;
  }
  const button = closest(element, "button, input");
  if (!button) return false;
  if (button instanceof HTMLInputElement) return /^(submit|image)$/.test(button.type);
  return button.type === "submit" && button.form !== null;
}

// Where an element stands and what it says: the same for one that a script has made anew.
function keyOf(element) {
  const steps = [];
  for (const each of [element, ...ancestors(element, 12)]) {
    const id = ["id", "data-id", "data-post-id", "data-index", "data-key", "aria-posinset"].map((name) => attributeOf(each, name)).find(Boolean);
    const place = parentOf(each) ? childrenOf(parentOf(each)).filter((other) => tagOf(other) === tagOf(each)).indexOf(each) : 0;
    steps.push(id ? `${tagOf(each)}#${id}` : `${tagOf(each)}:${place}`);
    if (id) break;
  }
  return `${plain(labelOf(element)).slice(0, 80)}|${steps.join("<")}`;
}

const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const nextFrame = () => Promise.race([new Promise((done) => requestAnimationFrame(done)), later(100)]);
