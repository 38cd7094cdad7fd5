// Drives the page in a real Chromium: page.mjs SCRUBJAY FOLDER-OF-TOOLS OUTPUT NAME=URL...
// For each page: screenshots, no message on the console, nothing that axe-core finds, the same without JavaScript, times. Then keys,
// filter, order, events and forms. Prints "ok" or "not ok" and what; ends with 1 if anything is not.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { request as ask } from "node:http";

const [, , scrubjay, tools, output, ...pages] = process.argv;
const require = createRequire(join(tools, "from-here.js"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
mkdirSync(output, { recursive: true });
const urls = Object.fromEntries(pages.map((page) => [page.slice(0, page.indexOf("=")), page.slice(page.indexOf("=") + 1)]));

let failures = 0;
function expect(what, is, wanted = true) {
  const isSo = JSON.stringify(is) === JSON.stringify(wanted);
  console.log(`${isSo ? "ok" : "not ok"} - ${what}${isSo ? "" : `: ${JSON.stringify(is)} instead of ${JSON.stringify(wanted)}`}`);
  failures += isSo ? 0 : 1;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
async function visit(url, options, work) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("requestfailed", (failed) => failed.url().endsWith("/events") || said.push(`${failed.url()} failed`));
  page.on("request", (one) => one.url().startsWith(new URL(url).origin) || said.push(`a request elsewhere: ${one.url()}`));
  await page.goto(url, { waitUntil: "load" });
  const result = await work(page, context);
  await context.close();
  return { said, result };
}

/// The time to the first byte, over a connection of its own, in milliseconds.
function firstByte(url) {
  return new Promise((done, fail) => {
    const begun = performance.now();
    ask(url, { agent: false, headers: { "accept-encoding": "gzip" } }, (answer) => {
      answer.once("data", () => done(performance.now() - begun));
      answer.resume();
    }).on("error", fail).end();
  });
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

for (const [name, url] of Object.entries(urls)) {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1400, 420]) {
      const options = { colorScheme: scheme, viewport: { width, height: 900 } };
      const { said, result } = await visit(url, options, async (page) => {
        await page.screenshot({ path: join(output, `${name}-${width}-${scheme}.png`), fullPage: true });
        const isWide = await page.evaluate(() => {
          const edge = document.querySelector("main").getBoundingClientRect().right + 1;
          const isOut = (element) => element.getBoundingClientRect().right > edge;
          return document.documentElement.scrollWidth > innerWidth || Array.from(document.querySelectorAll("main table, main h1 span, main p")).some(isOut);
        });
        return { isWide };
      });
      expect(`${name} ${width} ${scheme}: nothing on the console`, said, []);
      expect(`${name} ${width} ${scheme}: nothing sticks out`, result.isWide, false);
      // The policy lets no script in, so the checker comes by the debugger, which stands above it.
      const checked = await visit(url, { ...options, bypassCSP: true }, async (page) => {
        await page.addScriptTag({ path: axe });
        await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
        return page.evaluate(async () => {
          const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
          return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
        });
      });
      expect(`${name} ${width} ${scheme}: axe-core finds nothing`, checked.result, []);
    }
  }
  const plain = await visit(url, { javaScriptEnabled: false }, (page) => page.locator("main h1").count());
  expect(`${name}: without JavaScript it is there`, plain.result >= 1);
  const bytes = [];
  for (let turn = 0; turn < 11; turn++) bytes.push(await firstByte(url));
  const { result: loads } = await visit(url, {}, async (page) => {
    const times = [];
    for (let turn = 0; turn < 7; turn++) {
      await page.goto(url, { waitUntil: "load" });
      times.push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
    }
    return times;
  });
  console.log(`# ${name}: first byte ${median(bytes).toFixed(1)} ms (wanted: < 50), loaded ${median(loads).toFixed(0)} ms (wanted: < 200); medians`);
}

// The picture of README: the first page of eight disks, as far as its table goes.
if (urls.eight) {
  await visit(urls.eight, { viewport: { width: 1120, height: 1120 } }, (page) => page.screenshot({ path: join(output, "readme.png") }));
}

