// Lets somebody choose an element of a marked page, and tells the cockpit its number: nothing else, and to nobody else.
// The page is hostile: names that it gives its elements stand in the way of the document's own methods, so that each
// method is taken from its prototype, before anything of the page is there.
"use strict";
(() => {
  const { cockpit, attribute, chosen } = document.currentScript.dataset;
  const LEAVE = -1, BACK = -2;
  const of = (prototype, name) => Function.prototype.call.bind(prototype[name]);
  const got = (prototype, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(prototype, name).get);
  const listen = of(EventTarget.prototype, "addEventListener");
  const create = of(Document.prototype, "createElement");
  const select = of(Document.prototype, "querySelector");
  const root = document.documentElement;
  const append = of(Node.prototype, "appendChild");
  const closest = of(Element.prototype, "closest");
  const read = of(Element.prototype, "getAttribute");
  const write = of(Element.prototype, "setAttribute");
  const shape = of(Element.prototype, "getBoundingClientRect");
  const shapes = of(Element.prototype, "getClientRects");
  const show = of(Element.prototype, "scrollIntoView");
  const shadow = of(Element.prototype, "attachShadow");
  const parentOf = got(Node.prototype, "parentElement");
  const firstOf = got(Element.prototype, "firstElementChild");
  const nextOf = got(Element.prototype, "nextElementSibling");
  const previousOf = got(Element.prototype, "previousElementSibling");
  const textOf = got(Node.prototype, "textContent");
  const setText = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(Node.prototype, "textContent").set);
  const nameOf = got(Element.prototype, "localName");
  const stop = of(Event.prototype, "preventDefault");
  const halt = of(Event.prototype, "stopImmediatePropagation");
  const tell = parent.postMessage.bind(parent);

  const numbered = `[${attribute}]`;
  let at = null;
  let hover = null, around = null, told = null;

  const numberOf = (element) => Number.parseInt(read(element, attribute), 10);
  const holder = (node) => {
    const element = node instanceof Element ? node : node instanceof Node ? parentOf(node) : null;
    return element ? closest(element, numbered) : null;
  };
  const isShown = (element) => shapes(element).length > 0;

  // What shows where the choice is stands in a shadow root, which the page's style sheets do not reach.
  const place = () => {
    const host = create(document, "div");
    const base = "all:initial!important;position:fixed!important;z-index:2147483647!important;inset:0!important;" +
      "pointer-events:none!important;display:block!important;contain:strict!important";
    write(host, "style", base);
    const inner = shadow(host, { mode: "closed" });
    const part = (style) => {
      const each = create(document, "div");
      write(each, "style", style);
      append(inner, each);
      return each;
    };
    hover = part("position:absolute;display:none;outline:2px solid #000;box-shadow:0 0 0 4px #ffd54a;opacity:.9");
    around = part("position:absolute;display:none;outline:3px solid #000;outline-offset:2px;" +
      "box-shadow:0 0 0 6px #ffd54a");
    told = part("position:absolute;inset:auto 0 0 0;display:none;background:#14181a;color:#fff;padding:6px 12px;" +
      "font:14px/1.4 system-ui,-apple-system,'Segoe UI',sans-serif");
    write(told, "role", "status");
    append(root, host);
  };

  const put = (box, element) => {
    if (!box) return;
    const where = element && isShown(element) ? shape(element) : null;
    box.style.display = where ? "block" : "none";
    if (!where) return;
    for (const [name, value] of [["left", where.left], ["top", where.top], ["width", where.width], ["height", where.height]]) {
      box.style[name] = `${value}px`;
    }
  };

  const describe = (element) => {
    const first = firstOf(element);
    const label = first && read(first, `${attribute}-label`) !== null ? (textOf(first) || "").length : 0;
    const text = (textOf(element) || "").slice(label, label + 400).replace(/\s+/g, " ").trim().slice(0, 80);
    const named = read(element, "class") || read(element, "id") || "";
    return `<${nameOf(element)}>${named ? ` ${named.slice(0, 60)}` : ""}${text ? `: ${text}` : ""}`;
  };

  const say = (text) => {
    if (!told) return;
    setText(told, text);
    told.style.display = "block";
  };

  const go = (element) => {
    if (!element) return;
    at = element;
    show(element, { block: "nearest", inline: "nearest" });
    put(around, element);
    put(hover, null);
    say(`${describe(element)} – Enter chooses it; arrows: next, previous, around it, inside it; Escape leaves`);
  };

  const choose = (element) => {
    const number = element ? numberOf(element) : NaN;
    if (!Number.isSafeInteger(number) || number < 0) return;
    at = element;
    put(around, element);
    say(`Chosen: ${describe(element)}`);
    tell(number, cockpit);
  };

  const walk = (element, step) => {
    for (let each = step(element), left = 5000; each && left; each = step(each), left--) {
      if (read(each, attribute) !== null && isShown(each)) return each;
    }
    return null;
  };
  const inside = (element) => {
    const first = firstOf(element);
    if (!first) return null;
    return read(first, attribute) !== null && isShown(first) ? first : walk(first, nextOf);
  };
  const beside = (element, step) => {
    for (let each = element; each && each !== root; each = parentOf(each)) {
      const found = walk(each, step);
      if (found) return found;
    }
    return null;
  };
  const upper = (element) => {
    const up = parentOf(element);
    return up && up !== root ? closest(up, numbered) : null;
  };
  const first = () => {
    const body = select(document, `body${numbered}`) || root;
    return inside(body) || body;
  };

  const keys = {
    ArrowDown: () => go(at ? beside(at, nextOf) : first()),
    ArrowUp: () => go(at ? beside(at, previousOf) : first()),
    ArrowLeft: () => go(at ? upper(at) : first()),
    ArrowRight: () => go(at ? inside(at) : first()),
    Enter: () => choose(at),
    " ": () => choose(at),
    Escape: () => tell(LEAVE, cockpit),
  };

  const quiet = (event) => {
    stop(event);
    halt(event);
  };
  listen(window, "keydown", (event) => {
    if (!event.isTrusted || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = event.key === "Tab" ? () => tell(event.shiftKey ? BACK : LEAVE, cockpit) : Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act) return;
    quiet(event);
    act();
  }, true);
  listen(window, "click", (event) => {
    quiet(event);
    if (event.isTrusted) choose(holder(event.target));
  }, true);
  for (const name of ["auxclick", "dblclick", "submit", "dragstart", "mousedown", "contextmenu"]) {
    listen(window, name, name === "mousedown" ? (event) => { stop(event); window.focus(); } : quiet, true);
  }
  listen(window, "mouseover", (event) => put(hover, holder(event.target)), true);
  listen(window, "mouseout", () => put(hover, null), true);
  const again = () => {
    put(hover, null);
    put(around, at);
  };
  listen(window, "scroll", again, { capture: true, passive: true });
  listen(window, "resize", again);
  listen(document, "DOMContentLoaded", () => {
    place();
    const wanted = Number.parseInt(chosen, 10);
    const found = wanted >= 0 ? select(document, `[${attribute}="${wanted}"]`) : null;
    if (!found) return;
    at = found;
    show(found, { block: "center", inline: "nearest" });
    put(around, found);
  });
  listen(window, "focus", () => {
    if (!at) say("Arrow keys go from element to element; Enter chooses; Escape leaves the page");
  });
})();
