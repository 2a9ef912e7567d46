// Live findings while a draft is written, and keys on the review page. Without it, buttons do it all.
"use strict";

(function () {
  const PAUSE = 600;
  const LABELS = { block: ["blocks", "danger"], warn: ["warning", "warning"], info: ["note", "info"] };

  function element(tag, className, text) {
    const made = document.createElement(tag);
    made.className = className || "";
    if (text) {
      made.textContent = text; // never as HTML: findings quote the manifest
    }
    return made;
  }

  // Words in backticks are names out of the manifest.
  function prose(tag, className, text) {
    const made = element(tag, className);
    text.split("`").forEach(function (part, index) {
      made.append(index % 2 ? element("code", "", part) : part);
    });
    return made;
  }

  function label(severity) {
    const [words, tone] = LABELS[severity] || [severity, "neutral"];
    return element("span", "cos-badge cos-badge--" + tone, words);
  }

  function note(finding) {
    const line = element("p", "reg-note reg-note--" + finding.severity);
    line.append(label(finding.severity), " ", prose("b", "", finding.message), " ");
    line.append(prose("span", "", finding.remediation));
    return line;
  }

  function listed(finding) {
    const item = element("li", "reg-finding reg-finding--" + finding.severity);
    const head = element("p", "reg-finding__head");
    head.append(label(finding.severity), " ", prose("strong", "", finding.message));
    const where = element("p", "reg-finding__where");
    where.append(element("code", "", finding.rule));
    if (finding.line) {
      where.append(" line " + finding.line + ",");
    }
    where.append(" ");
    if (finding.field) {
      const link = element("a", "cos-link");
      link.href = "#" + encodeURIComponent(finding.field);
      link.append(element("code", "", finding.pointer));
      link.addEventListener("click", function (event) {
        event.preventDefault();
        const field = document.getElementById(finding.field);
        if (field) {
          field.scrollIntoView({ block: "center" });
          field.focus({ preventScroll: true });
        }
      });
      where.append(link);
    } else {
      where.append(element("code", "", finding.pointer));
    }
    item.append(head, prose("p", "reg-finding__fix", finding.remediation), where);
    return item;
  }

  function summary(report) {
    if (report.fault) {
      const at = report.fault.line ? "Line " + report.fault.line + ": " : "";
      return at + report.fault.message;
    }
    const unreadable = Object.keys(report.faults).length;
    const parts = [];
    if (unreadable) {
      parts.push(unreadable + (unreadable === 1 ? " field" : " fields") + " can't be read");
    }
    parts.push(report.counts.block ? report.counts.block + " blocking" : "nothing blocks");
    if (report.counts.warn) {
      parts.push(report.counts.warn + " to tick");
    }
    return parts.join(", ");
  }

  function showBeside(form, report) {
    const places = new Map();
    form.querySelectorAll("[data-findings]").forEach(function (place) {
      place.replaceChildren();
      places.set(place.dataset.findings, place);
      const field = document.getElementById(place.dataset.findings);
      if (field) {
        field.removeAttribute("aria-invalid");
      }
    });
    report.findings.forEach(function (finding) {
      const place = places.get(finding.field);
      if (place) {
        place.append(note(finding));
        mark(finding.field, finding.severity === "block");
      }
    });
    Object.entries(report.faults).forEach(function ([name, message]) {
      const place = places.get(name);
      if (place) {
        place.append(element("p", "reg-note reg-note--block", message));
        mark(name, true);
      }
    });
  }

  function mark(id, blocks) {
    const field = document.getElementById(id);
    if (field && blocks && "value" in field) {
      field.setAttribute("aria-invalid", "true");
    }
  }

  function showSteps(form, counts) {
    form.querySelectorAll("[data-step-count]").forEach(function (badge) {
      const count = counts[badge.dataset.stepCount] || 0;
      badge.hidden = count === 0;
      badge.lastElementChild.textContent = String(count);
    });
  }

  // The box above says why the text could not be read when it was sent; it can be by now.
  function hideOldFault(report) {
    const box = document.getElementById("fault");
    if (box) {
      box.hidden = !report.fault;
    }
  }

  function show(form, report) {
    showSteps(form, report.steps);
    form.querySelector("[data-status]").textContent = summary(report);
    hideOldFault(report);
    showBeside(form, report);
    const all = form.querySelector("[data-all]");
    all.replaceChildren(...report.findings.map(listed));
    form.querySelector("[data-total]").textContent = String(report.findings.length);
    form.querySelector("[data-none]").hidden = report.findings.length > 0 || Boolean(report.fault);
  }

  function watch(form) {
    let timer = 0;
    let running = null;

    async function check() {
      const data = new FormData(form);
      data.delete("file");
      if (running) {
        running.abort();
      }
      running = new AbortController();
      try {
        const answer = await fetch(form.dataset.check, {
          method: "POST",
          body: data,
          signal: running.signal,
          credentials: "same-origin",
        });
        if (answer.ok) {
          show(form, await answer.json());
        } else {
          form.querySelector("[data-status]").textContent = "Could not check; press Check.";
        }
      } catch (fault) {
        if (fault.name !== "AbortError") {
          form.querySelector("[data-status]").textContent = "Could not check; press Check.";
        }
      }
    }

    form.addEventListener("input", function (event) {
      if (event.target.type === "file" || event.target.name.startsWith("sample/")) {
        return;
      }
      window.clearTimeout(timer);
      timer = window.setTimeout(check, PAUSE);
    });
  }

  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  function walkChanges() {
    const changes = Array.from(document.querySelectorAll("[data-change]"));
    let at = -1;

    document.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
        return;
      }
      if (event.key === "d") {
        const decision = document.getElementById("id_reason") || document.getElementById("decide");
        if (decision) {
          event.preventDefault();
          decision.scrollIntoView({ block: "center" });
          decision.focus({ preventScroll: true });
        }
      } else if (event.key === "j" || event.key === "k") {
        at = Math.min(changes.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)));
        if (changes[at]) {
          changes[at].scrollIntoView({ block: "center" });
          changes[at].focus({ preventScroll: true });
        }
      }
    });
  }

  // The theme would copy the file's name into the nearest text field, whatever that is.
  document.querySelectorAll("input[type=file]").forEach(function (field) {
    field.hasChangeListener = true;
  });
  document.querySelectorAll("form[data-check]").forEach(watch);
  if (document.querySelector("[data-changes]")) {
    walkChanges();
  }
})();
