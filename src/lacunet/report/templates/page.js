// What a page can do: sort and filter tables, filter cards, show tooltips, move the
// threshold of a classifier. Without it, all is there to read.
"use strict";

// --- tables

const UNITS = { s: 1, min: 60, h: 3600 };

// The number that a cell holds, without its error; a time in seconds; NaN if none.
function numberOf(text) {
  const found = text
    .replace(/[,+<>≥\s]/g, "")
    .replace("−", "-")
    .match(/^±?(-?\d*\.?\d+(?:e[-+]?\d+)?)(s|min|h)?[%*]?(?:[±(].*)?$/i);
  return found ? Number(found[1]) * (UNITS[found[2]] || 1) : NaN;
}

function textOf(row, column) {
  const cell = row.cells[column];
  return cell ? (cell.dataset.sort || cell.textContent).trim() : "";
}

function sortBy(table, column, descending) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows).map((row) => ({ row, text: textOf(row, column) }));
  const isEmpty = (text) => text === "" || text === "–";
  const numeric = rows.every(({ text }) => isEmpty(text) || !isNaN(numberOf(text)));
  rows.sort((a, b) => {
    if (isEmpty(a.text) || isEmpty(b.text)) return isEmpty(a.text) - isEmpty(b.text);
    const order = numeric
      ? numberOf(a.text) - numberOf(b.text)
      : a.text.localeCompare(b.text, "en", { numeric: true });
    return descending ? -order : order;
  });
  body.append(...rows.map(({ row }) => row));
  Array.from(table.tHead.rows[0].cells).forEach((cell, place) => {
    const direction = descending ? "descending" : "ascending";
    cell.setAttribute("aria-sort", place === column ? direction : "none");
  });
}

function makeSortable(table) {
  Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...cell.childNodes);
    cell.append(button);
    cell.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      // Numbers are sought from the top, names from the beginning.
      const current = cell.getAttribute("aria-sort");
      const first = textOf(table.tBodies[0].rows[0], column);
      const descending = current === "none" ? !isNaN(numberOf(first)) : current === "ascending";
      sortBy(table, column, descending);
    });
  });
}

// A box above a table or a group of cards that hides what lacks the text in it.
function addFilter(before, items, noun) {
  const box = document.createElement("input");
  box.type = "search";
  box.placeholder = `Filter ${items.length} ${noun}`;
  box.setAttribute("aria-label", box.placeholder);
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const bar = document.createElement("div");
  bar.className = "filter";
  bar.append(box, count);
  before.before(bar);
  box.addEventListener("input", () => {
    const sought = box.value.trim().toLowerCase();
    let shown = 0;
    for (const item of items) {
      const text = item.dataset.filter || item.textContent;
      item.hidden = !text.toLowerCase().includes(sought);
      shown += !item.hidden;
    }
    count.textContent = sought ? `${shown} of ${items.length}` : "";
  });
}

for (const table of document.querySelectorAll("table.sortable")) {
  const rows = Array.from(table.tBodies[0].rows);
  if (rows.length > 1) makeSortable(table);
  if (rows.length > 10) addFilter(table.closest(".scroll"), rows, "rows");
}
for (const group of document.querySelectorAll(".columns")) {
  const cards = Array.from(group.children);
  if (cards.length > 8) addFilter(group, cards, "columns");
}

// --- tooltips

const tooltip = document.createElement("div");
tooltip.className = "tooltip";
tooltip.hidden = true;
document.body.append(tooltip);

