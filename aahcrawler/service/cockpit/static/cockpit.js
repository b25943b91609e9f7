// Everything works without this file; with it, pages keep up by themselves.
"use strict";
(() => {
  const main = () => document.getElementById("main");

  const replace = (part, html) => {
    const opened = [...part.querySelectorAll("details")].map((each) => each.open);
    part.innerHTML = html;
    part.querySelectorAll("details").forEach((each, at) => (each.open ||= opened[at] ?? false));
  };

  // <section data-live="URL"> with parts that have ids: each event names a part and brings its new content.
  const live = (element) => {
    let source = null;
    const open = () => {
      source = new EventSource(element.dataset.live);
      source.addEventListener("part", (event) => {
        const told = JSON.parse(event.data);
        const part = document.getElementById(told.id);
        if (part && !part.contains(document.activeElement)) replace(part, told.html);
      });
      source.addEventListener("end", () => source.close());
    };
    const follow = () => {
      if (document.hidden) source?.close();
      else open();
    };
    document.addEventListener("visibilitychange", follow);
    window.addEventListener("pagehide", () => source?.close());
    follow();
  };

  // <form data-check="URL" data-into="ID">: what is typed is sent there. The answer says what is wrong, and what text and
  // fields say now that each has taken over what was written into the other.
  const check = (form) => {
    let timer = 0;
    let asked = 0;
    // What was written since it was sent stays, and so does the field that is being written in.
    const put = (element, was, value) => {
      const isOpen = element === document.activeElement;
      if (!element || element.value !== was || value === was || (isOpen && element !== form.elements.yaml)) return;
      const { selectionStart, selectionEnd } = element;
      element.value = value;
      if (isOpen) element.setSelectionRange(selectionStart, selectionEnd);
    };
    const ask = async () => {
      const number = ++asked;
      const sent = new FormData(form);
      sent.delete("document");
      const answer = await fetch(form.dataset.check, { method: "POST", body: sent });
      if (number !== asked || !answer.ok) return;
      const told = await answer.json();
      document.getElementById(form.dataset.into).innerHTML = told.html;
      put(form.elements.yaml, sent.get("yaml"), told.yaml);
      if (form.elements.yaml.value === told.yaml) form.elements.base.value = told.yaml;
      for (const [name, value] of Object.entries(told.fields)) put(form.elements[name], sent.get(name), value);
    };
    form.addEventListener("input", (event) => {
      if (event.target.closest("[data-apart]")) return;
      clearTimeout(timer);
      timer = setTimeout(() => ask().catch(() => {}), 350);
    });
  };

  // <div data-again="URL">: work goes on; the element is replaced by what is there after a moment.
  const again = (element) => {
    setTimeout(async () => {
      try {
        const answer = await fetch(element.dataset.again);
        if (!answer.ok) return;
        const held = document.createElement("template");
        held.innerHTML = await answer.text();
        const next = [...held.content.querySelectorAll("[data-again]")];
        element.replaceWith(held.content);
        next.forEach(again);
      } catch {
        setTimeout(() => again(element), 3000);
      }
    }, Number(element.dataset.after ?? 700));
  };

  // <iframe data-chosen="URL" data-origin="ORIGIN" data-into="ID">: whoever chooses an element in the frame gets, in the
  // place named, what the URL says of its number. The frame is hostile: it may say a number of its own page, no more.
  // Links and forms with data-part lead to other states of that place, and so does what it carries along.
  const LEAVE = -1, BACK = -2, MOST_ELEMENTS = 1e6;
  const chooser = (frame) => {
    const into = document.getElementById(frame.dataset.into);
    let asked = 0;
    const ask = async (query) => {
      const number = ++asked;
      into.setAttribute("aria-busy", "true");
      const answer = await fetch(`${frame.dataset.chosen}?${query}`).finally(() => into.removeAttribute("aria-busy"));
      if (number !== asked) return;
      if (!answer.ok) return location.assign(`${frame.dataset.chosen.replace(/\/chosen$/, "")}?${query}`);
      into.innerHTML = await answer.text();
      into.scrollTop = 0;
      into.querySelector("h2")?.focus({ preventScroll: innerWidth > 1024 });
    };
    const out = (isBack) => {
      const all = "a[href], button, input, select, textarea, summary, [tabindex='0'], iframe";
      const stops = [...document.querySelectorAll(all)].filter(
        (each) => each === frame || (each.tabIndex >= 0 && !each.disabled && each.getClientRects().length));
      (stops[stops.indexOf(frame) + (isBack ? -1 : 1)] ?? main())?.focus();
    };
    window.addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== frame.dataset.origin) return;
      if (!Number.isInteger(event.data)) return;
      if (event.data === LEAVE || event.data === BACK) return out(event.data === BACK);
      if (event.data < 0 || event.data > MOST_ELEMENTS) return;
      const carried = new URLSearchParams(into.querySelector("[data-carry]")?.dataset.carry ?? "");
      carried.set("element", event.data);
      ask(carried).catch(() => {});
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-part]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      ask(new URL(link.href).searchParams).catch(() => {});
    });
    document.addEventListener("submit", (event) => {
      if (!event.target.matches("form[data-part]")) return;
      event.preventDefault();
      ask(new URLSearchParams(new FormData(event.target))).catch(() => {});
    });
  };

  // <input data-finds="ID">: of the fields in that place those stay whose names or helps say what is typed; their folds open.
  const finder = (input) => {
    const place = document.getElementById(input.dataset.finds);
    const folds = [...place.querySelectorAll("details")];
    const were = folds.map((fold) => fold.open);
    input.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    input.addEventListener("input", (event) => {
      event.stopPropagation();  // Nothing was written.
      const wanted = input.value.trim().toLowerCase();
      folds.forEach((fold, at) => {
        const fields = [...fold.querySelectorAll(".field")];
        fields.forEach((field) => (field.hidden = !field.textContent.toLowerCase().includes(wanted)));
        fold.hidden = fields.every((field) => field.hidden);
        fold.open = wanted ? !fold.hidden : were[at];
      });
    });
  };

  // <svg data-brush> with parts of times: what is drawn over narrows the page to it. By keyboard, shift and the arrows
  // draw from the link that has the focus, and enter takes it; two fields for dates do the same everywhere.
  const brush = (line) => {
    const parts = [...line.querySelectorAll("[data-begin]")];
    const box = (each) => each.querySelector("rect").getBoundingClientRect();
    const at = (x) => Math.max(0, parts.findLastIndex((each) => box(each).left <= x));
    let first = null, last = null, isDrawn = false;
    const shown = () => parts.forEach((each, number) =>
      each.classList.toggle("brushed", first !== null && number >= Math.min(first, last) && number <= Math.max(first, last)));
    const take = () => {
      const [from, to] = [first, last].sort((one, other) => one - other);
      const asked = new URL(window.location.href);
      asked.searchParams.set("since", parts[from].dataset.begin);
      asked.searchParams.set("until", parts[to].dataset.end);
      ["offset", "after"].forEach((name) => asked.searchParams.delete(name));
      window.location.assign(asked);
    };
    line.addEventListener("dragstart", (event) => event.preventDefault());
    line.addEventListener("pointerdown", (event) => {
      if (event.button === 0) [first, last, isDrawn] = [at(event.clientX), at(event.clientX), true];
    });
    line.addEventListener("pointermove", (event) => {
      if (!isDrawn) return;
      last = at(event.clientX);
      if (first !== last) shown();
    });
    line.addEventListener("click", (event) => {
      if (line.dataset.drawn) event.preventDefault();
      delete line.dataset.drawn;
    });
    window.addEventListener("pointerup", () => {
      if (!isDrawn) return;
      isDrawn = false;
      if (first === last) return;
      line.dataset.drawn = "yes";  // The click that follows is none of the link beneath.
      take();
    });
    window.addEventListener("pointercancel", () => (isDrawn = false));
    line.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.shiftKey && step) {
        const focused = event.target.closest("a")?.querySelector("rect, circle")?.getBoundingClientRect();
        if (!focused) return;
        event.preventDefault();
        if (isDrawn || first === null) [first, last] = Array(2).fill(at(focused.left + focused.width / 2));
        last = Math.min(parts.length - 1, Math.max(0, last + step));
        shown();
      } else if (event.key === "Enter" && first !== null && first !== last) {
        event.preventDefault();
        take();
      } else if (event.key === "Escape") {
        first = last = null;
        shown();
      }
    });
  };

  // <div data-decides>: its forms are sent without leaving the place; keys press the buttons of the item with the focus.
  const decides = (list) => {
    const places = () => [...list.querySelectorAll("li[id]")].filter((each) => each.getClientRects().length);
    const focus = (place) => (place?.querySelector("button") ?? place?.querySelector("a"))?.focus();
    list.closest("section").querySelectorAll("[data-scripted]").forEach((each) => (each.hidden = false));
    list.addEventListener("keydown", (event) => {
      const place = event.target.closest("li[id]");
      if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const button = move ? null : place.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
      if (!move && !button) return;
      event.preventDefault();
      if (button) return button.click();
      const all = places();
      focus(all[all.indexOf(place) + move]);
    });
    list.addEventListener("submit", async (event) => {
      event.preventDefault();
      const form = event.target, place = form.closest("li[id]"), id = (place ?? form.closest("details")).id;
      const next = event.submitter.value === "undecided" ? id : (places()[places().indexOf(place) + 1]?.id ?? id);
      const open = [...list.querySelectorAll("details")].filter((each) => each.open).map((each) => each.id);
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)) });
      const read = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#main");
      if (!read?.querySelector("[data-decides]")) return location.assign(answer.url);
      main().innerHTML = read.innerHTML;
      const now = main().querySelector("[data-decides]");
      now.querySelectorAll("details").forEach((each) => (each.open = open.includes(each.id)));
      main().querySelectorAll("[data-again]").forEach(again);
      decides(now);
      focus(document.getElementById(next));
    });
  };

  // <div data-judging>: keys press the buttons and follow the links that name them, unless somebody types. Keys that are
  // typed in the frame stay there, so that the page has them again when the pointer leaves it.
  const judges = (place) => {
    place.querySelectorAll("[data-scripted]").forEach((each) => (each.hidden = false));
    document.addEventListener("pointerover", () => {
      if (document.activeElement?.localName === "iframe") main().focus({ preventScroll: true });
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.repeat) return;
      const field = event.target.closest("input, textarea, select");
      if (field) return event.key === "Escape" && main().focus({ preventScroll: true });
      const wanted = event.key === "c" ? document.getElementById("comment") : null;
      const pressed = place.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (!wanted && !pressed) return;
      event.preventDefault();
      if (wanted) wanted.focus();
      else pressed.click();
    });
  };

  // <form data-at-once>: it is sent as soon as the page is there, as a frame's ticket is.
  document.querySelectorAll("form[data-at-once]").forEach((form) => form.submit());
  document.querySelectorAll("iframe[data-chosen]").forEach(chooser);
  document.querySelectorAll("[data-live]").forEach(live);
  document.querySelectorAll("form[data-check]").forEach(check);
  document.querySelectorAll("[data-again]").forEach(again);
  document.querySelectorAll("[data-finds]").forEach(finder);
  document.querySelectorAll("[data-brush]").forEach(brush);
  document.querySelectorAll("[data-decides]").forEach(decides);
  document.querySelectorAll("[data-judging]").forEach(judges);
  // On a narrow screen the tabs are wider than the window.
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  // After an act, say what came of it.
  if (main()?.querySelector(".note[role=status]")) main().focus({ preventScroll: true });
})();
