// The acts of behaviours. Each call does one small thing and says what came of it; how often is decided outside the page.
//
// A click is the element's own click(), between the events of a pointer: it reaches the element that was judged and no
// other one that a page moves below the pointer, and it gives the page no right of a person's click, such as popups.

const MOST_PIECES = 400000;
const MORE_IN_NAME = /(^|[-_\s])(load|show|view|see|fetch|infinite)[-_]?(more|next|older|all)([-_\s]|$)/i;
const CLOSE_IN_NAME = /(^|[-_\s])(close|dismiss|closebutton|btnclose|modalclose)([-_\s]|$)/i;
const CLOSE_SIGNS = /^\s*[×✕✖✗✘⨯xX]\s*$/u;
const BUTTONS = "button, [role=button], a, input[type=button], [onclick], [tabindex]";
const FURNITURE = "nav, [role=navigation], [role=banner], [role=contentinfo], [role=menu], [role=menubar], [role=search], [role=toolbar], [role=tablist]";
const CONTROLS = "select, textarea, input:not([type=button]), option, label, [role=combobox], [role=listbox], [role=menuitem], [role=tab], [contenteditable]";

const state = { pieces: new Set(), elements: 0, height: 0, spent: new Set(), opened: new WeakMap(), played: new WeakSet() };

const isContent = (element) => {
  if (closest(element, FURNITURE)) return false;
  return !closest(element, "header, footer, aside") || closest(element, "main, article, [role=main], [role=feed]") !== null;
};

const isCounter = (text) => /^[\d\s:.,/%+-]*$/.test(text);

// What is new since the last time: pieces of text, links and pictures never seen before. More of what was there already
// is nothing new, and a number is new only where elements came with it: clocks and counts change by themselves.
function measure() {
  let [fresh, numbers, elements] = [0, 0, 0];
  for (const root of roots()) {
    elements += inOne[root.nodeType](root, "*").length;
    for (const [sort, piece] of piecesOf(root)) {
      if (state.pieces.has(piece)) continue;
      /text|label/.test(sort) && isCounter(piece.slice(piece.indexOf(" ") + 1)) ? numbers++ : fresh++;
      if (state.pieces.size < MOST_PIECES) state.pieces.add(piece);
    }
  }
  const height = Math.max(...scrollers([]).map((each) => each.scrollHeight), 0);
  const came = fresh > 0 || (numbers > 0 && elements > state.elements);
  const grew = height > state.height + 4;
  Object.assign(state, { elements, height });
  if (kept.during) watch();
  return { came, grew, vanishing: kept.changes > 0 };
}

const canScroll = (element) => element.scrollHeight > element.clientHeight + 8 && element.clientHeight > 0;
const pageScroller = () => getter(Document, "scrollingElement")(document) ?? htmlOf();

function largeScrollers() {
  const found = [];
  for (const element of walked(bodyOf(), NodeFilter.SHOW_ELEMENT)) {
    if (!canScroll(element) || element.clientHeight < innerHeight * 0.4 || element.clientWidth < innerWidth * 0.3) continue;
    if (/^(auto|scroll|overlay)$/.test(getComputedStyle(element).overflowY) && isSeen(element)) found.push(element);
  }
  return found.sort((one, other) => other.clientHeight * other.clientWidth - one.clientHeight * one.clientWidth).slice(0, 3);
}

// What is scrolled: what was named, or what of it or around it scrolls; else the page and its largest scrolling parts.
function scrollers(selectors) {
  if (!selectors.length) return [pageScroller(), ...largeScrollers()];
  const named = found(selectors)[0];
  if (!named) return [];
  return [[named, ...ancestors(named)].find((each) => canScroll(each) && getComputedStyle(each).overflowY !== "visible") ?? pageScroller()];
}

