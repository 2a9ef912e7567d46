// Keyboard shortcuts, the menu filter, and the copy and print buttons. No inline script anywhere.
"use strict";

(function () {
  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  function focusSearch() {
    const field =
      document.getElementById("searchbar") || document.getElementById("nav-filter");
    if (field && field.offsetParent !== null) {
      field.focus();
      field.select();
    }
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      focusSearch();
    } else if (event.key === "?") {
      event.preventDefault();
      openShortcuts();
    }
  }

  function openShortcuts() {
    const dialog = document.getElementById("cos-shortcuts");
    if (dialog && !dialog.open) {
      dialog.showModal();
    }
  }

  function filterMenu(event) {
    const wanted = event.target.value.trim().toLowerCase();
    document.querySelectorAll("[data-menu-entry]").forEach(function (entry) {
      entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
    });
    document.querySelectorAll("[data-menu-group]").forEach(function (group) {
      group.hidden = group.querySelector("[data-menu-entry]:not([hidden])") === null;
    });
  }

  function openFirstMatch(event) {
    if (event.key === "Enter") {
      const link = document.querySelector("[data-menu-entry]:not([hidden]) a");
      if (link && event.target.value.trim()) {
        event.preventDefault(); // else the form goes on to the global search
        link.click();
      }
    } else if (event.key === "Escape") {
      event.target.value = "";
      filterMenu(event);
      event.target.blur();
    }
  }

  async function copyFrom(button) {
    const source = document.getElementById(button.dataset.copy);
    const lines = Array.from(source.children, (line) => line.textContent.trim());
    const status = document.getElementById(button.dataset.status);
    try {
      await navigator.clipboard.writeText(lines.join(button.dataset.joint || "\n"));
      status.textContent = "Copied.";
    } catch {
      status.textContent = "Your browser did not allow copying. Select the text and copy it.";
    }
  }

  function onClick(event) {
    const button = event.target.closest("[data-copy], [data-print], [data-shortcuts]");
    if (!button) {
      return;
    }
    if ("copy" in button.dataset) {
      copyFrom(button);
    } else if ("print" in button.dataset) {
      window.print();
    } else {
      openShortcuts();
    }
  }

  // The theme hides the page until its script has run, and a hidden field can't take the focus.
  function focusFirstField() {
    const field = document.querySelector("[autofocus]");
    if (field && document.activeElement === document.body) {
      field.focus();
    }
  }

  // A long menu may hide the entry of the page one is on.
  function showPresentEntry() {
    const menu = document.getElementById("nav-sidebar-apps");
    const entry = menu && menu.querySelector("[aria-current=page]");
    if (entry) {
      const from = entry.getBoundingClientRect();
      const within = menu.getBoundingClientRect();
      if (from.top < within.top || from.bottom > within.bottom) {
        menu.scrollTop += from.top - within.top - (within.height - from.height) / 2;
      }
    }
  }

  function start() {
    const filter = document.getElementById("nav-filter");
    if (filter) {
      filter.addEventListener("input", filterMenu);
      filter.addEventListener("keydown", openFirstMatch);
    }
    document.addEventListener("keydown", onKey);
    document.addEventListener("click", onClick);
    focusFirstField();
    showPresentEntry();
  }

  document.addEventListener("DOMContentLoaded", start);
})();
