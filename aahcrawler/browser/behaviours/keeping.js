// What was seen and is gone: lists that hold only what is in view, slides that take the place of one another.
//
// A MutationObserver tells what scripts remove while the page is scrolled or clicked, a look at what is in view tells
// what they write over. Both are put back at the end, in the reverse order: each beside the neighbours that it had.
// Copies lie in a document without a window, where nothing is loaded and no script runs.

const MOST_KEPT = 4000;
const MOST_MARKUP = 20e6;
const MOST_LOOKED_AT = 3000;
const MARK = "data-aah-kept";
const NEVER_KEPT = "script, style, link, meta, noscript, template, dialog, [role=dialog], [role=alertdialog], [role=tooltip], [role=alert], [role=status], [role=progressbar], [aria-modal=true]";

const importInto = bound(Document, "importNode");
const attic = getter(Document, "implementation")(document).createHTMLDocument("");
const copyOf = (node) => importInto(attic, node, true);
const kept = { during: "", log: [], size: 0, dropped: 0, changes: 0, looks: new Map(), watched: new WeakSet() };

const oneLine = (text) => text.replace(/\s+/gu, " ").trim();
const hasPicture = (element) => fits(element, "img[src], picture, video, audio, svg image") || within(element, "img[src], video, audio").length > 0;

function isWorthIt(node) {
  if (!(node instanceof Element) || fits(node, NEVER_KEPT) || hasAttribute(node, MARK)) return false;
  const text = oneLine(textOf(node));
  return text.length >= 12 || fits(node, "a[href]") || within(node, "a[href]").length > 0 || hasPicture(node);
}

const shapeOf = (element) => `${tagOf(element)}.${(attributeOf(element, "class") ?? "").trim().split(/\s+/)[0].replace(/\d+/g, "#")}`;

// Whether an element is one of several: it, or what is around it, has its like beside it or had it there before.
const shapesAt = new WeakMap();
function isOneOfSeveral(node, target, others) {
  const shape = shapeOf(node);
  const before = shapesAt.get(target) ?? new Set();
  const likes = [...childrenOf(target), ...others].filter((each) => each !== node && each instanceof Element);
  const known = before.has(shape) || likes.some((each) => shapeOf(each) === shape);
  shapesAt.set(target, before.add(shape));
  if (known) return true;
  for (const around of [target, ...ancestors(target, 4)]) {
    const parent = parentOf(around);
    if (!(parent instanceof Element) || around === bodyOf()) return false;
    if (childrenOf(parent).filter((each) => shapeOf(each) === shapeOf(around)).length > 2) return true;
  }
  return false;
}

function keep(entry, size) {
  kept.changes++;
  if (kept.log.length >= MOST_KEPT || kept.size + size > MOST_MARKUP) kept.dropped++;
  else kept.log.push(entry), (kept.size += size);
}

function noteRemoval(record) {
  const gone = [...record.removedNodes].filter((node) => !isThere(node) && isWorthIt(node));
  const nodes = gone.filter((node) =>
    isOneOfSeveral(node, record.target, gone) || (kept.during === "click" && (oneLine(textOf(node)).length >= 40 || hasPicture(node))));
  if (!nodes.length) return;
  const copies = nodes.map(copyOf);
  const size = copies.reduce((sum, each) => sum + textOf(each).length + 200 * within(each, "*").length, 0);
  keep({ nodes, copies, target: record.target, before: record.previousSibling, after: record.nextSibling }, size);
}

const observer = new MutationObserver((records) => {
  if (kept.during) records.slice(0, 5000).filter((each) => each.removedNodes.length).forEach(noteRemoval);
});

function watch() {
  for (const root of roots())
    if (!kept.watched.has(root)) kept.watched.add(root), observer.observe(root, { childList: true, subtree: true });
}

function noteLast() {
  observer.takeRecords().filter((each) => each.removedNodes.length && kept.during).forEach(noteRemoval);
  for (const [element, before] of kept.looks) if (isThere(element)) noteOverwritten(element, before, look(element, kept.scroller));
  kept.looks.clear();
}

// Nothing is kept of what goes while boxes are dismissed: `during` is empty then.
function keepDuring(act) {
  noteLast();
  kept.during = act;
  if (act) watch();
}

const linesOf = (element) => new Set([...walked(element, NodeFilter.SHOW_TEXT)].slice(0, 400).map((each) => oneLine(each.data)).filter((each) => each.length > 2));
const topOf = (element, scroller) => boxOf(element).top + (scroller ? scroller.scrollTop : scrollY);

