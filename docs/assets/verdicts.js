// The table of verdicts on the page Results: sort it by any column, filter it by paper, place, verdict and words.
// Without this script it is a plain table in the order of the papers.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const table = [...document.querySelectorAll("table")].find((t) => columnsOf(t).includes("verdict"));
  if (table) makeInteractive(table);
});

function columnsOf(table) {
  return [...table.querySelectorAll("thead th")].map((th) => th.textContent.trim());
}

function makeInteractive(table) {
  const columns = columnsOf(table);
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const text = (row, column) => row.cells[columns.indexOf(column)].textContent.trim();
  const headers = [...table.querySelectorAll("thead th")];
  const state = { column: null, down: false };

  table.classList.add("verdicts");
  rows.forEach((row) => row.classList.add(`verdict-${text(row, "verdict").replaceAll(" ", "-")}`));

  // Filters above the table.
  const bar = document.createElement("div");
  bar.className = "verdicts-bar";
  const words = labelled(bar, "search", document.createElement("input"));
  words.type = "search";
  const choices = ["paper", "place", "verdict"].map((column) => {
    const select = labelled(bar, column, document.createElement("select"));
    for (const value of ["all", ...new Set(rows.map((row) => text(row, column)))]) select.add(new Option(value));
    return [column, select];
  });
  const shown = document.createElement("span");
  shown.setAttribute("role", "status");
  bar.append(shown);
  (table.closest(".md-typeset__scrollwrap") ?? table).before(bar);

  // Every header is a button: up, down, and back to the order of the papers.
  headers.forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = columns[i];
    button.addEventListener("click", () => {
      if (state.column !== i) Object.assign(state, { column: i, down: false });
      else if (!state.down) state.down = true;
      else state.column = null;
      update();
    });
    th.replaceChildren(button);
  });

  function update() {
    const needle = words.value.trim().toLowerCase().split(/\s+/);
    const sorted = [...rows];
    if (state.column !== null) {
      const key = (row) => row.cells[state.column].textContent.trim();
      sorted.sort((a, b) => compare(key(a), key(b)) * (state.down ? -1 : 1));
    }
    let count = 0;
    let group = null;
    for (const row of sorted) {
      const all = row.textContent.toLowerCase();
      const fits = choices.every(([column, select]) => select.selectedIndex === 0 || text(row, column) === select.value);
      row.hidden = !(fits && needle.every((word) => all.includes(word)));
      count += row.hidden ? 0 : 1;
      if (row.hidden) continue;
      const here = `${text(row, "paper")}, ${text(row, "place")}`;
      row.classList.toggle("new-group", here !== group && [null, 0, 1].includes(state.column));
      group = here;
    }
    body.append(...sorted);
    headers.forEach((th, i) => {
      th.setAttribute("aria-sort", i !== state.column ? "none" : state.down ? "descending" : "ascending");
    });
    shown.textContent = `${count} of ${rows.length} claims`;
  }

  bar.addEventListener("input", update);
  update();
}

function labelled(bar, name, control) {
  const label = document.createElement("label");
  label.append(`${name} `, control);
  bar.append(label);
  return control;
}

// Numbers by their value, which "+1,021 (+915 to +1,127) Elo" begins with; anything else as words with numbers in them.
function compare(a, b) {
  const [x, y] = [a, b].map((cell) => /^(?:at least |at most |above )?([+-]?[\d,]+(?:\.\d+)?)/.exec(cell)?.[1]);
  if (x !== undefined && y !== undefined) return Number(x.replaceAll(",", "")) - Number(y.replaceAll(",", ""));
  return a.localeCompare(b, "en", { numeric: true });
}