// Scroll on, a part of a window's height at a time and so many times; once where the page takes away what it showed, so
// that it can be waited for.
async function scroll({ selectors, screens }) {
  const moving = scrollers(selectors);
  kept.scroller = moving.find((each) => each !== pageScroller()) ?? null;
  let moved = 0;
  for (let screen = 0; screen < screens && moving.length; screen++) {
    remember(kept.scroller);
    const from = moving.map((at) => at.scrollTop);
    for (const at of moving) at.scrollTo({ top: at.scrollTop + at.clientHeight * (kept.changes ? 0.8 : 0.85), behavior: "instant" });
    await nextFrame();
    await later(20);
    const way = moving.reduce((sum, at, number) => sum + Math.abs(at.scrollTop - from[number]), 0);
    moved += way;
    if (way < 1 || kept.changes) break;
  }
  const atEnd = moving.every((at) => at.scrollTop + at.clientHeight >= at.scrollHeight - 2);
  return { found: moving.length, moved, atEnd, vanishing: kept.changes > 0 };
}

// Back to the beginning: what a list passed by before it was known that it takes away what it showed.
function rewind({ selectors }) {
  for (const at of scrollers(selectors)) at.scrollTo({ top: 0, behavior: "instant" });
}

// Wait until the document has not changed for a while.
async function calm({ least, most }) {
  const until = performance.now() + most;
  let last = performance.now();
  const watching = new MutationObserver(() => (last = performance.now()));
  watching.observe(document, { childList: true, subtree: true, characterData: true });
  while (performance.now() < Math.min(last + least, until)) await later(20);
  watching.disconnect();
}

// Up a little and down again: some pages ask for more only when their end comes into view anew.
async function nudge({ selectors }) {
  let moved = 0;
  for (const at of scrollers(selectors)) {
    const from = at.scrollTop;
    at.scrollTo({ top: from - at.clientHeight * 0.5, behavior: "instant" });
    moved += from - at.scrollTop;
  }
  if (!moved) return { moved };
  await nextFrame();
  await later(50);
  for (const at of scrollers(selectors)) at.scrollTo({ top: at.scrollHeight, behavior: "instant" });
  await nextFrame();
  return { moved };
}

function refuseToLeave(event) {
  const link = event.composedPath().find((each) => each instanceof Element && fits(each, "a, area"));
  if (event.type === "submit" || (link && leavesPage(link))) event.preventDefault();
}

