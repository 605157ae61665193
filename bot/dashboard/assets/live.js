// The page is complete without this script. It appends new events, keeps the state and the
// lists fresh, and checks a configuration while it is written.
"use strict";

// replace puts HTML of this server into an element, unless its reader types there.
function replace(element, html) {
  if (element.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) {
    return false;
  }
  const open = new Set([...element.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
  const focused = element.contains(document.activeElement) ? label(document.activeElement) : "";
  element.innerHTML = html;
  for (const summary of element.querySelectorAll("details > summary")) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  }
  if (focused) [...element.querySelectorAll("a, button, summary")].find((e) => label(e) === focused)?.focus();
  return true;
}

function label(element) {
  return element.tagName + (element.getAttribute("aria-label") || element.value || element.textContent);
}

// follow shows a session while it runs.
function follow(story) {
  const side = document.getElementById("side");
  const live = document.getElementById("live");
  const phase = () => side.querySelector(".phase-line");
  const source = new EventSource(story.dataset.stream);
  const more = Object.assign(document.createElement("button"), { className: "newer", hidden: true, textContent: "New steps ↓" });
  document.body.append(more);
  let wanted = !("over" in story.dataset);
  more.addEventListener("click", () => story.lastElementChild?.scrollIntoView({ block: "end" }));
  addEventListener("scroll", () => { if (atEnd()) more.hidden = true; }, { passive: true });
  const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 240;

  source.addEventListener("item", (e) => {
    if (!e.data) return;
    const held = atEnd();
    const box = document.createElement("template");
    box.innerHTML = e.data;
    const item = box.content.querySelector("li");
    if (!item || document.getElementById(item.id)) return;
    const last = story.lastElementChild;
    if (item.matches(".tool") && last?.matches(".run")) last.remove();
    story.append(item);
    while (story.children.length > 1000) story.firstElementChild.remove();
    if (!wanted) return;
    if (held) item.scrollIntoView({ block: "end" });
    else more.hidden = false;
  });
  source.addEventListener("state", (e) => replace(side, e.data));
  source.addEventListener("live", (e) => {
    live.hidden = !e.data;
    if (!e.data) return;
    const { title, text } = JSON.parse(e.data);
    live.querySelector("p").textContent = title;
    live.querySelector("pre").textContent = text;
  });
  source.addEventListener("open", () => { phase()?.classList.remove("lost"); wanted = true; });
  source.addEventListener("error", () => phase()?.classList.add("lost"));
  addEventListener("pagehide", () => source.close());
}

// refresh loads a list again every few seconds while it is looked at.
function refresh(list) {
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const now = page.getElementById(list.id);
      if (now && now.innerHTML !== list.innerHTML) replace(list, now.innerHTML);
    } catch { /* the next try may succeed */ }
  }, 5000);
}

// check tests a text a moment after the last key.
function check(form) {
  const out = form.querySelector("output");
  let timer = 0, latest = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++latest;
      try {
        const answer = await fetch(form.action, { method: "POST", headers: { Accept: "text/plain" }, body: new URLSearchParams(new FormData(form)) });
        const text = await answer.text();
        if (mine === latest && answer.ok) out.textContent = text || "No problem found.";
      } catch { /* the next key asks again */ }
    }, 300);
  });
}

// step moves between the steps of a story with j and k.
function step(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select") || !["j", "k"].includes(e.key)) return;
  const items = [...document.querySelectorAll(".item .at")];
  const at = items.indexOf(document.activeElement);
  const next = items[e.key === "j" ? at + 1 : at < 0 ? items.length - 1 : at - 1];
  next?.focus();
  next?.closest(".item").scrollIntoView({ block: "nearest" });
}

for (const time of document.querySelectorAll("main > p time")) {
  time.title = new Date(time.dateTime).toLocaleString();
}
document.querySelectorAll("[data-stream]").forEach(follow);
document.querySelectorAll("[data-fresh]").forEach(refresh);
document.querySelectorAll("form[data-test]").forEach(check);
addEventListener("keydown", step);