function showTooltip(text, x, y) {
  tooltip.hidden = !text;
  if (!text) return;
  tooltip.textContent = text;
  const { width, height } = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 4))}px`;
  tooltip.style.top = `${y - height - 12 < 0 ? y + 16 : y - height - 12}px`;
}

// Titles of marks in drawings: shown at once, where the browser would wait.
for (const title of document.querySelectorAll("svg title")) {
  title.parentElement.dataset.tip = title.textContent;
  title.remove();
}

// The cell of a map below the pointer, in words.
function describeCell(image, event) {
  const map = JSON.parse(image.closest("[data-map]").dataset.map);
  const place = image.getBoundingClientRect();
  const across = (event.clientX - place.left) / place.width;
  const down = (event.clientY - place.top) / place.height;
  const row = Math.min(Math.floor(down * map.cells.length), map.cells.length - 1);
  const cells = map.cells[row];
  const column = Math.floor(across * map.names.length);
  if (row < 0 || column < 0 || column >= map.names.length) return "";
  const percent = Math.round((100 * (cells.charCodeAt(column) - 48)) / 50);
  const from = Math.floor((row * map.rows) / map.cells.length) + 1;
  const to = Math.max(Math.floor(((row + 1) * map.rows) / map.cells.length), from);
  const which = from === to ? `row ${from}` : `rows ${from} to ${to}`;
  return `${map.names[column]}, ${map.sorted ? "sorted " : ""}${which}: ${
    from === to && percent === 100 ? "missing" : `${percent}% missing`
  }`;
}

document.addEventListener("pointermove", (event) => {
  const image = event.target.closest("[data-map] image");
  const mark = event.target.closest("[data-tip]");
  const text = image ? describeCell(image, event) : mark ? mark.dataset.tip : "";
  showTooltip(text, event.clientX, event.clientY);
});
document.addEventListener("pointerleave", () => showTooltip("", 0, 0));
addEventListener("scroll", () => showTooltip("", 0, 0), { passive: true });

// --- the threshold of a classifier of two classes

function followThreshold(box) {
  const { positives, negatives, true_positives, false_positives } = JSON.parse(
    box.dataset.threshold,
  );
  const slider = box.querySelector("input[type=range]");
  const put = (name, text) => {
    box.querySelector(`[data-count=${name}]`).textContent = text;
  };
  const rate = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : "–");
  const update = () => {
    const [tp, fp] = [true_positives[slider.value], false_positives[slider.value]];
    const [fn, tn] = [positives - tp, negatives - fp];
    const shown = { tp, fp, fn, tn };
    for (const [name, number] of Object.entries(shown)) put(name, number.toLocaleString("en"));
    put("threshold", `${((100 * slider.value) / slider.max).toFixed(1)}%`);
    put("precision", rate(tp, tp + fp));
    put("recall", rate(tp, positives));
    put("specificity", rate(tn, negatives));
    put("accuracy", rate(tp + tn, positives + negatives));
    const cells = { tp: tp / positives, fn: fn / positives, fp: fp / negatives, tn: tn / negatives };
    for (const [name, fraction] of Object.entries(cells)) {
      const cell = box.querySelector(`td[data-count=${name}]`);
      cell.style.setProperty("--fraction", positives && negatives ? fraction : 0);
    }
    moveDots(fp / negatives, tp / positives, tp + fp ? tp / (tp + fp) : null);
  };
  slider.addEventListener("input", update);
  box.querySelector(".control").hidden = false;
  update();
}

// Dots on the ROC and precision-recall curves go with the threshold.
function moveDots(fallout, recall, precision) {
  const places = { roc: [fallout, recall], pr: [recall, precision] };
  for (const holder of document.querySelectorAll("[data-curve]")) {
    const { name, axes } = JSON.parse(holder.dataset.curve);
    const [[x, y], [left, bottom, right, top]] = [places[name], axes];
    const svg = holder.querySelector("svg");
    let dot = svg.querySelector(".threshold");
    if (!dot) {
      dot = document.createElementNS(svg.namespaceURI, "circle");
      dot.setAttribute("class", "threshold");
      dot.setAttribute("r", "5");
      svg.append(dot);
    }
    dot.setAttribute("visibility", y === null ? "hidden" : "visible");
    dot.setAttribute("cx", left + (right - left) * x);
    dot.setAttribute("cy", bottom + (top - bottom) * (y || 0));
  }
}

for (const box of document.querySelectorAll("[data-threshold]")) followThreshold(box);
