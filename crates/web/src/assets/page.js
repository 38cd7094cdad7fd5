// Scrubjay's page: news as they come, filter, order, keys. Without it the page shows the same, as it was when it was loaded.
"use strict";

const find = (what, inside = document) => inside.querySelector(what);
const all = (what, inside = document) => Array.from(inside.querySelectorAll(what));
let wanted = ""; // what the filter holds
let order = null; // the label of the table that is ordered, its column, and which way

function filter() {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of all("[data-find]")) {
    row.classList.toggle("gone", !words.every((word) => row.dataset.find.includes(word)));
  }
  const details = find("details.all");
  if (details && words.length) details.open = true;
}

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.sort ?? cell.textContent.trim();
}

function arrange(table, column, isDown) {
  const body = table.tBodies[0];
  const compare = (one, other) => {
    const [a, b] = [value(one, column), value(other, column)];
    const [x, y] = [Number(a), Number(b)];
    const by = Number.isNaN(x) || Number.isNaN(y) || a === "" || b === "" ? a.localeCompare(b, "en", { numeric: true }) : x - y;
    return isDown ? -by : by;
  };
  body.append(...Array.from(body.rows).sort(compare));
  Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

// What only works here appears here.
function dress() {
  for (const hidden of all("[hidden]")) {
    if (hidden.matches("label.filter, p.keys, button.copy")) hidden.hidden = false;
  }
  const input = find("#filter");
  if (input) {
    input.value = wanted;
    input.addEventListener("input", () => {
      wanted = input.value;
      filter();
    });
    filter();
  }
  for (const table of all("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", () => {
        const isDown = head.getAttribute("aria-sort") === "ascending";
        order = [table.getAttribute("aria-label"), column, isDown];
        arrange(table, column, isDown);
      });
    });
    if (order && order[0] === table.getAttribute("aria-label")) arrange(table, order[1], order[2]);
  }
  for (const button of all("button.copy")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(find("#" + button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

// A name by which the thing that has the focus is found again on a new page.
function mark(element) {
  if (!element || element === document.body) return null;
  if (element.id) return "#" + CSS.escape(element.id);
  const to = element.getAttribute("href");
  return to ? `a[href="${CSS.escape(to)}"]` : null;
}

// Nothing that is old looks as if it were so now.
let heardAt = Date.now();
let isStale = false;
const NOT_KNOWN = "Not known now: ";
function stale(isNow) {
  isStale = isNow;
  document.body.classList.toggle("stale", isNow);
  const banner = find("#no-news");
  if (!isNow) {
    if (banner) banner.remove();
    if (document.title.startsWith(NOT_KNOWN)) document.title = document.title.slice(NOT_KNOWN.length);
    return;
  }
  if (!document.title.startsWith(NOT_KNOWN)) document.title = NOT_KNOWN + document.title;
  if (banner || !find("main")) return;
  const words = document.createElement("p");
  words.id = "no-news";
  words.className = "stale";
  words.setAttribute("role", "alert");
  const at = new Date(heardAt);
  const two = (number) => String(number).padStart(2, "0");
  words.textContent = `No news since ${two(at.getHours())}:${two(at.getMinutes())}: what stands here is old`;
  find("main").prepend(words);
}

async function renew() {
  const focus = document.activeElement;
  // Nobody is disturbed who fills a form in.
  if (focus && focus.matches("input:not(#filter), select")) return;
  if (find("dialog[open]")) return;
  const answer = await fetch(location.pathname, { headers: { "X-Renew": "1" } });
  if (!answer.ok) return stale(true);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = find("main", page);
  if (!main) return;
  const open = all("details").map((details) => details.open);
  const name = mark(focus);
  const inside = focus && main && find("main").contains(focus);
  const at = focus && focus.id === "filter" ? focus.selectionStart : null;
  const said = find("main > .said");
  if (said && !find(".said", main)) main.prepend(said);
  find("main").replaceWith(document.adoptNode(main));
  for (const part of ["header", "footer"]) {
    const fresh = find(part, page);
    if (fresh) find(part).replaceWith(document.adoptNode(fresh));
  }
  document.title = page.title;
  stale(false);
  document.body.dataset.number = page.body.dataset.number;
  all("details").forEach((details, number) => (details.open = open[number] ?? details.open));
  dress();
  const again = inside && name ? find(name) : null;
  if (again) {
    again.focus({ preventScroll: true });
    if (at !== null) again.setSelectionRange(at, at);
  }
}

const SILENCE = 30000; // the server says something every few seconds
let isRenewing = false;
function listen() {
  const events = new EventSource("/events");
  const heard = (event) => {
    heardAt = Date.now();
    // After a silence all is asked for anew: the number may be that of another start.
    const isSame = event.type === "pulse" || event.data === document.body.dataset.number;
    if ((isSame && !isStale) || isRenewing) return;
    isRenewing = true;
    renew().catch(() => stale(true)).finally(() => (isRenewing = false));
  };
  events.addEventListener("picture", heard);
  events.addEventListener("pulse", heard);
  events.addEventListener("error", () => stale(true));
  setInterval(() => Date.now() - heardAt > SILENCE && stale(true), 5000);
  addEventListener("pagehide", () => events.close());
  // From the browser's store of pages that were left comes an old one.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

function step(by) {
  const items = all("main a.item").filter((item) => item.getClientRects().length > 0);
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1);
  items[next].focus();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target instanceof HTMLElement && target.matches("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const input = find("#filter");
  const keys = find("#keys");
  if (keys && keys.open) return;
  if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "h") location.assign("/");
  else if (event.key === "?" && keys) keys.showModal();
  else if (event.key === "/" && input) input.focus();
  else return;
  event.preventDefault();
});

dress();
listen();
