// Runs in a world of its own in the page's frame, which shares the document with the page's scripts and nothing else.
(() => {
  "use strict";
  // Elements of a page may take the names of a document's properties; what the prototypes have, they cannot take.
  const own = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const all = (root, selector) =>
    (root === document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, selector);
  const roots = new Set();
  let changed = performance.now(), dirty = true, mostElements = 0, mostText = 0;
  const observer = new MutationObserver(() => { dirty = true; });

  const watch = (root) => {
    if (!roots.has(root) && roots.size < 5000) {
      roots.add(root);
      observer.observe(root, { childList: true, characterData: true, subtree: true });
    }
  };

  const measure = () => {
    let elements = 0, text = 0;
    for (const root of roots) {
      if (root !== document && !root.isConnected) {
        roots.delete(root);
        continue;
      }
      for (const element of all(root, "*")) {
        elements += 1;
        if (element.shadowRoot) {
          watch(element.shadowRoot);
        }
      }
      const body = root === document ? own("body") : root;
      text += body ? body.textContent.length : 0;
    }
    if (elements > mostElements || text > mostText) {
      changed = performance.now();
      mostElements = Math.max(elements, mostElements);
      mostText = Math.max(text, mostText);
    }
    dirty = false;
  };

  // Resolves when the document has not grown for `still` milliseconds.
  globalThis.restOfGrowth = (still) => new Promise((resolve) => {
    const look = () => {
      if (dirty) {
        measure();
      }
      const wait = changed + still - performance.now();
      if (wait <= 0) {
        resolve(true);
      } else {
        setTimeout(look, Math.min(100, wait));
      }
    };
    look();
  });

  // How many letters and digits the page shows, at most 200, pictures and the like counted as many.
  globalThis.shownLetters = () => {
    const body = own("body");
    if (!body || all(document, "canvas, embed, img, object, svg, video").length > 0) {
      return body ? 200 : 0;
    }
    let letters = 0;
    for (const root of roots) {
      const shown = root === document ? body.innerText : root.textContent;
      letters += (String(shown).slice(0, 20000).match(/[\p{L}\p{N}]/gu) || []).length;
    }
    return Math.min(200, letters);
  };

  // Writes rules that scripts gave to style sheets into the document, so that its markup has them.
  const writeRules = () => {
    let left = 2000000;
    const rulesOf = (sheet) => {
      let rules = "";
      try {
        rules = Array.from(sheet.cssRules, (rule) => rule.cssText).join("\n");
      } catch {
        return "";
      }
      left -= rules.length;
      return left < 0 ? "" : rules;
    };
    for (const root of roots) {
      for (const element of all(root, "style")) {
        if (element.sheet && element.sheet.cssRules.length > 0 && element.textContent.trim() === "") {
          element.textContent = rulesOf(element.sheet);
        }
      }
      for (const sheet of root.adoptedStyleSheets) {
        const rules = rulesOf(sheet);
        if (rules !== "") {
          const element = Document.prototype.createElement.call(document, "style");
          element.textContent = rules;
          (root === document ? own("head") || own("documentElement") : root).append(element);
        }
      }
    }
  };

  // Shows the page from its top, and returns what it calls itself.
  globalThis.finish = () => {
    if (dirty) {
      measure();
    }
    writeRules();
    scrollTo({ left: 0, top: 0, behavior: "instant" });
    return { title: own("title"), url: location.href };
  };

  // A navigation that would replace the document with one that never passes the network.
  navigation.addEventListener("navigate", (event) => {
    const url = event.destination.url;
    if (!event.destination.sameDocument && !/^https?:/i.test(url) && event.cancelable) {
      event.preventDefault();
      globalThis["TELL"]("navigation");
    }
  });

  watch(document);
})();