function press(element) {
  element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  const box = boxOf(element);
  const how = { bubbles: true, cancelable: true, composed: true, view: window, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
  for (const name of ["click", "submit"]) addEventListener(name, refuseToLeave);
  try {
    for (const [kind, name] of [[PointerEvent, "pointerdown"], [MouseEvent, "mousedown"], [PointerEvent, "pointerup"], [MouseEvent, "mouseup"]])
      element.dispatchEvent(new kind(name, how));
    if (!isThere(element)) return;
    element instanceof HTMLElement ? bound(HTMLElement, "click")(element) : element.dispatchEvent(new MouseEvent("click", how));
  } finally {
    for (const name of ["click", "submit"]) removeEventListener(name, refuseToLeave);
  }
}

const isNamedMore = (element) => MORE_IN_NAME.test(attributeOf(element, "class") ?? "") || MORE_IN_NAME.test(attributeOf(element, "id") ?? "");

function looksForMore(element, words) {
  if (!isContent(element) || leavesPage(element) || fits(element, `${CONTROLS}, summary, [aria-expanded]`)) return false;
  if (labelOf(element).length > LONGEST_LABEL) return false;
  return firstSaid(element, words) >= 0 || (isNamedMore(element) && fits(element, BUTTONS));
}

function forMore({ selectors, words, never }) {
  if (selectors.length) return found(selectors).filter((each) => !words.length || firstSaid(each, words) >= 0);
  const candidates = byCss(`${BUTTONS}, [class*=more i], [id*=more i]`).filter((each) => looksForMore(each, words) && !isForbidden(each, never, words));
  return candidates.filter((each) => !candidates.some((other) => other !== each && holds(each, other)));
}

// Click the first that is not spent; say which, empty where there is none.
function click(step) {
  const next = forMore(step).find((each) => isUsable(each) && !state.spent.has(keyOf(each)));
  if (!next) return { key: "" };
  const key = keyOf(next);
  remember();
  press(next);
  return { key };
}

const folded = () => byCss("details:not([open]) > summary, [aria-expanded=false]").filter((each) =>
  isContent(each) && !leavesPage(each) && !fits(each, CONTROLS) && !/^(menu|listbox|dialog|tree|grid|true)$/.test(attributeOf(each, "aria-haspopup") ?? ""));

// Click those not clicked before, at most so many.
async function open({ selectors, words, never, most }) {
  const named = selectors.length ? found(selectors) : folded().filter((each) => !isForbidden(each, never, words));
  let clicked = 0;
  for (const each of named) {
    if (clicked >= most) break;
    if (!isThere(each) || !isUsable(each) || (words.length && firstSaid(each, words) < 0)) continue;
    const key = keyOf(each);
    if (state.spent.has(key) || state.opened.get(each) === key) continue;
    state.spent.add(key);
    press(each);
    clicked++;
    await later(20);
    if (!isThere(each)) continue;
    state.opened.set(each, keyOf(each));
    state.spent.add(keyOf(each));
  }
  return { clicked };
}

function deepestAt(x, y) {
  let hit = bound(Document, "elementFromPoint")(document, x, y);
  for (let shadow = hit && shadowOf(hit); shadow; shadow = hit && shadowOf(hit)) {
    const inner = shadow.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

const ROWS = 12;
const liesOver = (element) => fits(element, "dialog[open], [role=dialog], [role=alertdialog], [aria-modal=true]") || /^(fixed|sticky)$/.test(getComputedStyle(element).position);

// Boxes that lie over the page, by the points of a grid; what holds the page's navigation is none.
function overlays() {
  const boxes = new Map();
  for (let row = 0; row < ROWS; row++)
    for (const column of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const hit = deepestAt(innerWidth * column, (innerHeight * (row + 0.5)) / ROWS);
      const box = hit && [hit, ...ancestors(hit)].reverse().find(liesOver);
      if (box) boxes.set(box, (boxes.get(box) ?? 0) + 1);
    }
  const covering = [...boxes].filter(([box, points]) => points >= 2 && box !== bodyOf() && box !== htmlOf() && !within(box, "nav, main, article").length);
  return covering.sort(([, one], [, other]) => other - one).map(([box]) => box);
}

function closers({ words, never }) {
  const boxes = overlays();
  const ranked = [];
  for (const each of boxes.length ? byCss(`${BUTTONS}, [class*=close i], [aria-label]`) : []) {
    if (![each, ...ancestors(each)].some((around) => boxes.includes(around)) || boxes.includes(each)) continue;
    if (!isUsable(each) || leavesPage(each) || fits(each, CONTROLS) || isForbidden(each, never, words)) continue;
    const name = [attributeOf(each, "class"), attributeOf(each, "id"), attributeOf(each, "data-dismiss")].join(" ");
    const said = firstSaid(each, words);
    if (said >= 0) ranked.push([said, each]);
    else if (CLOSE_SIGNS.test(labelOf(each)) || (CLOSE_IN_NAME.test(name) && plain(labelOf(each)).length < 2)) ranked.push([words.length, each]);
  }
  return ranked.sort(([one], [other]) => one - other).map(([, each]) => each);
}

function dismiss(step) {
  const named = step.selectors.length ? found(step.selectors).filter((each) => !step.words.length || firstSaid(each, step.words) >= 0) : closers(step);
  const next = named.find((each) => isUsable(each) && !state.spent.has(keyOf(each)));
  if (!next) return { key: "" };
  const key = keyOf(next);
  state.spent.add(key);
  press(next);
  return { key };
}

function play({ selectors, most }) {
  let started = 0;
  for (const each of selectors.length ? found(selectors) : byCss("video, audio")) {
    if (started >= most || !(each instanceof HTMLMediaElement) || state.played.has(each)) continue;
    state.played.add(each);
    each.muted = true;
    each.play().catch(() => {});
    started++;
  }
  return { started };
}

// Stop all sound and film: what plays asks for more and more.
function pause() {
  for (const each of byCss("video, audio")) each.pause();
}

function spend({ key }) {
  state.spent.add(key);
}

const acts = {
  scroll, rewind, calm, nudge, click, open, dismiss, play, pause, spend, measure, putBack,
  keepDuring: ({ during }) => keepDuring(during),
};
