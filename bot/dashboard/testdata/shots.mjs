// Opens every page of a dashboard in Chromium, in both themes and at two widths, checks it
// with axe-core, and saves a picture of each. Ends with an error if a page has violations,
// loads something of elsewhere, runs a script of a session, or is wider than the screen.
//
//   node shots.mjs ADDRESS CODE MODULES OUT [CHROMIUM]
import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";

const [address, code, modules, out, program = "/usr/bin/chromium-headless-shell"] = process.argv.slice(2);
const require = createRequire(modules + "/x.js");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(out, { recursive: true });

const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const problems = [];
const pages = { sessions: "/", session: "/s/sample", live: "/s/growing", steps: "/s/steps", approvals: "/approvals", configuration: "/page/configuration", difference: "/s/sample/diff", hostile: "/s/hostile?after=0", missing: "/s/none" };

async function context(options) {
  const c = await browser.newContext(options);
  await c.addCookies(state.cookies);
  return c;
}

// The code works once; its cookie serves all contexts.
const first = await browser.newContext();
await (await first.newPage()).goto(`${address}/open?code=${code}`);
const state = await first.storageState();

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1280]) {
    const c = await context({ colorScheme, viewport: { width, height: width < 500 ? 844 : 900 }, reducedMotion: "reduce", bypassCSP: false });
    for (const [name, path] of Object.entries(pages)) {
      const page = await c.newPage();
      const tell = (what) => problems.push(`${name} ${colorScheme} ${width}: ${what}`);
      page.on("dialog", (d) => { tell("a script of the session ran: " + d.message()); d.dismiss(); });
      page.on("request", (r) => { if (!r.url().startsWith(address)) tell("loads " + r.url()); });
      page.on("pageerror", (e) => tell("script error " + e.message));
      page.on("console", (m) => { if (m.type() === "error" && !/status of (404|403)/.test(m.text())) tell("console: " + m.text()); });
      await page.goto(address + path, { waitUntil: "domcontentloaded" });
      await page.waitForTimeout(300);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) tell(`is ${wide} px wider than the screen`);
      const cut = await page.evaluate(() => [...document.querySelectorAll(".card > *")].filter((e) => e.scrollWidth > e.clientWidth + 1).length);
      if (cut > 0) tell(`${cut} parts of rows are cut off`);
      if (name !== "hostile" && width > 500) { // what scrolls beside the page is shown whole
        await page.setViewportSize({ width, height: await page.evaluate(() => Math.max(900, document.documentElement.scrollHeight)) });
      }
      await page.screenshot({ path: `${out}/${name}-${colorScheme}-${width}.png`, fullPage: name !== "hostile" });
      if (name === "hostile" && (colorScheme === "dark" || width === 390)) { // the same page takes axe-core half a minute
        await page.close();
        continue;
      }
      const cdp = await c.newCDPSession(page); // an isolated world: the page's policy stays in force
      const { frameTree } = await cdp.send("Page.getFrameTree");
      const { executionContextId } = await cdp.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
      await cdp.send("Runtime.evaluate", { expression: axe, contextId: executionContextId });
      const { result, exceptionDetails } = await cdp.send("Runtime.evaluate", {
        contextId: executionContextId, awaitPromise: true, returnByValue: true,
        expression: `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`,
      });
      if (exceptionDetails) tell("axe: " + exceptionDetails.exception.description);
      for (const v of result.value ?? []) tell("axe " + v);
      await page.close();
    }
    await c.close();
  }
}

// The keyboard alone: skip to the content, go into a session, approve.
{
  const c = await context({ viewport: { width: 1280, height: 900 } });
  const page = await c.newPage();
  await page.goto(address + "/");
  await page.keyboard.press("Tab");
  const skip = await page.evaluate(() => document.activeElement.className);
  if (skip !== "skip") problems.push("keyboard: the first stop is not the skip link but " + skip);
  await page.goto(address + "/s/sample");
  let found = false;
  for (let i = 0; i < 80 && !found; i++) {
    await page.keyboard.press("Tab");
    found = await page.evaluate(() => document.activeElement.value?.startsWith("approve "));
  }
  if (!found) problems.push("keyboard: the button to approve is out of reach");
  else {
    await Promise.all([page.waitForURL(/sent=/), page.keyboard.press("Enter")]);
    const text = await page.textContent(".note");
    if (!text.includes("/agent approve k7m2p4xa")) problems.push("keyboard: the page says " + text);
  }
  await page.keyboard.press("j");
  if (!(await page.evaluate(() => document.activeElement.className === "at"))) problems.push("keyboard: j does not go to a step");
  await c.close();
}

// Every button, and the box, sends the command that it names: on a phone and on a desk, in both themes.
for (const [colorScheme, width] of [["light", 390], ["dark", 1280]]) {
  const c = await context({ colorScheme, viewport: { width, height: 844 } });
  const page = await c.newPage();
  const open = async (path) => {
    await page.goto(address + path);
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
    return page.$$("button[name=do], .box button");
  };
  let pressed = 0;
  for (const path of ["/s/sample", "/s/steps"]) {
    const names = await Promise.all((await open(path)).map((b) => b.getAttribute("value")));
    for (const [i, name] of names.entries()) {
      const button = (await open(path))[i];
      const box = name === null ? "/agent also add a test" : "";
      if (box) await page.fill(".box textarea", box);
      await Promise.all([page.waitForURL(/sent=/), button.click()]);
      const text = await page.textContent(".note");
      if (!text.includes(box || `/agent ${name}`)) problems.push(`the button ${name} of ${path}: the page says ${text}`);
      pressed++;
    }
  }
  if (pressed < 15) problems.push(`only ${pressed} buttons`);
  console.log(`dashboard: ${pressed} buttons pressed at ${width} px`);
  await c.close();
}

// Without script the pages say the same.
{
  const c = await context({ javaScriptEnabled: false });
  const page = await c.newPage();
  await page.goto(address + "/s/sample");
  for (const text of ["Edited calc/add.go", "rm -rf build", "Run all tests"]) {
    if (!(await page.content()).includes(text)) problems.push("without script: no " + text);
  }
  await c.close();
}

// A stream: an event that is written later appears by itself.
{
  const c = await context({ viewport: { width: 1280, height: 900 } });
  const page = await c.newPage();
  await page.goto(address + "/s/growing");
  await page.waitForFunction(() => document.querySelectorAll("#story > li").length >= 12, null, { timeout: 20000 })
    .catch(() => problems.push("stream: the events do not appear"));
  const turns = () => Number(document.querySelector("#side").textContent.match(/turns\s*([0-9]+)/)[1]);
  const before = await page.evaluate(turns);
  await page.waitForFunction( // a function: the page's policy forbids to evaluate a text
    (before) => Number(document.querySelector("#side").textContent.match(/turns\s*([0-9]+)/)[1]) > before, before, { timeout: 20000 },
  ).catch(() => problems.push("stream: the state does not follow"));
  await page.screenshot({ path: `${out}/growing.png` });
  await c.close();
}

await browser.close();
for (const p of problems) console.log(p);
console.log(`dashboard: ${Object.keys(pages).length} pages, ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
