/* Draws the dashboards' charts with the Chart.js that the admin ships; data stands in attributes. */
(() => {
  "use strict";
  const drawn = [];
  const PATTERNS = { executed: "--board-good", failed: "--board-bad", denied: "--board-held", p99: "--board-bad", mean: "--board-line" };

  const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

  const datasets = (board) =>
    Object.entries(board.series).map(([name, values]) => ({
      label: name,
      data: values,
      backgroundColor: colour(PATTERNS[name] || "--board-line"),
      borderColor: colour(PATTERNS[name] || "--board-line"),
      borderWidth: board.kind === "line" ? 2 : 0,
      borderDash: name === "p99" ? [6, 4] : [],
      pointRadius: board.kind === "line" ? 2.5 : 0,
      pointHitRadius: 12,
      spanGaps: true,
      maxBarThickness: board.sideways ? 22 : 40,
    }));

  const axis = (board, counts) => ({
    stacked: Boolean(board.stacked),
    beginAtZero: true,
    grid: { color: colour("--cos-line"), display: counts },
    border: { display: false },
    ticks: counts
      ? { color: colour("--cos-text"), precision: 0, maxTicksLimit: 6 }
      : { color: colour("--cos-text"), maxRotation: 0, autoSkip: !board.sideways, maxTicksLimit: board.sideways ? undefined : 9 },
    title: counts && board.unit ? { display: true, text: board.unit, color: colour("--cos-text") } : {},
  });

  const options = (board) => ({
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    indexAxis: board.sideways ? "y" : "x",
    interaction: { mode: "index", intersect: false, axis: board.sideways ? "y" : "x" },
    scales: { x: axis(board, Boolean(board.sideways)), y: axis(board, !board.sideways) },
    plugins: {
      legend: { position: "top", align: "end", labels: { color: colour("--cos-text"), boxWidth: 12, boxHeight: 12 } },
    },
  });

  const draw = (canvas) => {
    const board = JSON.parse(canvas.dataset.board);
    if (board.sideways) {
      canvas.parentElement.style.height = `${Math.max(160, 70 + board.labels.length * 34)}px`;
    }
    drawn.push(new Chart(canvas, { type: board.kind, data: { labels: board.labels, datasets: datasets(board) }, options: options(board) }));
  };

  const drawAll = () => {
    drawn.splice(0).forEach((chart) => chart.destroy());
    document.querySelectorAll("canvas[data-board]").forEach(draw);
  };

  const start = () => {
    if (typeof Chart === "undefined") {
      return;
    }
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    drawAll();
    // The theme is a class of the page: colours are taken anew when it changes.
    new MutationObserver(drawAll).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  };

  if (document.readyState === "complete") {
    start();
  } else {
    window.addEventListener("load", start);
  }
})();
