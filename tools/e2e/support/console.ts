import { mkdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import type { Browser, Page } from 'playwright-core'
import { SCREENS, violations } from './axe'
import { findChromium, openTab, startChromium, type Tab } from './chromium'
import type { SharedStage, Tenant } from './stage'

const chromium = findChromium()
if (!chromium) {
  console.warn(
    'SKIPPED: the specs of the console. No Chromium was found: set CHROMIUM_BIN, or put it on PATH.',
  )
}

/** The folder for screenshots of all inspected pages, or false without LEADWIRE_PICTURES=1. */
const PICTURES = process.env['LEADWIRE_PICTURES'] === '1' && join(__dirname, '../pictures')

/**
 * Settings that exhaust the retries of a delivery within seconds. They do not shorten WEBHOOK_TIMEOUT,
 * because specs hold attempts in flight while they send other requests.
 */
export const IMPATIENT = {
  WEBHOOK_RETRY_SCHEDULE: '300ms,300ms,300ms,300ms,300ms',
  WEBHOOK_SOURCE_ADDRESSES: '192.0.2.10, 2001:db8::/64',
}

const HOUR_MS = 3_600_000
const LONGEST_JUDGED_MS = 45_000

/**
 * Waits until the rest of the clock hour is long enough for a test. The console judges an endpoint by its
 * attempts in the latest clock hour, so a test that counts attempts must make all of them in one hour.
 */
export const awaitRoomInHour = (): Promise<void> =>
  eventually(() => expect(HOUR_MS - (Date.now() % HOUR_MS)).toBeGreaterThan(LONGEST_JUDGED_MS))

/** The environment of a console test. Each test has a new account and a new tab. */
export interface ConsoleWorld<Of extends SharedStage = SharedStage> {
  stage: Of
  tenant: Tenant
  page: Page
  /** Complaints of the browser that the test expects. Any other complaint fails the test. */
  expected: RegExp[]
  /** Replaces the tab with a new one, which has no stored token. */
  newTab(width?: number): Promise<void>
  /** Opens a tab in another browser, which has no cookies of `page`. */
  openOtherBrowser(): Promise<Page>
  signIn(token?: string): Promise<void>
  /** Opens a path below /console and signs in with a token. */
  open(path?: string, token?: string): Promise<void>
  /** Signs in a user with a new link, and then opens a path below /console. */
  openAs(userId: number, path?: string): Promise<void>
  heading(name: string | RegExp): ReturnType<Page['getByRole']>
  /** Checks the page with axe on each of the SCREENS. */
  inspect(name: string): Promise<void>
}

/** Finds the form for a token, on the sign-in page or in the dialog that replaces it. */
export const tokenForm = (page: Page) => page.locator('details').filter({ hasText: 'Use a token instead' })

/** Opens the form for a token if it is closed, and fills in a token. */
export const fillToken = async (page: Page, token: string): Promise<void> => {
  const form = tokenForm(page)
  await form.waitFor()
  const field = form.getByLabel('Token', { exact: true })
  if (!(await field.isVisible())) await form.getByText('Use a token instead').click()
  await field.fill(token)
}

/** Opens a sign-in link in a page, and signs in with it. */
export const openLink = async (page: Page, url: string): Promise<void> => {
  await page.goto(url)
  await page.getByText('You opened a sign-in link.').waitFor()
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Returns functions that find parts of the page. */
export const findParts = (world: ConsoleWorld) => {
  const main = () => world.page.getByRole('main')
  const dialog = () => world.page.getByRole('dialog')
  const button = (name: string) => main().getByRole('button', { name, exact: true })
  return {
    main,
    dialog,
    button,
    link: (name: string) => world.page.getByRole('link', { name, exact: true }),
    label: (name: string) => main().getByLabel(name, { exact: true }).filter({ visible: true }),
    row: (text: string) => main().getByRole('row').filter({ hasText: text }),
    /** Finds a status message. */
    said: (text: string | RegExp) => world.page.getByRole('status').getByText(text),
    /** Clicks a button of the dialog. */
    yes: (name: string) => dialog().getByRole('button', { name, exact: true }).click(),
    /** Clicks a button and returns the downloaded file. */
    download: async (name: string) => {
      const [file] = await Promise.all([world.page.waitForEvent('download'), button(name).click()])
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
    },
  }
}

/** Defines tests that share a stage and a browser. A test fails if the browser reports an error. */
export const describeConsole = <Of extends SharedStage>(
  name: string,
  start: () => Promise<Of>,
  define: (world: ConsoleWorld<Of>) => void,
): void => {
  const suite = chromium ? describe : describe.skip
  suite(name, () => {
    let browser: Browser
    let tab: Tab
    let others: Tab[] = []
    const world: ConsoleWorld<Of> = {
      stage: undefined as unknown as Of,
      tenant: undefined as unknown as Tenant,
      page: undefined as unknown as Page,
      expected: [],
      newTab: async (width = 1280) => {
        await tab?.close()
        tab = await openTab(browser, { width })
        world.page = tab.page
      },
      openOtherBrowser: async () => {
        const other = await openTab(browser)
        others.push(other)
        return other.page
      },
      signIn: async (token = world.tenant.token) => {
        await fillToken(world.page, token)
        await tokenForm(world.page).getByRole('button', { name: 'Sign in' }).click()
      },
      open: async (path = '', token) => {
        await world.page.goto(`${world.stage.system.baseUrl}/console${path}`)
        await world.signIn(token)
      },
      openAs: async (userId, path) => {
        const start = `${world.stage.system.baseUrl}/console`
        await openLink(world.page, `${start}#sign-in=${await world.tenant.newSignInLink(userId)}`)
        await world.page.getByRole('button', { name: 'Sign out' }).waitFor()
        if (path !== undefined) await world.page.goto(start + path)
      },
      heading: (title) => world.page.getByRole('heading', { level: 1, name: title }),
      inspect: async (picture) => {
        const { page } = world
        // Waits until no form is busy. A busy form is pale, so axe would report its contrast.
        await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
        if (PICTURES) mkdirSync(PICTURES, { recursive: true })
        for (const { width, colorScheme } of SCREENS) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          const where = `${picture}-${width}-${colorScheme}`
          expect([where, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([where, width])
          expect([where, await violations(page)]).toEqual([where, []])
          if (PICTURES) await page.screenshot({ path: join(PICTURES, `${where}.png`), fullPage: true })
        }
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.emulateMedia({ colorScheme: 'light' })
      },
    }
    beforeAll(async () => {
      ;[world.stage, browser] = await Promise.all([start(), startChromium(chromium!)])
    })
    afterAll(async () => {
      await browser?.close()
      await world.stage?.stop()
    })
    beforeEach(async () => {
      world.expected = []
      world.tenant = await world.stage.newTenant()
      await world.newTab()
    })
    afterEach(async () => {
      const tabs = [tab, ...others]
      others = []
      await Promise.all(tabs.map(({ close }) => close()))
      const complaints = tabs.flatMap((one) => one.complaints)
      const origins = tabs.flatMap(({ requested }) => requested.map(({ origin }) => origin))
      expect(complaints.filter((text) => !world.expected.some((pattern) => pattern.test(text)))).toEqual([])
      expect([...new Set(origins)]).toEqual([world.stage.system.baseUrl])
    })
    define(world)
  })
}
