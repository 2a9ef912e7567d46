// Follows an export that is being written; the page is drawn anew when it has ended.
(() => {
  const card = document.querySelector("[data-watch-export]");
  if (!card) return;
  const bar = card.querySelector("progress");
  const rows = card.querySelector("[data-export-rows]");
  const look = async () => {
    try {
      const answer = await fetch(card.dataset.watchExport, { headers: { Accept: "application/json" } });
      if (!answer.ok || !(answer.headers.get("Content-Type") || "").includes("json")) return;
      const said = await answer.json();
      if (said.state !== "queued" && said.state !== "running") {
        window.location.reload();
        return;
      }
      bar.value = said.percent;
      rows.textContent = `${said.rows.toLocaleString()} records`;
    } catch {
      // The server is away for a moment; the next look will do.
    }
    window.setTimeout(look, 1500);
  };
  window.setTimeout(look, 1000);
})();