for (const name of ["recorded", "recorded-disk"].filter((name) => urls[name])) {
  await visit(urls[name], {}, async (page) => {
    expect(`${name}: its title says so`, (await page.title()).startsWith("Recording: "));
    expect(`${name}: so does its head`, (await page.locator("header").textContent()).includes("a recording of"));
    expect(`${name}: nothing is green`, await page.locator(".good").count(), 0);
    const isGreen = () => {
      const green = (colour) => {
        const [red, green, blue, alpha] = (colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
        return alpha !== 0 && green > red + 25 && green > blue + 25;
      };
      const of = (element) => ["color", "backgroundColor", "borderTopColor", "fill"].some((what) => green(getComputedStyle(element)[what]));
      return Array.from(document.querySelectorAll("main *")).filter(of).length;
    };
    expect(`${name}: not in any colour of it`, await page.evaluate(isGreen), 0);
  });
}

if (urls.sixty) {
  await visit(urls.sixty, {}, async (page) => {
    const focus = () => page.evaluate(() => document.activeElement.getAttribute("href") ?? document.activeElement.id);
    await page.keyboard.press("j");
    const first = await focus();
    await page.keyboard.press("j");
    const second = await focus();
    await page.keyboard.press("k");
    expect("j goes on, k goes back", [first.startsWith("/d/"), second !== first, await focus()], [true, true, first]);
    await page.keyboard.press("?");
    expect("? shows the keys", await page.locator("dialog[open]").count(), 1);
    await page.keyboard.press("Escape");
    expect("Escape closes them", await page.locator("dialog[open]").count(), 0);
    await page.keyboard.press("/");
    expect("/ goes to the filter", await focus(), "filter");
    await page.keyboard.type("sdat");
    expect("the filter leaves one bay", await page.locator(".bays > div:visible").count(), 1);
    await page.keyboard.press("Escape");
    await page.locator("#filter").fill("");
    const heads = page.locator("table.sortable").last().locator("thead button");
    await heads.first().click();
    expect("a column is ordered", await page.locator("th[aria-sort=ascending]").count(), 1);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/d\//);
    expect("Enter opens the disk", await page.locator("h2#surface").count(), 1);
    await page.keyboard.press("h");
    await page.waitForURL((url) => url.pathname === "/");
    await page.keyboard.press("Tab");
    expect("Tab begins with a way to the content", await page.evaluate(() => document.activeElement.className), "skip");
  });
}

if (process.env.LIVE && process.env.LIVE_LINK) {
  await visit(process.env.LIVE, {}, async (page) => {
    const before = await page.evaluate(() => document.body.dataset.number);
    execFileSync(scrubjay, ["pause", "90d"]);
    await page.waitForFunction((before) => document.body.dataset.number !== before, before, { timeout: 30_000 });
    await page.waitForFunction(() => document.body.textContent.includes("Paused until"), undefined, { timeout: 30_000 });
    expect("what happens is seen without a reload", true);
    expect("who has no key has no button", await page.locator("button", { hasText: "Resume" }).count(), 0);
  });
  await visit(process.env.LIVE_LINK, {}, async (page, context) => {
    expect("the link leads to the page, and is not in its address", new URL(page.url()).pathname + new URL(page.url()).search, "/");
    const [cookie] = await context.cookies();
    expect("the cookie is for nobody else", [cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    await page.screenshot({ path: join(output, "acting-1400-light.png"), fullPage: true });
    await page.getByRole("button", { name: "Resume reading" }).click();
    await page.waitForFunction(() => document.querySelector(".said"));
    expect("a button does what it says", (await page.locator(".said").textContent()).trim(), "disks are read again as they are due");
    await page.goto(process.env.LIVE_DISK);
    execFileSync(scrubjay, ["pause", "90d"]);
    await page.waitForFunction(() => document.body.textContent.includes("Scrub now"), undefined, { timeout: 30_000 });
    await page.screenshot({ path: join(output, "scrub-now-1400-light.png"), fullPage: true });
    await page.getByRole("button", { name: "Scrub now" }).click();
    await page.waitForFunction(() => document.querySelector(".said"));
    expect("what it does is said on the same page", (await page.locator(".said").textContent()).includes("is next"));
    expect("and what is in its way", (await page.locator(".said").textContent()).includes("paused until"));
    expect("which is the disk's", page.url(), process.env.LIVE_DISK);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForLoadState();
    expect("who has logged out has no button", await page.locator("form[action='/do/pause']").count(), 0);
  });
}

await browser.close();
process.exit(failures === 0 ? 0 : 1);