function look(element, scroller) {
  const lines = linesOf(element);
  const source = element instanceof HTMLImageElement ? `${attributeOf(element, "src")} ${attributeOf(element, "srcset")}` : "";
  return { lines, source, top: topOf(element, scroller), parent: parentOf(element) };
}

// Keep the former state of an element that shows something else now, and nothing of what it showed. One that shows less
// is a matter of what was removed from it.
function noteOverwritten(element, before, now) {
  const text = [...before.lines].join(" ");
  const isOther = before.source ? now.source !== before.source : now.lines.size > 0 && text.length >= 12 && ![...before.lines].some((each) => now.lines.has(each));
  if (isOther && isThere(element)) keep({ over: element, copy: before.copy, top: before.top, during: kept.during }, text.length + 500);
}

function lookAt(element, scroller) {
  const before = kept.looks.get(element);
  const now = look(element, scroller);
  if (before && before.source === now.source && before.lines.size === now.lines.size && [...now.lines].every((each) => before.lines.has(each))) return;
  if (before) noteOverwritten(element, before, now);
  if (before && !now.lines.size && !now.source) return;
  if (before || kept.looks.size < MOST_LOOKED_AT) kept.looks.set(element, { ...now, copy: copyOf(element) });
}

const MOST_IN_VIEW = 300;
const LINE = 18;

// The elements in view, by the points of a grid.
function hits() {
  const seen = new Set();
  for (let y = LINE / 2; y < Math.min(innerHeight, 2000); y += LINE)
    for (const column of [0.04, 0.12, 0.25, 0.5, 0.75])
      for (const hit of elementsAt(document, innerWidth * column, y).slice(0, 3)) seen.add(hit);
  return seen;
}

// The items of lists that are in view: elements with more of their like beside them, within the parts that scroll.
function itemsInView(scroller) {
  const items = new Set();
  for (const hit of hits())
    for (const each of [hit, ...ancestors(hit, 30)]) {
      const parent = parentOf(each);
      if (!(parent instanceof Element) || each === bodyOf() || each === scroller || items.has(each)) break;
      const height = boxOf(each).height;
      if (height >= 16 && height < 3 * innerHeight && childrenOf(parent).filter((other) => shapeOf(other) === shapeOf(each)).length > 2) items.add(each);
    }
  return items;
}

// Pictures and texts in view, which a click may put others in the place of.
function shownInView() {
  const shown = new Set(byCss("img").filter((each) => boxOf(each).width >= 100));
  for (const text of walked(bodyOf(), NodeFilter.SHOW_TEXT))
    if (oneLine(text.data).length >= 25 && parentOf(text) instanceof HTMLElement && !fits(parentOf(text), "script, style, button, [role=button]")) shown.add(parentOf(text));
  return [...shown].filter((each) => boxOf(each).bottom > 0 && boxOf(each).top < innerHeight && isSeen(each));
}

// Look at what is in view, so that it is known should something else stand there later.
function remember(scroller = null) {
  const seen = kept.during === "click" ? shownInView() : itemsInView(scroller);
  [...seen].slice(0, MOST_IN_VIEW).forEach((each) => lookAt(each, scroller));
}

const BUTTON_LIKE = "button, summary, [role=button]";

// What a part of a page consists of: texts with the element around them, those of buttons apart, links, pictures.
function* piecesOf(root) {
  for (const node of [...(root instanceof Element ? [root] : []), ...walked(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)]) {
    if (node instanceof Text) {
      const text = oneLine(node.data);
      if (text && parentOf(node) instanceof Element && !fits(parentOf(node), "script, style")) yield [closest(parentOf(node), BUTTON_LIKE) ? "label" : "text", `${shapeOf(parentOf(node))} ${text}`];
    } else if (fits(node, "a[href]")) yield ["link", attributeOf(node, "href")];
    else if (fits(node, "img[src], video[src], audio[src], source[src]")) yield ["picture", attributeOf(node, "src")];
  }
}

