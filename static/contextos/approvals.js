// Keys of the queue, of a request and of the confirm step; local times. Without it, links do it all.
"use strict";

(function () {
  function isTyping(target) {
    return target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog") !== null;
  }

  function go(address) {
    if (address) {
      window.location.assign(address);
    }
  }

  // --- the queue -----------------------------------------------------------------------------
  function walkQueue(queue) {
    const lines = Array.from(queue.querySelectorAll("[data-line]"));

    function here() {
      return lines.findIndex((line) => line.contains(document.activeElement));
    }

    function move(step) {
      const at = here();
      const next = at === -1 ? (step > 0 ? 0 : lines.length - 1) : at + step;
      const line = lines[Math.min(lines.length - 1, Math.max(0, next))];
      line.querySelector("[data-open]").focus({ preventScroll: true });
      line.scrollIntoView({ block: "nearest" });
    }

    const keys = {
      j: () => move(1),
      k: () => move(-1),
      o: (line) => line && line.querySelector("[data-open]").click(),
      a: (line) => line && go(line.dataset.approve),
      r: (line) => line && go(line.dataset.reject),
      x: (line) => {
        const box = line && line.querySelector("input[type=checkbox]");
        if (box) {
          box.checked = !box.checked;
        }
      },
    };
    onKeys(keys, () => lines[here()]);
  }

  // --- one request ---------------------------------------------------------------------------
  function walkRequest() {
    const follow = (name) => () => {
      const link = document.querySelector("a[data-" + name + "]");
      if (link) {
        link.click();
      }
    };
    onKeys({
      a: follow("approve"),
      r: follow("reject"),
      n: follow("next"),
      u: () => {
        const up = document.querySelector(".cos-trail a");
        if (up) {
          up.click();
        }
      },
      c: () => {
        const field = document.getElementById("id_text");
        if (field) {
          field.scrollIntoView({ block: "center" });
          field.focus({ preventScroll: true });
        }
      },
    });
  }

  function onKeys(keys, place) {
    document.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
        return;
      }
      if (Object.hasOwn(keys, event.key)) {
        event.preventDefault();
        keys[event.key](place ? place() : undefined);
      }
    });
  }

  // --- the confirm step ----------------------------------------------------------------------
  function watchForm(form) {
    let sent = false;
    form.addEventListener("keydown", function (event) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    form.addEventListener("submit", function (event) {
      if (sent) {
        event.preventDefault(); // an impatient second press is no second vote
      }
      sent = true;
    });
    window.addEventListener("pageshow", function () {
      sent = false; // back from the next page
    });
  }

  // --- times, help ---------------------------------------------------------------------------
  function addLocalTimes() {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone === "UTC") {
      return;
    }
    const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
    document.querySelectorAll("time[data-local]").forEach(function (time) {
      const words = document.createElement("span");
      words.className = "ap-time__local";
      words.textContent = " (" + local.format(new Date(time.dateTime)) + ")";
      time.append(words);
    });
  }

  function addKeysToHelp() {
    const more = document.getElementById("ap-keys");
    const list = document.querySelector("#cos-shortcuts dl");
    if (more && list) {
      list.prepend(more.content.cloneNode(true));
    }
  }

  const queue = document.querySelector("[data-queue]");
  if (queue) {
    walkQueue(queue);
  } else {
    walkRequest();
  }
  document.querySelectorAll("form[data-confirm]").forEach(watchForm);
  addLocalTimes();
  addKeysToHelp();
})();
