"use strict";
(function () {
  var rows = Array.prototype.slice.call(document.querySelectorAll(".row"));
  var texts = [];
  var input = document.getElementById("filter");
  var shown = document.getElementById("shown");

  function filter() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var left = 0;
    rows.forEach(function (row, i) {
      if (texts[i] === undefined) {
        texts[i] = row.textContent.toLowerCase();
      }
      var fits = words.every(function (word) { return texts[i].indexOf(word) >= 0; });
      row.hidden = !fits;
      left += fits ? 1 : 0;
    });
    shown.textContent = words.length ? left + " of " + rows.length + " entries" : "";
  }

  function key(row, column) {
    var cell = row.cells[column];
    return cell.dataset.n || cell.textContent.trim();
  }

  function sort(table, heading, column) {
    var down = heading.getAttribute("aria-sort") === "ascending";
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) { cell.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    var order = new Intl.Collator("en", { numeric: true });
    var body = table.tBodies[0];
    var keyed = Array.prototype.map.call(body.rows, function (row) { return { row: row, key: key(row, column) }; });
    keyed.sort(function (a, b) {
      if (!a.key || !b.key) {
        return (a.key ? 0 : 1) - (b.key ? 0 : 1);
      }
      return (down ? -1 : 1) * order.compare(a.key, b.key);
    });
    var sorted = document.createDocumentFragment();
    keyed.forEach(function (entry) { sorted.appendChild(entry.row); });
    body.appendChild(sorted);
  }

  document.querySelectorAll("table.sorts").forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", function () { sort(table, heading, column); });
      heading.replaceChildren(button);
    });
  });

  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
  });

  input.addEventListener("input", filter);
  input.closest("p").hidden = false;
})();