// Whether a copy holds what is not on the page: a link, or much of its text, or, where it has neither, a picture.
function isLost(copy, present) {
  const pieces = [...piecesOf(copy)];
  const of = (sort) => pieces.filter(([each]) => each === sort);
  const missing = (sort) => of(sort).filter(([, piece]) => !present.has(piece));
  if (missing("link").some(([, href]) => !/^(#|javascript:)/i.test(href))) return true;
  for (const sort of ["text", "label"]) if (of(sort).length) return missing(sort).length > 0.3 * of(sort).length;
  return missing("picture").some(([, source]) => !source.startsWith("data:"));
}

function insert(copy, parent, before, present) {
  const node = importInto(document, copy, true);
  for (const script of [...within(node, "script")]) script.remove();
  mark(node, MARK, "");
  put(parent, node, before && parentOf(before) === parent ? before : null);
  for (const [, piece] of piecesOf(node)) present.add(piece);
  return node;
}

const twinKey = (element) => oneLine(textOf(element)).slice(0, 500) || attributeOf(element, "src") || attributeOf(element, "id") || "";

// What a parent holds, by what it says, and by where it stands: made once for each parent, since lists are long.
function known(of, parent, make) {
  if (!of.has(parent)) of.set(parent, make(childrenOf(parent).slice(0, 5000)));
  return of.get(parent);
}

function undoRemoval(entry, undone) {
  const { present, placed } = undone;
  const target = isThere(entry.target) ? entry.target : placed.get(entry.target);
  const parent = target ?? bodyOf();
  const live = (node) => (node && isThere(node) && parentOf(node) === parent ? node : placed.get(node));
  const twins = known(undone.twins, parent, (children) => new Map(children.reverse().map((each) => [twinKey(each), each])));
  const before = live(entry.before);
  let next = target ? (live(entry.after) ?? (before ? nextOf(before) : nodesOf(parent)[0])) : null;
  for (let at = entry.copies.length - 1; at >= 0; at--) {
    const copy = entry.copies[at];
    const twin = twins.get(twinKey(copy));
    if (isLost(copy, present)) {
      next = insert(copy, parent, next, present);
      if (!twin) twins.set(twinKey(copy), next);
      kept.returned++;
    } else if (twin) next = twin;
    if (next) placed.set(entry.nodes[at], next);
  }
}

const placesOf = (children) => children.map((each) => [Number(attributeOf(each, MARK)) || topOf(each, kept.scroller), each]).sort(([one], [other]) => one - other);

function undoOverwriting(entry, { present, places }) {
  if (!isThere(entry.over) || !isLost(entry.copy, present)) return;
  const parent = parentOf(entry.over);
  kept.returned++;
  if (entry.during === "click") return void insert(entry.copy, parent, entry.over, present);
  const tops = known(places, parent, placesOf);
  const below = tops.findIndex(([top]) => top > entry.top);
  const node = insert(entry.copy, parent, below < 0 ? null : tops[below][1], present);
  tops.splice(below < 0 ? tops.length : below, 0, [entry.top, node]);
  mark(node, MARK, String(Math.round(entry.top) || ""));
}

// Lists whose items lie where their style says may stand in any order in the document: have them in that of their places.
function sortByPlace(parent) {
  const items = childrenOf(parent);
  if (items.length > 5000 || !items.every((each) => /^(absolute|fixed)$/.test(getComputedStyle(each).position))) return;
  const placed = items.map((each) => [boxOf(each), each]).sort(([one], [other]) => one.top - other.top || one.left - other.left);
  for (const [, each] of placed) put(parent, each, null);
}

// What cannot be put back, or not in time, is counted, and does not keep the rest away.
function attempt(undo, until) {
  try {
    if (performance.now() < until) undo();
    else kept.dropped++;
  } catch {
    kept.dropped++;
  }
}

// Put back all that is gone, for so many milliseconds; return how many elements that were, and of how many removals and
// changes nothing came back. What was put back stays where scripts are broken off meanwhile and this is called anew.
function putBack({ milliseconds }) {
  const until = performance.now() + milliseconds;
  noteLast();
  observer.disconnect();
  kept.watched = new WeakSet();
  const present = new Set(roots().flatMap((root) => [...piecesOf(root)].map(([, piece]) => piece)));
  const undone = { present, placed: new Map(), twins: new Map(), places: new Map() };
  kept.returned = 0;
  const newestFirst = kept.log.toReversed();
  for (const entry of newestFirst.filter((each) => each.over)) attempt(() => undoOverwriting(entry, undone), until);
  for (const entry of newestFirst.filter((each) => !each.over)) attempt(() => undoRemoval(entry, undone), until);
  new Set([...byCss(`[${MARK}]`)].map(parentOf)).forEach(sortByPlace);
  const found = { returned: kept.returned, dropped: kept.dropped };
  Object.assign(kept, { during: "", log: [], size: 0, dropped: 0 });
  return found;
}
