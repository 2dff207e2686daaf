import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'

// The headless shell comes first, because it needs only two thirds of the processor time of a full browser.
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

// Runs the program, because on some distributions `chromium-browser` is only a script that prints how to
// install the browser.
const runs = (path: string) =>
  spawnSync(path, ['--no-sandbox', '--version'], { timeout: 20_000 }).status === 0

/**
 * Returns the path of Chromium: CHROMIUM_BIN, or the first Chromium on PATH. Returns undefined if there is
 * none.
 */
export const findChromium = (): string | undefined => {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return (
    process.env['CHROMIUM_BIN'] ||
    folders
      .flatMap((folder) => NAMES.map((name) => join(folder, name)))
      .find((path) => existsSync(path) && runs(path))
  )
}

export const startChromium = (executablePath: string, moreArgs: string[] = []): Promise<Browser> =>
  chromium.launch({
    executablePath,
    headless: true,
    timeout: 110_000,
    // Disables the sandbox, which root may not use and many containers do not support. This is safe, because
    // the browser opens only Leadwire's own pages.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      ...moreArgs,
    ],
  })

export type Tab = {
  page: Page
  /**
   * Everything that the browser reported about the pages of this context: console errors, policy violations,
   * uncaught errors, dialogs.
   */
  complaints: string[]
  /** The URLs of all requests of the pages of this context. */
  requested: URL[]
  close(): Promise<void>
}

/** Opens a tab in a separate context, which shares no storage with other tabs. */
export async function openTab(
  browser: Browser,
  { width = 1280, colorScheme = 'light' }: { width?: number; colorScheme?: 'light' | 'dark' } = {},
): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/London',
  })
  context.setDefaultTimeout(60_000)
  const complaints: string[] = []
  const requested: URL[] = []
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  context.on('weberror', (webError) => complaints.push(String(webError.error())))
  context.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  context.on('request', (request) => requested.push(new URL(request.url())))
  const page = await context.newPage()
  return { page, complaints, requested, close: () => context.close() }
}

/**
 * Clicks a button, and waits until a button of the page has this text. Watches the text in the page, because
 * it is shown for only two seconds. If this process is slow, it would not see the text.
 */
export const clickForText = async (page: Page, button: Locator, text: string): Promise<void> => {
  await page.evaluate(`void (window.textShown = new Promise((resolve, reject) => {
    const isShown = ({ textContent }) => textContent === ${JSON.stringify(text)}
    new MutationObserver((_, observer) => {
      if (![...document.querySelectorAll('button')].some(isShown)) return
      observer.disconnect()
      resolve()
    }).observe(document.body, { childList: true, characterData: true, subtree: true })
    setTimeout(() => reject(new Error(${JSON.stringify(`no button showed ${text}`)})), 60_000)
  }))`)
  await button.click()
  await page.evaluate('window.textShown')
}
