// Keeps parts of a page as they are now, so that it can be watched. A part in which somebody writes
// or is told of a mistake, or on which the keyboard rests, is left alone.
(() => {
  const PAUSE = 4000;
  const parts = () => document.querySelectorAll("[data-watch]");
  if (!parts().length) return;
  const isInUse = (part) =>
    part.contains(document.activeElement) ||
    part.querySelector(".cos-field__error") ||
    [...part.querySelectorAll("input[type=text]")].some((field) => field.value !== field.defaultValue);
  const look = async () => {
    try {
      if (!document.hidden) {
        const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
        if (answer.redirected) return; // signed out: the page stays as it was
        if (answer.ok) draw(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
    } catch {
      // The server is away for a moment; the next look will do.
    }
    window.setTimeout(look, PAUSE);
  };
  const draw = (fresh) => {
    for (const part of parts()) {
      const now = fresh.querySelector(`[data-watch="${part.dataset.watch}"]`);
      if (now && !isInUse(part) && now.innerHTML !== part.innerHTML) part.replaceChildren(...now.childNodes);
    }
  };
  window.setTimeout(look, PAUSE);
})();
